//! Tombstones: the ids deleted from a segment. In memory each has the stamp of its deletion; on disk only the ids are
//! stored.
//!
//! A segment never changes, so a deleted id stays in it until a compaction drops it, and every answer is checked
//! against the tombstones. A segment may have a tombstone for an id that it does not contain: replacing or deleting a
//! single id checks only the range of the segment's ids. Each segment has tombstones of its own, so that an id may be
//! deleted from an old segment and live in a new one.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use crate::bytes::{Reader, sealed, unsealed};

/// The first eight bytes of a file of deleted ids.
const MAGIC: [u8; 8] = *b"twindel\n";
/// The version that is written and read.
const VERSION: u32 = 1;
/// The number of bytes before the ids: magic, version, zeros, number of ids.
const HEADER_BYTES: usize = 24;

/// Deleted ids, each with the stamp of its deletion. Shared by readers and the writer.
#[derive(Debug, Default)]
pub(super) struct Tombstones {
    /// A panic while the map is locked leaves it consistent, because each change is a single insertion.
    stamps: RwLock<HashMap<u64, u64>>,
}

impl Tombstones {
    /// Creates the tombstones of ids that were deleted before the index was opened. Their stamp is 0.
    pub(super) fn settled(ids: &[u64]) -> Self {
        Self::since(ids.iter().map(|&id| (id, 0)))
    }

    /// Creates the tombstones of ids with their stamps. If an id occurs several times, its earliest stamp counts. Later
    /// ones come from merged segments from which the id was already gone: they may have recorded only a later deletion.
    pub(super) fn since(deaths: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut stamps = HashMap::new();
        for (id, at) in deaths {
            let first = stamps.entry(id).or_insert(at);
            *first = at.min(*first);
        }
        Self {
            stamps: RwLock::new(stamps),
        }
    }

    /// Marks an id as deleted at `stamp`. Returns `false` if it was deleted before, in which case the earlier stamp
    /// stays.
    pub(super) fn insert(&self, id: u64, stamp: u64) -> bool {
        let mut stamps = self.stamps.write().unwrap_or_else(PoisonError::into_inner);
        let mut is_new = false;
        stamps.entry(id).or_insert_with(|| {
            is_new = true;
            stamp
        });
        is_new
    }

    /// Returns `true` if an id was deleted at or before `stamp`.
    pub(super) fn holds(&self, id: u64, stamp: u64) -> bool {
        self.read().get(&id).is_some_and(|&at| at <= stamp)
    }

    /// The number of deleted ids.
    pub(super) fn len(&self) -> usize {
        self.read().len()
    }

    /// Returns the ids deleted at or before `stamp`, ascending.
    pub(super) fn until(&self, stamp: u64) -> Vec<u64> {
        let mut ids: Vec<u64> = self
            .read()
            .iter()
            .filter(|&(_, &at)| at <= stamp)
            .map(|(&id, _)| id)
            .collect();
        ids.sort_unstable();
        ids
    }

    /// Returns the ids deleted after `stamp`, with the stamps of their deletion.
    pub(super) fn after(&self, stamp: u64) -> Vec<(u64, u64)> {
        let stamps = self.read();
        let later = stamps.iter().filter(|&(_, &at)| at > stamp);
        later.map(|(&id, &at)| (id, at)).collect()
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, HashMap<u64, u64>> {
        self.stamps.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Encodes a file of deleted ids, which must ascend: header, ids, and the CRC-32 of all bytes before it.
pub(super) fn encode(ids: &[u64]) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER_BYTES + 8 * ids.len() + 4);
    out.extend(MAGIC);
    out.extend(VERSION.to_le_bytes());
    out.extend([0; 4]);
    out.extend((ids.len() as u64).to_le_bytes());
    for id in ids {
        out.extend(id.to_le_bytes());
    }
    sealed(out)
}

/// Decodes a file of deleted ids, which are ascending and distinct. Returns `None` if the bytes are not a complete
/// file.
pub(super) fn decode(bytes: &[u8]) -> Option<Vec<u64>> {
    let mut from = Reader(unsealed(bytes)?);
    let begins = from.take(MAGIC.len())? == MAGIC && (from.u32()?, from.u32()?) == (VERSION, 0);
    let count = from.u64()?;
    let (ids, rest) = from.0.as_chunks::<8>();
    let whole = begins && rest.is_empty() && ids.len() as u64 == count;
    let ids: Vec<u64> = ids.iter().map(|id| u64::from_le_bytes(*id)).collect();
    (whole && ids.is_sorted_by(|a, b| a < b)).then_some(ids)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn deletions_are_visible_from_their_stamp_on() {
        let tombstones = Tombstones::settled(&[7]);
        tombstones.insert(9, 5);
        tombstones.insert(9, 8);
        tombstones.insert(7, 8);
        assert!(tombstones.holds(7, 0) && tombstones.holds(9, 5));
        assert!(!tombstones.holds(9, 4) && !tombstones.holds(8, 9));
        assert_eq!((tombstones.until(4), tombstones.until(5)), (vec![7], vec![7, 9]));
        assert_eq!(tombstones.after(4), [(9, 5)]);
        assert_eq!(tombstones.len(), 2);
    }

    #[test]
    fn the_first_of_several_deletions_of_an_id_counts() {
        for deaths in [[(16, 27), (16, 35)], [(16, 35), (16, 27)]] {
            let tombstones = Tombstones::since(deaths);
            assert_eq!((tombstones.until(26), tombstones.until(27)), (vec![], vec![16]));
        }
    }

    proptest! {
        #[test]
        fn every_flipped_byte_and_every_truncation_is_detected(ids in prop::collection::btree_set(any::<u64>(), 0..20), mask in 1u8..) {
            let ids: Vec<u64> = ids.into_iter().collect();
            let bytes = encode(&ids);
            prop_assert_eq!(decode(&bytes), Some(ids));
            for at in 0..bytes.len() {
                let mut flipped = bytes.clone();
                flipped[at] ^= mask;
                prop_assert_eq!(decode(&flipped), None);
                prop_assert_eq!(decode(&bytes[..at]), None);
            }
        }

        #[test]
        fn decoding_any_bytes_causes_no_panic(bytes: Vec<u8>) {
            let _refused_or_not = decode(&bytes);
        }
    }
}
