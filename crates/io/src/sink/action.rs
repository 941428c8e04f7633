//! The action of a copy on a record, the path that it writes the record to, and the counts of its results.

use std::path::{Path, PathBuf};

use super::arrange::ZstdSizes;
use crate::source::SourceFile;

/// The action of a copy on one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecordAction {
    /// The record is written to `kept/`.
    Keep,
    /// The record is written to `removed/`.
    Remove,
    /// The record is not a document and is not written to any output.
    Reject,
    /// The record is written to `annotated/`, with added fields.
    Annotate,
}

/// The numbers of records and bytes that a copy has written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CopyCounts {
    /// Bytes of the records kept. Records count decompressed and with their line ends. Files that are one document
    /// count with their size on disk.
    pub kept_bytes: u64,
    /// Bytes of the records removed, counted in the same way as `kept_bytes`.
    pub removed_bytes: u64,
    /// Number of records kept.
    pub kept_records: u64,
    /// Number of records removed.
    pub removed_records: u64,
    /// The sizes of the kept records when compressed with zstd, before and after reordering. 0 if they were not
    /// reordered.
    pub zstd: ZstdSizes,
}

impl CopyCounts {
    pub(super) fn add(&mut self, action: RecordAction, bytes: u64, records: u64) {
        match action {
            RecordAction::Keep | RecordAction::Annotate => {
                self.kept_bytes += bytes;
                self.kept_records += records;
            }
            RecordAction::Remove => {
                self.removed_bytes += bytes;
                self.removed_records += records;
            }
            RecordAction::Reject => {}
        }
    }
}

/// Returns the path to which the records of an input file with this action are written, relative to the output
/// directory.
pub(super) fn output_path(input: &SourceFile, action: RecordAction) -> PathBuf {
    let folder = match action {
        RecordAction::Remove => "removed",
        RecordAction::Annotate => "annotated",
        RecordAction::Keep | RecordAction::Reject => "kept",
    };
    Path::new(folder).join(&input.relative)
}
