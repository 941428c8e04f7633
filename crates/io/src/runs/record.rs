//! The record of a run that a store of documents keeps, so that a killed run is recognised and a repeated run gets the same answers.

use serde::{Deserialize, Serialize};

/// A document of a store that a text duplicates.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownDocument {
    /// The document's id in the store.
    pub id: String,
    /// Bits in which the fingerprints differ.
    pub hamming: u32,
    /// Exact Jaccard of the texts; `None` if it was not verified.
    pub jaccard: Option<f64>,
}

/// The answer of a store to one text of an input.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownAnswer {
    /// The number of the first record with this text among the records of the input.
    pub record: u64,
    /// The document that the text duplicates.
    pub document: KnownDocument,
}

/// A record of an input that is a document of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddedRecord {
    /// Its number among the records of the input.
    pub record: u64,
    /// Its number in the store.
    pub number: u64,
}

/// Counts of the documents that a run kept, by their fate in the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Appended {
    /// Documents added.
    pub added: u64,
    /// Documents that the store had already: added by an earlier run of the same input, or with the same id and text.
    pub earlier: u64,
    /// Of the documents added, those that replaced another text of the same id.
    pub replaced: u64,
}

/// The record of all runs of one input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PastRun {
    /// The answers to the first run.
    pub answers: Vec<KnownAnswer>,
    /// Numbers of the records that the first run recognised as documents of the store.
    pub recognised: Vec<u64>,
    /// Documents that the store has from any of the runs.
    pub added: Vec<AddedRecord>,
    /// Unix time in seconds at which the first run ended.
    pub first_ended: i64,
    /// Counts of the latest run.
    pub latest: Appended,
}

/// A run that has ended and is to be recorded.
#[derive(Clone, Debug)]
pub struct EndedRun {
    /// Its name, drawn at random.
    pub name: u128,
    /// The digest of its input.
    pub digest: u128,
    /// The answers it got, if it is the first run of its input.
    pub answers: Vec<KnownAnswer>,
    /// The records that it recognised, likewise.
    pub recognised: Vec<u64>,
    /// Documents added, or found in the store.
    pub added: Vec<AddedRecord>,
    /// Counts of the documents it kept.
    pub counts: Appended,
    /// Unix time in seconds at which it ended.
    pub ended: i64,
}
