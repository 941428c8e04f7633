#![doc = include_str!("../README.md")]
//!
//! # Modules
//!
//! * [`plan`]: which permuted tables find everything within radius k, as data, with an exactness check.
//! * [`planner`]: the choice of the cheapest plan for n rows, with the cost of the others.
//! * [`table`]: permuted tables in memory, looked up one query at a time.
//! * [`growing`]: an index in memory with insertions and removals, whose permuted tables are merged.
//! * [`segment`]: permuted tables in a mapped file, for one query or many.
//! * [`store`]: a durable index: a directory of segments, memtables, deletions and commits.
//! * [`join`]: all pairs within radius k.
//! * [`naive`]: the ways that permuted tables replace: a scan, and all variations of the query or of the rows.
//! * [`set`]: an exact set-similarity index by shared rare tokens.
//! * [`sort`]: an external sort of integers, or of ids with fingerprints.
//! * [`storage`]: the file system as a trait, so that tests can make each operation fail.
//!
//! Searches are exact: every structure is tested against brute force for its radius.
#![deny(unsafe_code)]

mod address;
mod bucket;
mod bytes;
mod digest;
mod flips;
pub mod growing;
pub mod join;
pub mod naive;
pub mod plan;
pub mod planner;
mod positioned;
mod random;
#[cfg(test)]
mod samples;
pub mod segment;
pub mod set;
pub mod sort;
pub mod storage;
pub mod store;
pub mod table;

pub use growing::GrowingIndex;
pub use join::{JoinStats, Pair, self_join};
pub use plan::Plan;
pub use positioned::{OpenFiles, PositionedFile, ReopenedFile};
pub use segment::Segment;
pub use set::{PrefixFilter, PrefixIndex, TokenBitmap, TokenOrder, TokenPresence, least_distinct};
pub use table::{Match, Tables};
