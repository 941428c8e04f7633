//! The record that a collection or stream stores about a run. A killed run is recognised by it, and a repeated run gets
//! the same answers as the first.

use serde::{Deserialize, Serialize};

/// A document of a collection or stream that duplicates a text of an input.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownDocument {
    /// The id of the document in the collection or stream.
    pub id: String,
    /// The Hamming distance between the fingerprints of the document and the text.
    pub hamming: u32,
    /// The exact Jaccard of the document and the text. `None` if it was not verified.
    pub jaccard: Option<f64>,
}

/// The answer of a collection or stream to one text of an input: the text is a duplicate of a stored document.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownAnswer {
    /// The ordinal of the first record of the input that has this text.
    pub record: u64,
    /// The document of the collection or stream that the text duplicates.
    pub document: KnownDocument,
}

/// A record of an input that was added to a collection or stream as a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddedRecord {
    /// The ordinal of the record in the input.
    pub record: u64,
    /// The number of the document in the collection or stream.
    pub number: u64,
}

/// The outcome of adding the kept documents of a run to a collection or stream, in numbers of documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Appended {
    /// Number of documents added.
    pub added: u64,
    /// Number of documents that the collection or stream already had, because an earlier run of the same input added
    /// them, or because a document with the same id and text exists.
    pub earlier: u64,
    /// Number of added documents that replaced a document with the same id and another text.
    pub replaced: u64,
}

/// The record that a collection or stream stores about all runs of one input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PastRun {
    /// The answers to the first run. Later runs of the same input get the same answers.
    pub answers: Vec<KnownAnswer>,
    /// The ordinals of the records that the first run recognised as documents that the collection or stream already
    /// had.
    pub recognised: Vec<u64>,
    /// The records that any of the runs added to the collection or stream.
    pub added: Vec<AddedRecord>,
    /// The time at which the first run ended, as Unix time in seconds.
    pub first_ended: i64,
    /// The outcome of the latest run, in numbers of documents.
    pub latest: Appended,
}

/// A run that has ended and that the collection or stream will record.
#[derive(Clone, Debug)]
pub struct EndedRun {
    /// The random identifier of the run.
    pub name: u128,
    /// The digest of the run's input.
    pub digest: u128,
    /// The answers that the run got, if it is the first run of its input.
    pub answers: Vec<KnownAnswer>,
    /// The ordinals of the records that the run recognised as documents of the collection or stream, if it is the first
    /// run of its input.
    pub recognised: Vec<u64>,
    /// The records that the run added, or found already added by an earlier run.
    pub added: Vec<AddedRecord>,
    /// The outcome of the run, in numbers of documents.
    pub counts: Appended,
    /// The time at which the run ended, as Unix time in seconds.
    pub ended: i64,
}
