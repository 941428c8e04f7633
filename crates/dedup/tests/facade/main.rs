//! `dedup` as a library function, compared with brute force: pairs, groups, copied records and the report.
//!
//! All modules form one test target, so that one test binary is linked.
#![expect(clippy::unwrap_used, reason = "tests may panic")]

mod against_brute_force;
mod brute_force;
mod crowded;
mod crowds;
mod found;
mod job;
mod measured_recall;
mod no_verify;
mod original_ranges;
mod short_texts;
mod words;
