//! Profiles by the arguments `profile` and `bits`.

use pyo3::prelude::*;
use twinprint::Profile;

use crate::errors::argument;

/// Returns the profile of an id. The id may lack the width; then it is `bits`, or `default_bits` if that is `None`. If
/// the id has a width, `bits` replaces it.
pub(crate) fn named(id: &str, bits: Option<u32>, default_bits: u32) -> PyResult<Profile> {
    let (recipe, rest) = id.split_at(id.find('+').unwrap_or(id.len()));
    let has_width = recipe.split('-').count() != 3;
    let whole = if has_width {
        id.to_owned()
    } else {
        format!("{recipe}-{}{rest}", bits.unwrap_or(default_bits))
    };
    let profile = Profile::parse(&whole).map_err(|error| argument("profile", error))?;
    match bits.filter(|_| has_width) {
        Some(bits) => profile.at_width(bits).map_err(|error| argument("bits", error)),
        None => Ok(profile),
    }
}
