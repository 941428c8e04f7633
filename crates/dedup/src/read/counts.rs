//! The counts of an input after reading.

use std::collections::BTreeMap;

use twinprint_io::source::Intake;

/// The counts of an input after reading.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadCounts {
    /// The bytes of the input files as they are on disk, compressed or not.
    pub(crate) input_bytes: u64,
    /// The bytes of the records, decompressed.
    pub(crate) record_bytes: u64,
    /// The bytes of the texts of all documents.
    pub(crate) text_bytes: u64,
    /// The length in bytes of the longest record or text.
    pub(crate) longest: u64,
    /// The number of blank lines, which are not records.
    pub(crate) blank_lines: u64,
    /// The numbers of records that are not documents by their kind, such as the requests in a web archive.
    pub(crate) other_records: BTreeMap<&'static str, u64>,
    /// The counts of documents, rejects and losses by file.
    pub(crate) intake: Intake,
}

impl ReadCounts {
    /// Adds the counts of another part of the input. `other_records` is not added.
    pub(crate) fn add(&mut self, other: Self) {
        self.input_bytes += other.input_bytes;
        self.record_bytes += other.record_bytes;
        self.text_bytes += other.text_bytes;
        self.longest = self.longest.max(other.longest);
        self.blank_lines += other.blank_lines;
        self.intake.add(other.intake);
    }
}
