//! Clustering of documents: duplicate groups of a corpus or a stream, stories of a stream, and measures of
//! agreement.
//!
//! This crate depends on no index, text format or file. The caller supplies the candidate pairs of items
//! ([`Neighbors`]) and verifies them ([`Verify`]). The groups are never chains: every follower was verified against its
//! own leader.
//!
//! * [`leader_follower`](mod@leader_follower): duplicate groups of a whole corpus.
//! * [`groups`]: duplicate groups of a stream, one item at a time.
//! * [`stories`]: loose clusters of a stream by terms and time, and their topics.
//! * [`metrics`]: measures of the agreement of two clusterings.
//!
//! ```
//! use twinprint_cluster::metrics::Agreement;
//!
//! // A label for each of six items: as they were clustered, and as they should be.
//! let found = [0, 0, 1, 1, 2, 2];
//! let truth = [5, 5, 5, 6, 7, 7];
//! let agreement = Agreement::of(&found, &truth);
//! println!("B-cubed F1 {:.3}, ARI {:.3}", agreement.bcubed.f1(), agreement.adjusted_rand);
//! assert_eq!(agreement.clusters, [3, 3]);
//! ```
#![forbid(unsafe_code)]

pub mod groups;
pub mod leader_follower;
pub mod metrics;
mod recency;
pub mod stories;

pub use groups::Groups;
pub use leader_follower::{
    Candidate, Group, JoinRole, Neighbors, Outcome, Pairs, Similarity, VerifiedPair, Verify, groups_of_pairs,
    leader_follower,
};
pub use stories::Stories;

/// The example of the README, compiled as a doctest.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
