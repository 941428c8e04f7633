//! Verification on the text: the decision which candidates are duplicates, and of which leader.

pub(crate) mod matcher;
pub(crate) mod near_misses;
pub(crate) mod schedule;
