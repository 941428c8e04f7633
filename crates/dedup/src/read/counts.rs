//! The counts of an input that was read.

use std::collections::BTreeMap;

use twinprint_io::source::Intake;

/// The counts of an input that was read.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadCounts {
    /// The bytes of the files, compressed if they are.
    pub(crate) input_bytes: u64,
    /// The bytes of the records, decompressed.
    pub(crate) record_bytes: u64,
    /// The bytes of the texts.
    pub(crate) text_bytes: u64,
    /// The bytes of the longest record or text.
    pub(crate) longest: u64,
    /// The number of blank lines.
    pub(crate) blank_lines: u64,
    /// The number of records of kinds that are not documents, by kind.
    pub(crate) other_records: BTreeMap<&'static str, u64>,
    /// The account of documents, rejects and losses.
    pub(crate) intake: Intake,
}

impl ReadCounts {
    /// Adds the counts of another part of the input, except for the records of other kinds.
    pub(crate) fn add(&mut self, other: Self) {
        self.input_bytes += other.input_bytes;
        self.record_bytes += other.record_bytes;
        self.text_bytes += other.text_bytes;
        self.longest = self.longest.max(other.longest);
        self.blank_lines += other.blank_lines;
        self.intake.add(other.intake);
    }
}
