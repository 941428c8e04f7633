//! The memory, the temporary files and the time of a run, from the numbers of its rows.
//!
//! A stage frees most of its tables before the next one, so the peak is that of one stage. The constants were fitted to
//! measured runs (docs/forecast.md).

use crate::candidates::{SetJoinCost, join_nanoseconds};
use crate::memory::{self, Budget};
use crate::stages::{MEMBER_BYTES, PartCounts, RowCounts, TaskBytes, bytes_of_parts, bytes_of_rows};
use twinprint_io::source::BLOCK_BYTES;

/// The most bytes of the buffers of reading, without the batches. A run keeps the buffers and the batches to its end.
const READ_BYTES: u64 = 25 << 20;
/// The bytes of these buffers for a byte of the input, while there are few.
const BUFFERS_OF_BYTE: f64 = 2.2;
/// The same if texts are segmented by the Chinese dictionary.
const CHINESE_BUFFERS_OF_BYTE: f64 = 3.5;
/// The bytes that a thread takes.
const THREAD_BYTES: u64 = 8 << 20;
/// The bytes that a thread takes in addition which segments texts by the Chinese dictionary, once it has a chunk.
const CHINESE_THREAD_BYTES: u64 = 11 << 20;
/// The bytes of a document in the tables, without its id.
const DOCUMENT_BYTES: f64 = 5.0;
/// The bytes of a byte of the ids.
const ID_BYTES: f64 = 1.1;
/// The bytes of a text in the tables: while the input is read, and later.
const READ_TEXT_BYTES: f64 = 48.0;
const TEXT_BYTES: f64 = 26.0;
/// The bytes of a text in the stages `shingles` and `verify`.
const TEXT_MEMBER_BYTES: f64 = 2.0;
const GROUP_BYTES: f64 = 40.0;
/// The share of the shingle sets that may be loaded which runs loaded at a time.
const LOADED_SETS: f64 = 0.4;
/// The bytes of a fingerprint while fingerprints are joined, for each bit.
const JOIN_BYTES_OF_BIT: f64 = 0.86;
/// The bytes that a text takes while partial copies are searched, and one of its fingerprints.
const PARTS_TEXT_BYTES: f64 = 128.0;
const PARTS_FINGERPRINT_BYTES: f64 = 32.0;
/// The bytes of a document and of a text in a slice of a run on disk.
const SLICE_DOCUMENT_BYTES: f64 = 20.0;
const SLICE_TEXT_BYTES: f64 = 100.0;
/// The bytes that a document takes while the groups are decided, and while the result is written, which takes no more
/// for further documents.
const DECIDED_BYTES: f64 = 300.0;
const WRITTEN_BYTES: f64 = 650.0;
const WRITTEN_DOCUMENTS: f64 = 300e3;
/// The bytes that the rows of partial copies take while they are written, for each fingerprint.
const WRITTEN_PARTS_BYTES: f64 = 60.0;
/// The bytes of a candidate that is sorted in the stage `candidates`.
const CANDIDATE_BYTES: f64 = 24.0;
/// The bytes of a temporary file for a fingerprint of a search for partial copies in memory.
const PARTS_FILE_BYTES: f64 = 8.0;

/// The bytes of text whose shingle sets one core computes per second.
const SET_BYTES_PER_SECOND: f64 = 400e6;
/// The time that one core takes to compare two shingle sets, in seconds: for each pair, and for each byte of an average text.
const COMPARISON_SECONDS: f64 = 0.15e-6;
const COMPARED_BYTE_SECONDS: f64 = 0.17e-9;
/// The time that one core takes for each byte of the texts to measure the recall.
const RECALL_SECONDS: f64 = 10e-9;
/// The time that one core takes to write a document to the table of clusters.
const WRITE_SECONDS: f64 = 1.6e-6;
/// The time that one core takes for each document in a run on disk more than in memory.
const ON_DISK_SECONDS: f64 = 3e-6;
/// The time that one core takes for each fingerprint of a search for partial copies.
const PARTS_SECONDS: f64 = 3e-6;
/// The share of the time in which one core works.
const SERIAL_SHARE: f64 = 0.2;
/// The bytes of records that are copied to the output per second.
const COPIED_BYTES_PER_SECOND: f64 = 500e6;

/// The numbers of rows and bytes of a whole run.
pub(super) struct Amounts {
    pub(super) documents: f64,
    /// The distinct texts, and their bytes.
    pub(super) texts: f64,
    pub(super) text_bytes: f64,
    /// The texts whose fingerprints are joined, and their distinct fingerprints; none in an exact run.
    pub(super) joined: f64,
    pub(super) rows: f64,
    pub(super) bits: u32,
    pub(super) k: u32,
    /// The pairs of fingerprints within the radius.
    pub(super) row_pairs: f64,
    /// The candidate pairs of texts, and those in memory at one time.
    pub(super) candidates: f64,
    pub(super) edges: f64,
    pub(super) id_bytes: f64,
    pub(super) record_bytes: f64,
    /// The bytes of the records of the largest part of a run on disk.
    pub(super) part_bytes: f64,
    /// The size of the longest record in bytes.
    pub(super) longest: u64,
    pub(super) set_join: SetJoinCost,
    /// The bytes of the shingle sets of the texts that are verified.
    pub(super) set_bytes: f64,
    /// True if pairs are verified.
    pub(super) verify: bool,
    /// The fingerprints of the search for partial copies; `None` without one.
    pub(super) parts: Option<f64>,
    /// True if a text is segmented by the Chinese dictionary.
    pub(super) chinese: bool,
    pub(super) threads: usize,
}

impl Amounts {
    /// The bytes that the program takes with a record and without tables.
    fn program(&self) -> u64 {
        let dictionary = if self.chinese { memory::DICTIONARY_BYTES } else { 0 };
        memory::PROGRAM_BYTES
            + dictionary
            + self.threads as u64 * THREAD_BYTES
            + memory::BYTES_PER_RECORD_BYTE * self.longest
    }

    /// The bytes of the buffers of reading `record_bytes` bytes of records.
    fn buffers(&self, record_bytes: f64) -> u64 {
        let threads = self.threads as u64;
        let chunks = record_bytes as u64 / BLOCK_BYTES as u64 + 1;
        let (of_byte, of_threads) = if self.chinese {
            (
                CHINESE_BUFFERS_OF_BYTE,
                threads.min(chunks) * CHINESE_THREAD_BYTES,
            )
        } else {
            (BUFFERS_OF_BYTE, 0)
        };
        let most = READ_BYTES + memory::batches(threads);
        most.min((of_byte * record_bytes) as u64 + of_threads)
    }

    /// The peak memory of a run in memory that may load `sets` bytes of shingle sets.
    pub(super) fn memory(&self, sets: u64) -> u64 {
        let buffers = self.buffers(self.record_bytes);
        let documents = self.documents * DOCUMENT_BYTES + self.id_bytes * ID_BYTES;
        let read = documents + self.texts * READ_TEXT_BYTES;
        let tables = documents + self.texts * TEXT_BYTES;
        let joined = tables + self.rows * JOIN_BYTES_OF_BIT * f64::from(self.bits);
        let join = self.set_join.bytes();
        let index = join.indexes.min(self.most_index());
        let shingles = tables + self.texts * TEXT_MEMBER_BYTES + (join.counters + index) as f64;
        let verified = tables
            + self.texts * GROUP_BYTES
            + self.edges * memory::EDGE_BYTES as f64
            + self.set_bytes.min(sets as f64 * LOADED_SETS);
        let parts = self.parts.map_or(0.0, |fingerprints| {
            tables + self.texts * PARTS_TEXT_BYTES + fingerprints * PARTS_FINGERPRINT_BYTES
        });
        let later = joined.max(shingles).max(verified).max(parts);
        self.program() + buffers + read.max(later) as u64
    }

    /// The peak memory of a run on disk.
    pub(super) fn memory_on_disk(&self, budget: Budget) -> u64 {
        let task = TaskBytes::of(budget.for_stages());
        let buffers = self.buffers(self.part_bytes);
        let share = self.part_bytes / self.record_bytes.max(1.0);
        let slice = share * (self.documents * SLICE_DOCUMENT_BYTES + self.texts * SLICE_TEXT_BYTES);
        let analysed = buffers as f64 + slice.min(task.slice as f64);
        let join = self.set_join.bytes();
        let candidates = (join.counters + join.indexes.min(self.most_index_on_disk(budget))) as f64
            + self.set_join.members() * MEMBER_BYTES as f64
            + (self.candidates * CANDIDATE_BYTES).min(task.candidates() as f64);
        let joined = (self.rows * JOIN_BYTES_OF_BIT * f64::from(self.bits)).min(task.slice as f64);
        let verified = self.set_bytes.min(budget.sets(task.slice) as f64);
        let decided = (self.documents * DECIDED_BYTES).min(task.sort as f64);
        let rows_of_parts = (self.parts.unwrap_or(0.0) * WRITTEN_PARTS_BYTES).min(task.sort as f64);
        let written = self.documents.min(WRITTEN_DOCUMENTS) * WRITTEN_BYTES + rows_of_parts;
        let later = candidates.max(joined).max(verified).max(decided);
        self.program() + analysed.max(buffers as f64 + later).max(written) as u64
    }

    /// The most bytes of the index of the set join in memory.
    fn most_index(&self) -> u64 {
        memory::most_index(self.documents as u64)
    }

    /// The most bytes of the index of the set join on disk.
    fn most_index_on_disk(&self, budget: Budget) -> u64 {
        let members = self.set_join.members() as u64 * MEMBER_BYTES;
        TaskBytes::of(budget.for_stages()).index(members + self.set_join.bytes().counters)
    }

    /// The bytes of the folder of a run on disk, without texts.
    pub(super) fn tables_on_disk(&self, budget: Budget) -> u64 {
        let rows = bytes_of_rows(
            RowCounts {
                documents: self.documents as u64,
                texts: self.texts as u64,
                joined: self.joined as u64,
                row_pairs: self.row_pairs as u64,
                candidates: self.candidates as u64,
            },
            budget.for_stages(),
        );
        let parts = self.parts.map_or(0, |fingerprints| {
            bytes_of_parts(PartCounts {
                texts: self.texts as u64,
                fingerprints: fingerprints as u64,
            })
        });
        rows + parts + self.id_bytes as u64
    }

    /// The bytes of the temporary files of a run in memory, without texts: those of a search for partial copies, and the
    /// prefixes of a set join in chunks.
    pub(super) fn files_in_memory_run(&self) -> u64 {
        let parts = self.parts.unwrap_or(0.0) * PARTS_FILE_BYTES;
        // A prefix takes about as many bytes in the file as in the index.
        let prefixes = self.set_join.bytes().indexes.saturating_sub(self.most_index());
        parts as u64 + prefixes
    }

    /// The wall time in seconds of a run that takes `read` seconds of one core to analyse its input, and copies `copied`
    /// bytes. `budget` is that of a run on disk; `None` for one in memory.
    pub(super) fn seconds(&self, read: f64, copied: f64, budget: Option<Budget>) -> f64 {
        let most_index = budget.map_or_else(|| self.most_index(), |budget| self.most_index_on_disk(budget));
        let compared = COMPARISON_SECONDS + self.text_bytes / self.texts.max(1.0) * COMPARED_BYTE_SECONDS;
        let join = join_nanoseconds(self.rows as usize, self.bits, self.k).filter(|_| self.rows > 0.0);
        let recall = if self.verify && self.rows > 0.0 {
            RECALL_SECONDS
        } else {
            0.0
        };
        let of_one_core = read
            + join.unwrap_or(0.0) * 1e-9
            + self.set_join.seconds(most_index)
            + self.set_bytes / SET_BYTES_PER_SECOND
            + self.candidates * compared
            + self.text_bytes * recall
            + self.documents * WRITE_SECONDS
            + self.parts.unwrap_or(0.0) * PARTS_SECONDS
            + budget.map_or(0.0, |_| self.documents * ON_DISK_SECONDS);
        let threads = self.threads.max(1) as f64;
        of_one_core * (SERIAL_SHARE + (1.0 - SERIAL_SHARE) / threads) + copied / COPIED_BYTES_PER_SECOND
    }
}
