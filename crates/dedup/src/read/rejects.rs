//! The place of rejected records: a file, or memory.

use crate::error::DedupError;
use twinprint_io::rows;
use twinprint_io::sink::OutputFile;
use twinprint_io::source::RejectReason;

/// A record that was rejected while it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedRecord {
    /// The name of the source of the record.
    pub source: String,
    /// The line or row of the record in its source, from 1.
    pub line: u64,
    /// The reason why the record was rejected.
    pub reason: RejectReason,
}

/// The place of the records that are rejected.
pub(crate) enum Rejects {
    /// Nowhere, when the records are read again.
    Nowhere,
    /// The file `rejects.jsonl`.
    File(OutputFile),
    /// A list in memory, in input order.
    Memory(Vec<RejectedRecord>),
}

impl Rejects {
    pub(super) fn push(&mut self, source: &str, line: u64, reason: &RejectReason) -> Result<(), DedupError> {
        match self {
            Self::Nowhere => {}
            Self::File(file) => rows::write_reject(file, source, line, reason)?,
            Self::Memory(rejected) => rejected.push(RejectedRecord {
                source: source.to_owned(),
                line,
                reason: reason.clone(),
            }),
        }
        Ok(())
    }

    /// Finishes the file, or returns the list.
    pub(crate) fn finish(self) -> Result<Vec<RejectedRecord>, DedupError> {
        match self {
            Self::Nowhere => Ok(Vec::new()),
            Self::File(file) => {
                file.finish()?;
                Ok(Vec::new())
            }
            Self::Memory(rejected) => Ok(rejected),
        }
    }
}
