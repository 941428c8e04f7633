//! Exact search and join under Hamming distance, and an exact set-similarity index.
//!
//! * [`plan`]: which permuted tables find everything within radius k, as data, with an exact checker.
//! * [`planner`]: which of those plans is cheapest for n rows, and why the others lost.
//! * [`table`]: permuted tables in memory, looked up one query at a time.
//! * [`join`]: all pairs of a batch within radius k.
//! * [`set`]: candidates by shared rare tokens, for texts too short to trust a fingerprint.
//!
//! Everything here is exact: a radius asked for is a promise, and every structure is tested against brute force.
#![forbid(unsafe_code)]

mod address;
mod bucket;
mod flips;
pub mod join;
pub mod plan;
pub mod planner;
#[cfg(test)]
mod samples;
pub mod set;
pub mod table;

pub use join::{JoinStats, Pair, self_join};
pub use plan::Plan;
pub use set::{PrefixIndex, TokenOrder};
pub use table::{Match, Tables};
