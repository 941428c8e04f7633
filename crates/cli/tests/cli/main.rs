//! The binary from outside: what it writes, what it refuses, what it promises in its help and in the README.
//!
//! One test target, so that one binary is linked. Every module drives the `twinprint` that cargo built beside it.
#![expect(clippy::unwrap_used, reason = "tests may panic")]

mod annotate;
mod architecture;
mod config;
mod corpus;
mod damaged;
mod determinism;
mod examples;
mod fences;
mod forecast;
mod generated;
mod limits;
mod order;
mod pages;
mod readme;
mod refusals;
mod report;
mod rows;
mod sandbox;
mod stopping;
