//! The actions on records, the paths that they write to, and the counts of their results.

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
    /// The record is not a document and is not written.
    Reject,
    /// The record is written to `annotated/`.
    Annotate,
}

/// Records and bytes written by a copy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CopyCounts {
    /// Bytes of the records kept: unpacked, with their line ends; whole files as they are on disk.
    pub kept_bytes: u64,
    /// Bytes of the records removed, counted likewise.
    pub removed_bytes: u64,
    /// Records kept.
    pub kept_records: u64,
    /// Records removed.
    pub removed_records: u64,
    /// Sizes of the kept records packed with zstd; 0 unless they were put in another order.
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

/// The path of an input's records below the output directory.
pub(super) fn output_path(input: &SourceFile, action: RecordAction) -> PathBuf {
    let folder = match action {
        RecordAction::Remove => "removed",
        RecordAction::Annotate => "annotated",
        RecordAction::Keep | RecordAction::Reject => "kept",
    };
    Path::new(folder).join(&input.relative)
}
