//! The members that later members of the set join find: their prefixes, sizes and bitmaps.

use twinprint_index::set::{PrefixFilter, PrefixIndex, TokenBitmap};

use super::{MemberPrefix, ProbeScope};
use crate::ids::ItemId;

/// The shared shingles of two sets are counted if the shingles by which sets of their size find one of them are in at
/// least this number of sets.
const MIN_COUNTED_POSTINGS: u64 = 8;

/// Members in the order in which they were placed, with an index of their prefixes.
pub(super) struct PlacedMembers {
    filter: PrefixFilter,
    /// The index. Its ids are positions in `items` and `bitmaps`.
    index: PrefixIndex,
    items: Vec<ItemId>,
    bitmaps: Vec<TokenBitmap>,
}

impl PlacedMembers {
    pub(super) fn new(threshold: f64) -> Self {
        Self {
            filter: PrefixFilter::new(threshold),
            index: PrefixIndex::new(threshold),
            items: Vec::new(),
            bitmaps: Vec::new(),
        }
    }

    /// The number of bytes allocated.
    pub(super) fn bytes(&self) -> usize {
        self.index.bytes()
            + self.items.capacity() * size_of::<ItemId>()
            + self.bitmaps.capacity() * size_of::<TokenBitmap>()
    }

    /// Makes the members placed so far those of earlier blocks.
    pub(super) fn seal(&mut self) {
        self.index.seal();
    }

    pub(super) fn insert(&mut self, item: ItemId, set: &MemberPrefix) {
        // The cast does not overflow, because the index refuses more sets than 32 bits can number.
        self.index.insert(self.items.len() as u32, set.size, &set.prefix);
        if self.items.len() == self.items.capacity() {
            let more = self.items.len() / 8 + 64;
            self.items.reserve_exact(more);
            self.bitmaps.reserve_exact(more);
        }
        self.items.push(item);
        self.bitmaps.push(set.bitmap);
    }

    /// Appends the members in `scope` that may reach the threshold with a set. `numbers` is a buffer.
    pub(super) fn probe(
        &self,
        set: &MemberPrefix,
        scope: ProbeScope,
        numbers: &mut Vec<u32>,
        out: &mut Vec<ItemId>,
    ) {
        let counted = set.postings >= MIN_COUNTED_POSTINGS;
        match scope {
            ProbeScope::EarlierBlocks => self.index.probe_sealed(set.size, &set.prefix, counted, numbers),
            ProbeScope::CurrentBlock => self.index.probe_young(set.size, &set.prefix, counted, numbers),
        }
        let similar = |&number: &usize| {
            let size = self.index.size_at(number).unwrap_or(0);
            let allowed = self.filter.most_different(set.size as usize, size as usize);
            set.bitmap.difference(self.bitmaps[number]) as usize <= allowed
        };
        let placed = numbers.iter().map(|&number| number as usize);
        out.extend(placed.filter(similar).map(|number| self.items[number]));
    }
}
