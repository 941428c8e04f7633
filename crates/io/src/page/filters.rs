//! How the templates write numbers and names.

#![expect(
    unreachable_pub,
    clippy::inline_always,
    clippy::unnecessary_wraps,
    clippy::unused_self,
    reason = "so the macro makes each filter"
)]

use std::fmt::Display;

use askama::{Result, Values};

use super::{ticked, visible};
use crate::number;

/// A number, however many references the template has put before it.
pub trait Number<N> {
    fn number(&self) -> N;
}

impl Number<u64> for u64 {
    fn number(&self) -> u64 {
        *self
    }
}

impl Number<u64> for u32 {
    fn number(&self) -> u64 {
        u64::from(*self)
    }
}

impl Number<f64> for f64 {
    fn number(&self) -> f64 {
        *self
    }
}

impl<N, V: Number<N>> Number<N> for &V {
    fn number(&self) -> N {
        (**self).number()
    }
}

/// `1,234,567`
#[askama::filter_fn]
pub fn count(n: impl Number<u64>, _: &dyn Values) -> Result<String> {
    Ok(number::count(n.number()))
}

/// `1 group`, `2 groups`
#[askama::filter_fn]
pub fn counted(n: impl Number<u64>, _: &dyn Values, noun: &str) -> Result<String> {
    Ok(number::counted(n.number(), noun))
}

/// `1.2 MB`
#[askama::filter_fn]
pub fn bytes(n: impl Number<u64>, _: &dyn Values) -> Result<String> {
    Ok(number::bytes(n.number()))
}

/// `1.2 s`
#[askama::filter_fn]
pub fn seconds(s: impl Number<f64>, _: &dyn Values) -> Result<String> {
    Ok(number::seconds(s.number()))
}

/// A share to three places, towards zero: what missed a threshold never reads as having reached it.
#[askama::filter_fn]
pub fn share(value: impl Number<f64>, _: &dyn Values) -> Result<String> {
    Ok(number::towards_zero(value.number(), 3))
}

/// A share in per cent.
#[askama::filter_fn]
pub fn percent(value: impl Number<f64>, _: &dyn Values) -> Result<String> {
    let percent = format!("{:.1}", 100.0 * value.number());
    Ok(format!("{} %", percent.strip_suffix(".0").unwrap_or(&percent)))
}

/// Precision, recall or F1 to four places, towards zero: what is less than all never reads as 1.
#[askama::filter_fn]
pub fn quality(value: impl Number<f64>, _: &dyn Values) -> Result<String> {
    Ok(number::towards_zero(value.number(), 4))
}

/// A number to two places.
#[askama::filter_fn]
pub fn hundredth(value: impl Number<f64>, _: &dyn Values) -> Result<String> {
    Ok(format!("{:.2}", value.number()))
}

/// A number to one place.
#[askama::filter_fn]
pub fn tenth(value: impl Number<f64>, _: &dyn Values) -> Result<String> {
    Ok(format!("{:.1}", value.number()))
}

/// A name from a corpus, nothing in it hidden.
#[askama::filter_fn]
pub fn name(text: impl Display, _: &dyn Values) -> Result<String> {
    Ok(visible(&text.to_string()).into_owned())
}

/// A name from a corpus, in backticks.
#[askama::filter_fn]
pub fn tick(text: impl Display, _: &dyn Values) -> Result<String> {
    Ok(ticked(&text.to_string()))
}
