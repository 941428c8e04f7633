//! The memory of a run: its cost model, the budget of [`DedupOptions::memory`](crate::DedupOptions::memory), and the memory of the machine.
//!
//! The tables of documents and classes grow with the input and stay in memory. The longest record is in memory while it
//! is read, analysed and compared. Shingle sets are cached, and only the size of their cache can be chosen. So a limit
//! reduces this cache first. If the tables and the longest record exceed the limit, the run begins again on disk, or ends
//! with an error if an option needs a run in memory. The
//! constants were fitted to measured peaks (docs/forecast.md).

use crate::corpus::Corpus;
use crate::error::DedupError;

/// The memory of the program without data, in bytes.
pub(crate) const PROGRAM_BYTES: u64 = 24 << 20;
/// The size of the Chinese dictionary, in bytes. It is loaded when the first Chinese text is segmented.
pub(crate) const DICTIONARY_BYTES: u64 = 8 << 20;
/// The freed memory that the allocator keeps, in bytes.
const FREED_BYTES: u64 = 28 << 20;
/// The bytes of an input batch for each thread, and its largest size.
const BATCH_BYTES_OF_THREAD: u64 = 1 << 20;
const MAX_BATCH_BYTES: u64 = 32 << 20;
/// The number of batches in memory at one time: one is read, two wait, and three are analysed or merged. The texts of these
/// three count as three more, and their ids and other results as one.
const BATCHES: u64 = 10;
/// The size of the buffers of one thread in bytes, if it segments texts by the Chinese dictionary.
const THREAD_BYTES: u64 = 16 << 20;
/// The bytes that one document takes in the tables, without its id: its class and the place of its id, and in the
/// report the hash of its id.
const DOCUMENT_BYTES: u64 = 14;
/// The bytes that one class takes at most in the tables of reading, joining or grouping.
const TEXT_BYTES: u64 = 90;
/// The bytes that one document takes in a slice of a run on disk, without its id.
const SLICE_DOCUMENT_BYTES: u64 = 32;
/// The bytes that one class takes in a slice of a run on disk: in the tables, and in the rows that are sorted at its
/// end.
const SLICE_TEXT_BYTES: u64 = 190;
/// The memory for the longest record, in bytes per byte of the record: the parts of the file that are read ahead, the
/// record, its canonical text, and the shingle sets of two such records. In measurements with records of 5 to 50 MiB,
/// English records took 8 to 13 bytes per byte and Chinese ones 9 to 20, the most if fields are added to the records.
pub(crate) const BYTES_PER_RECORD_BYTE: u64 = 20;
/// The memory for the longest record while partial copies are searched, in bytes per byte of the record: two texts of
/// that length, their words or letters with fingerprints, and their shingle sets. One thread at a time measures long
/// texts. In measurements, records of 20 MB took 13 bytes per byte in English and 23 in Chinese.
pub(crate) const PARTS_BYTES_PER_RECORD_BYTE: u64 = 28;
/// The memory of a candidate pair, in bytes: its edge, and its entry in the result of the join.
pub(crate) const EDGE_BYTES: u64 = 16;
/// The largest number of bytes of shingle sets that one of the [`SET_CACHES`] may load.
pub(crate) const MAX_SET_BYTES: usize = 96 << 20;
/// The smallest number of bytes of shingle sets that one of the [`SET_CACHES`] may load. With fewer bytes, every pair
/// would load its texts again.
const MIN_SET_BYTES: u64 = 4 << 20;
/// The smallest and the largest number of bytes that a task of a run on disk takes beside the fixed ones.
const MIN_STAGE_BYTES: u64 = 32 << 20;
const STAGE_BYTES: u64 = 8 << 30;
/// The number of collections of shingle sets that are in memory at one time: those of the current block, those kept for
/// later pairs, and those of the set join.
const SET_CACHES: u64 = 3;

/// The memory limit of a run. A run without a limit has a budget too.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    limit: Option<u64>,
    threads: u64,
    /// The memory for the longest record, in bytes per byte of the record.
    record_bytes: u64,
}

impl Budget {
    /// A budget of `limit` bytes for a run on `threads` threads.
    ///
    /// # Errors
    /// [`DedupError::Memory`] if not even an empty input would fit.
    pub(crate) fn new(limit: Option<u64>, threads: usize) -> Result<Self, DedupError> {
        let budget = Self {
            limit,
            threads: threads as u64,
            record_bytes: BYTES_PER_RECORD_BYTE,
        };
        budget.check(0)?;
        Ok(budget)
    }

    /// The budget of a run that searches partial copies.
    pub(crate) fn with_parts(self) -> Self {
        Self {
            record_bytes: PARTS_BYTES_PER_RECORD_BYTE,
            ..self
        }
    }

    /// Checks that the limit allows tables of `tables` bytes and the smallest amount of shingle sets.
    ///
    /// # Errors
    /// [`DedupError::Memory`] if the limit is too low.
    pub(crate) fn check(&self, tables: u64) -> Result<(), DedupError> {
        let needed = fixed(self.threads) + tables + SET_CACHES * MIN_SET_BYTES;
        match self.limit {
            Some(limit) if needed > limit => Err(DedupError::Memory { needed, limit }),
            _ => Ok(()),
        }
    }

    /// Checks that the limit allows a set join of `join` bytes in addition to tables of `tables` bytes. By then the
    /// input has been read, so the memory of its batches is free.
    ///
    /// # Errors
    /// [`DedupError::Memory`] if the limit is too low.
    pub(crate) fn check_join(&self, tables: u64, join: u64) -> Result<(), DedupError> {
        let without_batches = fixed(self.threads) - batches(self.threads);
        let needed = without_batches + tables + SET_CACHES * MIN_SET_BYTES + join;
        match self.limit {
            Some(limit) if needed > limit => Err(DedupError::Memory { needed, limit }),
            _ => Ok(()),
        }
    }

    /// The size in bytes of the longest record that fits into memory together with tables of `tables` bytes.
    pub(crate) fn longest_record(&self, tables: u64) -> u64 {
        let Some(limit) = self.limit else { return u64::MAX };
        let taken = fixed(self.threads) + tables + SET_CACHES * MIN_SET_BYTES;
        limit.saturating_sub(taken) / self.record_bytes
    }

    /// Returns the error for a record of `record` bytes that does not fit into memory together with tables of `tables`
    /// bytes.
    pub(crate) fn refusal(&self, record: u64, tables: u64) -> DedupError {
        DedupError::Memory {
            needed: fixed(self.threads) + tables + SET_CACHES * MIN_SET_BYTES + self.record_bytes * record,
            limit: self.limit.unwrap_or(u64::MAX),
        }
    }

    /// The bytes that the tasks of a run on disk may take beside the fixed ones.
    pub(crate) fn for_stages(&self) -> u64 {
        let limit = self.limit.unwrap_or(STAGE_BYTES);
        let left = limit.saturating_sub(fixed(self.threads));
        left.clamp(MIN_STAGE_BYTES, STAGE_BYTES)
    }

    /// The memory of a run on disk, in bytes.
    pub(crate) fn of_stages(&self) -> u64 {
        fixed(self.threads) + self.for_stages()
    }

    /// The bytes of shingle sets that may be loaded at a time, in addition to tables of `tables` bytes. The number
    /// affects the time of a run, but not its result.
    pub(crate) fn sets(&self, tables: u64) -> usize {
        let Some(limit) = self.limit else {
            return MAX_SET_BYTES;
        };
        let left = limit.saturating_sub(fixed(self.threads) + tables) / SET_CACHES;
        usize::try_from(left.max(MIN_SET_BYTES))
            .unwrap_or(MAX_SET_BYTES)
            .min(MAX_SET_BYTES)
    }
}

/// The bytes that a run on `threads` threads needs at most, whatever its input: the program, the dictionary, the
/// batches, the buffers and freed memory.
fn fixed(threads: u64) -> u64 {
    PROGRAM_BYTES + DICTIONARY_BYTES + FREED_BYTES + batches(threads) + threads * THREAD_BYTES
}

/// The size of an input batch of a run on `threads` threads, in bytes.
pub(crate) fn batch_bytes(threads: u64) -> u64 {
    (threads * BATCH_BYTES_OF_THREAD).min(MAX_BATCH_BYTES)
}

/// The bytes of the input batches that are read, analysed and merged at one time.
pub(crate) fn batches(threads: u64) -> u64 {
    BATCHES * batch_bytes(threads)
}

/// Makes glibc keep freed blocks of up to 4 MiB for the next request. Otherwise it returns large blocks to the system, and the
/// kernel fills new ones with zeros. glibc raises its limit to the size of a freed block (`mallopt(3)`, `M_MMAP_THRESHOLD`), so
/// a block of 4 MiB is requested and freed. This holds for the whole process, also for a Python program. Other allocators are
/// not affected.
pub(crate) fn keep_freed_blocks() {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(4 << 20)));
}

/// The bytes that the index of a set join may take for each document in a run in memory, and the bytes that it may take in any
/// case. A larger index is made in chunks. With ten million documents that took no more time (bench/record/2026-11-28-on-disk.md).
const INDEX_BYTES: u64 = 44;
const LEAST_INDEX_BYTES: u64 = 256 << 20;
/// With a memory limit that leaves less than this part of it, the index is not made in memory.
pub(crate) const MOST_CHUNKS: u64 = 4;

/// The bytes that the index of a set join may take in a run of `documents` documents in memory.
pub(crate) fn most_index(documents: u64) -> u64 {
    (documents * INDEX_BYTES).max(LEAST_INDEX_BYTES)
}

/// Estimates the bytes of the tables of a run with `documents` documents, `texts` distinct texts and `ids` bytes of
/// ids.
pub(crate) fn tables(documents: u64, texts: u64, ids: u64) -> u64 {
    // Ids count one and a half times: growing vectors are a quarter empty on average, and are sometimes copied.
    documents * DOCUMENT_BYTES + texts * TEXT_BYTES + ids * 3 / 2
}

/// Estimates the bytes of a slice of a run on disk.
pub(crate) fn slice_of(corpus: &Corpus) -> u64 {
    corpus.documents.len() as u64 * SLICE_DOCUMENT_BYTES
        + corpus.classes.len() as u64 * SLICE_TEXT_BYTES
        + corpus.documents.id_bytes() * 3 / 2
}

/// Estimates the bytes of the tables of a corpus.
pub(crate) fn tables_of(corpus: &Corpus) -> u64 {
    tables(
        corpus.documents.len() as u64,
        corpus.classes.len() as u64,
        corpus.documents.id_bytes(),
    )
}

/// Estimates the bytes of the tables and of the longest record, of `longest` bytes. Later stages hold that record in
/// memory while they compare and copy it.
pub(crate) fn tables_and_record(corpus: &Corpus, longest: u64) -> u64 {
    tables_of(corpus) + BYTES_PER_RECORD_BYTE * longest
}

/// The bytes that the search for partial copies takes for the longest record, of `longest` bytes, in addition to those
/// of the other stages.
pub(crate) fn long_parts(longest: u64) -> u64 {
    (PARTS_BYTES_PER_RECORD_BYTE - BYTES_PER_RECORD_BYTE) * longest
}

/// The memory that is available to a new program, in bytes: what the system reports, limited by the control group.
/// `None` on systems other than Linux.
pub(crate) fn available() -> Option<u64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    let of_group = |name: &str| -> Option<u64> {
        let text = std::fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok()?;
        text.trim().parse().ok()
    };
    let group = of_group("memory.max").map(|max| max.saturating_sub(of_group("memory.current").unwrap_or(0)));
    Some((kib * 1024).min(group.unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_limits_the_sets_and_refuses_beyond_the_limit() {
        let free = Budget::new(None, 2).unwrap();
        assert_eq!(free.sets(1 << 40), MAX_SET_BYTES);
        let budget = Budget::new(Some(256 << 20), 2).unwrap();
        assert!(budget.sets(0) < MAX_SET_BYTES && budget.sets(0) > budget.sets(64 << 20));
        assert!(budget.check(64 << 20).is_ok());
        assert_eq!(budget.sets(1 << 30), MIN_SET_BYTES as usize);
        let refused = budget.check(1 << 30).unwrap_err().to_string();
        assert!(refused.contains("the limit is 256 MiB"), "{refused}");
        assert!(Budget::new(Some(1 << 20), 1).is_err());
        // The join runs after the last batch.
        assert!(budget.check(140 << 20).is_err() && budget.check_join(80 << 20, 60 << 20).is_ok());
        assert!(budget.check_join(80 << 20, 100 << 20).is_err());
    }
}
