//! The memory of a run: its cost model, the budget of `--memory`, and the memory of the machine.
//!
//! Tables grow with the documents and are needed whole. A record is held whole while it is read, analysed and compared. Shingle sets are a cache.
//! A budget therefore bounds the cache first, and ends the run with an error once the tables and the longest record outgrow it. The constants
//! were fitted to measured peaks (docs/forecast.md).

use crate::corpus::Corpus;
use crate::error::DedupError;

/// The program by itself.
pub(crate) const PROGRAM: u64 = 24 << 20;
/// The pages of the program that are the dictionary, touched as Chinese is cut.
pub(crate) const DICTIONARY: u64 = 8 << 20;
/// The batches being read, analysed and merged.
pub(crate) const BATCHES: u64 = 64 << 20;
/// Buffers of one thread.
pub(crate) const A_THREAD: u64 = 8 << 20;
/// A document's row in the tables, without its id.
const A_DOCUMENT: u64 = 32;
/// A different text's rows in the tables of reading, joining and grouping.
const A_TEXT: u64 = 190;
/// Bytes held for each byte of the longest record: pieces of the file read ahead, the record, its canonical text, and the shingle sets of a pair of
/// such records. Of records of 5 to 50 MiB, English ones took 8 to 13 and Chinese ones 9 to 20, the most where fields are added to them.
pub(crate) const A_RECORD_BYTE: u64 = 20;
/// Bytes held for each byte of the longest record while partial copies are looked for: two texts of that length, their words or letters with
/// fingerprints, and shingle sets. One thread at a time measures long texts. Records of 20 MB took 13 in English and 23 in Chinese.
pub(crate) const A_PARTS_BYTE: u64 = 28;
/// A candidate pair, as an edge and as what the join held before.
pub(crate) const AN_EDGE: u64 = 16;
/// Bytes of shingle sets loaded at a time; as much again is kept for later pairs, and the set join has as much.
pub(crate) const SETS: usize = 96 << 20;
/// With less, every pair would load its texts anew.
const LEAST_SETS: u64 = 4 << 20;
/// How many of [`SETS`] there can be at once.
const SETS_AT_ONCE: u64 = 3;

/// A run's limit, if it has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    limit: Option<u64>,
    threads: u64,
}

impl Budget {
    /// # Errors
    /// When not even an empty input would fit.
    pub(crate) fn new(limit: Option<u64>, threads: usize) -> Result<Self, DedupError> {
        let budget = Self {
            limit,
            threads: threads as u64,
        };
        budget.check(0)?;
        Ok(budget)
    }

    /// Whether tables of so many bytes fit, and the least sets beside them.
    ///
    /// # Errors
    /// [`DedupError::Memory`].
    pub(crate) fn check(&self, tables: u64) -> Result<(), DedupError> {
        let needed = fixed(self.threads) + tables + SETS_AT_ONCE * LEAST_SETS;
        match self.limit {
            Some(limit) if needed > limit => Err(DedupError::Memory { needed, limit }),
            _ => Ok(()),
        }
    }

    /// Refuses a join of sets of `join` bytes that does not fit together with tables of `tables` bytes, once the input has been read.
    ///
    /// # Errors
    /// [`DedupError::Memory`].
    pub(crate) fn check_join(&self, tables: u64, join: u64) -> Result<(), DedupError> {
        let needed = fixed(self.threads) - BATCHES + tables + SETS_AT_ONCE * LEAST_SETS + join;
        match self.limit {
            Some(limit) if needed > limit => Err(DedupError::Memory { needed, limit }),
            _ => Ok(()),
        }
    }

    /// The size in bytes of the longest record that fits into memory together with tables of `tables` bytes.
    pub(crate) fn longest_record(&self, tables: u64) -> u64 {
        let Some(limit) = self.limit else { return u64::MAX };
        let taken = fixed(self.threads) + tables + SETS_AT_ONCE * LEAST_SETS;
        limit.saturating_sub(taken) / A_RECORD_BYTE
    }

    /// The error for a record of `record` bytes together with tables of `tables` bytes.
    pub(crate) fn refusal(&self, record: u64, tables: u64) -> DedupError {
        DedupError::Memory {
            needed: fixed(self.threads) + tables + SETS_AT_ONCE * LEAST_SETS + A_RECORD_BYTE * record,
            limit: self.limit.unwrap_or(u64::MAX),
        }
    }

    /// Bytes of shingle sets at a time beside tables of so many bytes. Decides how long a run takes, and nothing that is found.
    pub(crate) fn sets(&self, tables: u64) -> usize {
        let Some(limit) = self.limit else { return SETS };
        let left = limit.saturating_sub(fixed(self.threads) + tables) / SETS_AT_ONCE;
        usize::try_from(left.max(LEAST_SETS)).unwrap_or(SETS).min(SETS)
    }
}

/// What a run holds at most whatever the input.
fn fixed(threads: u64) -> u64 {
    PROGRAM + DICTIONARY + BATCHES + threads * A_THREAD
}

/// Bytes of the tables of so many documents, different texts and bytes of ids.
pub(crate) fn tables(documents: u64, texts: u64, ids: u64) -> u64 {
    // Vectors that grow are a quarter empty on average, and copied once in a while.
    documents * A_DOCUMENT + texts * A_TEXT + ids * 3 / 2
}

/// Bytes of the tables of a corpus as it is.
pub(crate) fn tables_of(corpus: &Corpus) -> u64 {
    tables(
        u64::from(corpus.documents.len()),
        u64::from(corpus.classes.len()),
        corpus.documents.id_bytes(),
    )
}

/// Memory that a new program can have: what the system calls available, or less where the control group sets a limit. Linux
/// only.
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
        assert_eq!(free.sets(1 << 40), SETS);
        let budget = Budget::new(Some(256 << 20), 2).unwrap();
        assert!(budget.sets(0) < SETS && budget.sets(0) > budget.sets(64 << 20));
        assert!(budget.check(64 << 20).is_ok());
        assert_eq!(budget.sets(1 << 30), LEAST_SETS as usize);
        let refused = budget.check(1 << 30).unwrap_err().to_string();
        assert!(refused.contains("--memory"), "{refused}");
        assert!(Budget::new(Some(1 << 20), 1).is_err());
        // A join comes after the batches.
        assert!(
            budget.check_join(64 << 20, BATCHES).is_ok() && budget.check_join(64 << 20, 3 * BATCHES).is_err()
        );
    }
}
