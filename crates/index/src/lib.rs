//! Exact search and join under Hamming distance, and an exact set-similarity index.
//!
//! * [`plan`]: which permuted tables find everything within radius k, as data, with an exact checker.
//! * [`planner`]: which of those plans is cheapest for n rows, and why the others lost.
//! * [`table`]: permuted tables in memory, looked up one query at a time.
//! * [`growing`]: rows in memory that are inserted and removed, in permuted tables that are merged.
//! * [`segment`]: permuted tables in a file, mapped, for one query or many.
//! * [`store`]: an index that changes: a directory of segments, memtables, deletions, commits.
//! * [`join`]: all pairs of a batch within radius k.
//! * [`storage`]: where files are written, as a trait.
//! * [`sort`]: more numbers than memory holds.
//! * [`set`]: candidates by shared rare tokens, for texts too short to trust a fingerprint.
//!
//! Everything here is exact: a radius asked for is a promise, and every structure is tested against brute force.
#![deny(unsafe_code)]

mod address;
mod bucket;
mod bytes;
mod digest;
mod flips;
pub mod growing;
pub mod join;
pub mod plan;
pub mod planner;
mod positioned;
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
pub use positioned::PositionedFile;
pub use segment::Segment;
pub use set::{PrefixIndex, TokenOrder};
pub use table::{Match, Tables};
