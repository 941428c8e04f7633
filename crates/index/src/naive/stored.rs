//! Every variation of every row in one sorted table.

use std::fmt;

use twinprint_fingerprint::Width;

use super::{Entry, each_variation, equal, variation_count};
use crate::table::{Match, Stats};

/// The size of a table of all variations.
///
/// ```
/// use twinprint_index::naive::Bill;
///
/// // The eight billion pages of Manku, Jain and Das Sarma.
/// let bill = Bill::of::<u64>(8_000_000_000, 3);
/// assert_eq!(bill.entries, 8_000_000_000 * 43_745);
/// assert_eq!(bill.bytes, bill.entries * 16);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bill {
    /// The number of rows.
    pub rows: u64,
    /// The number of variations of each row.
    pub variations: u128,
    /// The number of entries, `rows · variations`.
    pub entries: u128,
    /// The bytes of all entries.
    pub bytes: u128,
}

impl Bill {
    /// Computes the size of the table of all variations within distance `k` of `rows` rows. Saturates at `u128::MAX`.
    pub fn of<W: Width>(rows: u64, k: u32) -> Self {
        let variations = variation_count(W::BITS, k);
        let entries = variations.saturating_mul(rows.into());
        Self {
            rows,
            variations,
            entries,
            bytes: entries.saturating_mul(size_of::<Entry<W>>() as u128),
        }
    }
}

impl fmt::Display for Bill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} variations of each of {} fingerprints are {} entries, {} bytes",
            self.variations, self.rows, self.entries, self.bytes
        )
    }
}

/// A table of all variations is larger than allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{bill}, but at most {limit} bytes are allowed; allow more, or take a smaller radius or fewer fingerprints"
)]
pub struct TooLarge {
    /// The size of the table.
    pub bill: Bill,
    /// The allowed size in bytes.
    pub limit: u64,
}

/// Every variation of every row in one sorted table, which is probed once for a query.
///
/// ```
/// use twinprint_index::Match;
/// use twinprint_index::naive::StoredVariations;
///
/// let rows = [0b0000_u32, 0b0011, u32::MAX];
/// let stored = StoredVariations::build(&rows, 2, 1 << 20)?;
/// let mut found = Vec::new();
/// let stats = stored.lookup(0b0001, &mut found);
/// assert_eq!(found, [Match { id: 0, distance: 1 }, Match { id: 1, distance: 1 }]);
/// assert_eq!(stats.probes, 1);
///
/// // The error has the bill.
/// let refused = StoredVariations::build(&rows, 16, 1 << 20).unwrap_err();
/// assert!(refused.bill.bytes > 1 << 20);
/// # Ok::<(), twinprint_index::naive::TooLarge>(())
/// ```
#[derive(Clone, Debug)]
pub struct StoredVariations<W> {
    rows: Vec<W>,
    entries: Vec<Entry<W>>,
}

impl<W: Width> StoredVariations<W> {
    /// Stores all variations of the rows within distance `k`, in at most `limit` bytes. The id of a row is its position.
    ///
    /// # Errors
    /// [`TooLarge`] if the entries take more than `limit` bytes. Nothing is allocated then.
    pub fn build(rows: &[W], k: u32, limit: u64) -> Result<Self, TooLarge> {
        let bill = Bill::of::<W>(rows.len() as u64, k);
        let length = usize::try_from(bill.entries).ok();
        let Some(length) = length.filter(|_| bill.bytes <= limit.into() && u32::try_from(rows.len()).is_ok())
        else {
            return Err(TooLarge { bill, limit });
        };
        let mut entries = Vec::with_capacity(length);
        for (&fingerprint, row) in rows.iter().zip(0..=u32::MAX) {
            each_variation(fingerprint, k, &mut |key| entries.push(Entry { key, row }));
        }
        entries.sort_unstable();
        Ok(Self {
            rows: rows.to_vec(),
            entries,
        })
    }

    /// Replaces `out` by the rows within the distance that the table was built for, sorted by (distance, id).
    pub fn lookup(&self, query: W, out: &mut Vec<Match>) -> Stats {
        let equal = equal(&self.entries, query);
        out.clear();
        out.extend(equal.iter().filter_map(|entry| {
            let fingerprint = self.rows.get(entry.row as usize)?;
            Some(Match {
                id: entry.row,
                distance: fingerprint.distance(query) as u8,
            })
        }));
        out.sort_unstable_by_key(|m| (m.distance, m.id));
        Stats {
            probes: 1,
            candidates: equal.len() as u64,
        }
    }

    /// The number of entries.
    pub fn entries(&self) -> usize {
        self.entries.len()
    }

    /// The number of bytes allocated for entries and rows.
    pub fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry<W>>() + self.rows.capacity() * size_of::<W>()
    }
}
