//! The memory of a run: its cost model, the budget of [`DedupOptions::memory`](crate::DedupOptions::memory), and the memory of the machine.
//!
//! Tables grow with the documents and are always in memory. A record is in memory while it is read, analysed and compared. Shingle sets are
//! a cache. A budget therefore limits the cache first, and ends the run with an error if the tables and the longest record exceed it. The
//! constants were fitted to measured peaks (docs/forecast.md).

use crate::corpus::Corpus;
use crate::error::DedupError;

/// Bytes of the program without data.
pub(crate) const PROGRAM_BYTES: u64 = 24 << 20;
/// Bytes of the Chinese dictionary, which are in memory once a Chinese text is segmented.
pub(crate) const DICTIONARY_BYTES: u64 = 8 << 20;
/// Bytes of the batches that are read, analysed and merged at one time.
pub(crate) const BATCH_BYTES: u64 = 64 << 20;
/// Bytes of the buffers of one thread.
pub(crate) const THREAD_BYTES: u64 = 8 << 20;
/// Bytes of a document in the tables, without its id.
const DOCUMENT_BYTES: u64 = 32;
/// Bytes of a class in the tables of reading, joining and grouping.
const TEXT_BYTES: u64 = 190;
/// Bytes for each byte of the longest record: parts of the file that are read ahead, the record, its canonical text,
/// and the shingle sets of a pair of such records. In measurements with records of 5 to 50 MiB, English records took 8
/// to 13 and Chinese ones 9 to 20, most if fields are added to them.
pub(crate) const BYTES_PER_RECORD_BYTE: u64 = 20;
/// Bytes for each byte of the longest record while partial copies are searched: two texts of that length, their words
/// or letters with fingerprints, and shingle sets. One thread at a time measures long texts. In measurements, records
/// of 20 MB took 13 in English and 23 in Chinese.
pub(crate) const PARTS_BYTES_PER_RECORD_BYTE: u64 = 28;
/// Bytes of a candidate pair: its edge, and its share of the join's result.
pub(crate) const EDGE_BYTES: u64 = 16;
/// The largest number of bytes of shingle sets loaded at a time; [`SET_CACHES`] of them are held.
pub(crate) const MAX_SET_BYTES: usize = 96 << 20;
/// The minimum number of bytes of shingle sets loaded at a time. With fewer, every pair would load its texts again.
const MIN_SET_BYTES: u64 = 4 << 20;
/// Groups of shingle sets held at one time: the current block's, those kept for later pairs, and those of the set join.
const SET_CACHES: u64 = 3;

/// The memory limit of a run, if it has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    limit: Option<u64>,
    threads: u64,
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
        };
        budget.check(0)?;
        Ok(budget)
    }

    /// Checks that tables of `tables` bytes and the smallest shingle sets fit.
    ///
    /// # Errors
    /// [`DedupError::Memory`].
    pub(crate) fn check(&self, tables: u64) -> Result<(), DedupError> {
        let needed = fixed(self.threads) + tables + SET_CACHES * MIN_SET_BYTES;
        match self.limit {
            Some(limit) if needed > limit => Err(DedupError::Memory { needed, limit }),
            _ => Ok(()),
        }
    }

    /// Checks that a join of sets of `join` bytes fits together with tables of `tables` bytes, after the input has been read.
    ///
    /// # Errors
    /// [`DedupError::Memory`].
    pub(crate) fn check_join(&self, tables: u64, join: u64) -> Result<(), DedupError> {
        let needed = fixed(self.threads) - BATCH_BYTES + tables + SET_CACHES * MIN_SET_BYTES + join;
        match self.limit {
            Some(limit) if needed > limit => Err(DedupError::Memory { needed, limit }),
            _ => Ok(()),
        }
    }

    /// The size in bytes of the longest record that fits into memory together with tables of `tables` bytes.
    pub(crate) fn longest_record(&self, tables: u64) -> u64 {
        let Some(limit) = self.limit else { return u64::MAX };
        let taken = fixed(self.threads) + tables + SET_CACHES * MIN_SET_BYTES;
        limit.saturating_sub(taken) / BYTES_PER_RECORD_BYTE
    }

    /// The error for a record of `record` bytes together with tables of `tables` bytes.
    pub(crate) fn refusal(&self, record: u64, tables: u64) -> DedupError {
        DedupError::Memory {
            needed: fixed(self.threads)
                + tables
                + SET_CACHES * MIN_SET_BYTES
                + BYTES_PER_RECORD_BYTE * record,
            limit: self.limit.unwrap_or(u64::MAX),
        }
    }

    /// Bytes of shingle sets that may be loaded at a time together with tables of `tables` bytes. They affect the time of a run, and never its
    /// result.
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

/// The largest number of bytes that a run needs for any input.
fn fixed(threads: u64) -> u64 {
    PROGRAM_BYTES + DICTIONARY_BYTES + BATCH_BYTES + threads * THREAD_BYTES
}

/// Bytes of the tables of `documents` documents with `texts` different texts and `ids` bytes of ids.
pub(crate) fn tables(documents: u64, texts: u64, ids: u64) -> u64 {
    // Growing vectors are a quarter empty on average, and are sometimes copied.
    documents * DOCUMENT_BYTES + texts * TEXT_BYTES + ids * 3 / 2
}

/// Bytes of the tables of a corpus.
pub(crate) fn tables_of(corpus: &Corpus) -> u64 {
    tables(
        corpus.documents.len() as u64,
        corpus.classes.len() as u64,
        corpus.documents.id_bytes(),
    )
}

/// Bytes of memory that are available to a new program: those that the system reports, limited by the control group. `None` on
/// systems other than Linux.
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
    fn a_budget_bounds_the_sets_and_then_refuses() {
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
        assert!(
            budget.check_join(64 << 20, BATCH_BYTES).is_ok()
                && budget.check_join(64 << 20, 3 * BATCH_BYTES).is_err()
        );
    }
}
