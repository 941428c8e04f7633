//! The binary from outside: what it writes, what it refuses, what it promises in its help and in the README.
//!
//! One test target, so that one binary is linked. Every module drives the `twinprint` that cargo built beside it.
#![expect(clippy::unwrap_used, reason = "tests may panic")]

mod against;
mod annotate;
mod append;
mod architecture;
mod choosing;
mod cluster;
mod collection;
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
mod index;
mod intake;
mod library_profiles;
mod limits;
mod measuring;
mod order;
mod overwrite;
mod pages;
mod parts;
mod refusals;
mod replay;
mod report;
mod rows;
mod said;
mod sandbox;
mod stopping;
mod stories;
