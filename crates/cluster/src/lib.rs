//! Grouping of documents: leader–follower over any neighbour search.
//!
//! This crate knows neither fingerprints' tables nor texts nor files. It is given two things by the caller: who might be a
//! duplicate of whom ([`Neighbors`]) and whether it really is one ([`Verify`]). From these it forms groups that are
//! never chains: every follower was verified against its own leader.
//!
//! * [`leader_follower`](mod@leader_follower): groups of a whole corpus.
//! * [`groups`]: duplicate groups of a stream, one item at a time.
//! * [`stories`]: loose clusters of a stream by terms and time, and their topics.
//! * [`metrics`]: how well two clusterings agree.
#![forbid(unsafe_code)]

pub mod groups;
pub mod leader_follower;
pub mod metrics;
mod recency;
pub mod stories;

pub use groups::Groups;
pub use leader_follower::{
    Candidate, Group, JoinRole, Neighbors, Outcome, Pairs, Similarity, Verify, leader_follower,
};
pub use stories::Stories;
