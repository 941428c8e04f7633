//! Grouping of documents: leader–follower over any neighbour search.
//!
//! This crate knows neither fingerprints' tables nor texts nor files. It is given two things by the caller: who might be a
//! duplicate of whom ([`Neighbors`]) and whether it really is one ([`Verify`]). From these it forms groups that are
//! never chains: every follower was verified against its own leader.
#![forbid(unsafe_code)]

pub mod leader_follower;

pub use leader_follower::{
    Candidate, Group, Neighbors, Open, Outcome, Pairs, Similarity, Verify, leader_follower,
};
