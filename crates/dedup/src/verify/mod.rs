//! Verification on the texts: decides which candidates are duplicates, and which leader each duplicate follows.

mod item_edges;
pub(crate) mod matcher;
pub(crate) mod near_misses;
pub(crate) mod pair_rows;
pub(crate) mod schedule;
mod undecided;
