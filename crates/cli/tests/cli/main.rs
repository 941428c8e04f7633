//! Tests of the built binary: its output, its errors, and the examples of its help, the README and the guides.
//!
//! All modules form one test target, so that one test binary is linked. They run the `twinprint` that cargo built for this target.
#![expect(clippy::unwrap_used, reason = "tests may panic")]

mod against;
mod annotate;
mod append;
mod append_runs;
mod architecture;
mod choosing;
mod cluster;
mod collection;
mod compare_given;
mod compat_vectors;
mod config;
mod corpus;
mod damaged;
mod determinism;
mod documents;
mod empty;
mod examples;
mod fences;
mod forecast;
mod generated;
mod given_features;
mod imports;
mod index;
mod intake;
mod intake_losses;
mod library_profiles;
mod limits;
mod measuring;
mod missing_fields;
mod on_disk;
mod order;
mod overwrite;
mod own_input;
mod pages;
mod parts;
mod refusals;
mod replay;
mod report;
mod rows;
mod sandbox;
mod skipped;
mod stopping;
mod stories;
mod verify;
mod workspace;
