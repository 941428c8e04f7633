//! The whole job as a library, held to plain definitions: what `dedup` finds, keeps and reports, against brute force.
//!
//! One test target for all of it, so that one binary is linked.
#![expect(clippy::unwrap_used, reason = "tests may panic")]

mod against_brute_force;
mod brute_force;
mod crowded;
mod job;
mod no_verify;
mod original_places;
mod short_texts;
mod words;
