//! The entries of a prefix index that are not yet in a sorted run: a hash multimap in shards.
//!
//! A shard is a list of postings of 12 bytes (tag, document, next posting with the same tag) and an open-addressed
//! table of posting numbers, 4 bytes per slot, with one slot for each distinct tag. The postings of a tag are linked
//! from the newest to the oldest, so the documents of a tag come in descending order. Each shard grows by itself, so
//! growth never copies more than one shard.

use super::place::{PostingPlace, SHARDS};

const NO_POSTING: u32 = u32::MAX;

/// Up to this number of entries, a cleared multimap keeps its memory, so that blocks of similar size allocate once. A
/// larger one frees it.
const MAX_RETAINED_ENTRIES: usize = 1 << 20;

#[derive(Clone, Debug)]
pub(super) struct YoungPostings {
    shards: Vec<Shard>,
    entries: usize,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Shard {
    postings: Vec<Posting>,
    /// The number of the newest posting of each tag, open-addressed by the tag. The number of slots is a power of two.
    slots: Vec<u32>,
    tags: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Posting {
    pub(super) tag: u32,
    pub(super) document: u32,
    /// The number of the next older posting of the same tag.
    next: u32,
}

impl Shard {
    /// Returns the slot of `tag`, or the empty slot where it belongs. Returns `None` if there are no slots.
    fn find(&self, tag: u32) -> Option<usize> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut slot = tag as usize & mask;
        // The loop ends, because some slot is always empty.
        while self.slots[slot] != NO_POSTING && self.postings[self.slots[slot] as usize].tag != tag {
            slot = (slot + 1) & mask;
        }
        Some(slot)
    }

    fn insert(&mut self, tag: u32, document: u32) {
        if (self.tags + 1) * 8 > self.slots.len() * 7 {
            self.grow();
        }
        let Some(slot) = self.find(tag) else { return };
        if self.postings.len() == self.postings.capacity() {
            // The capacity grows by an eighth, so that at most an eighth is unused.
            self.postings.reserve_exact(self.postings.len() / 8 + 8);
        }
        self.tags += usize::from(self.slots[slot] == NO_POSTING);
        let next = std::mem::replace(&mut self.slots[slot], self.postings.len() as u32);
        self.postings.push(Posting { tag, document, next });
    }

    fn grow(&mut self) {
        let heads: Vec<u32> = self
            .slots
            .iter()
            .copied()
            .filter(|&head| head != NO_POSTING)
            .collect();
        self.slots = vec![NO_POSTING; (self.slots.len() * 2).max(8)];
        for head in heads {
            if let Some(slot) = self.find(self.postings[head as usize].tag) {
                self.slots[slot] = head;
            }
        }
    }

    fn clear(&mut self) {
        self.postings.clear();
        self.slots.fill(NO_POSTING);
        self.tags = 0;
    }

    /// Returns the postings in the order of insertion, in which documents ascend.
    pub(super) fn postings(&self) -> &[Posting] {
        &self.postings
    }
}

impl YoungPostings {
    pub(super) fn new() -> Self {
        Self {
            shards: vec![Shard::default(); SHARDS],
            entries: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries
    }

    pub(super) fn shards(&self) -> &[Shard] {
        &self.shards
    }

    /// Adds a document to the postings of a token. Documents must be inserted in ascending order.
    ///
    /// # Panics
    /// If there are 2³² − 1 entries already, which is the most that postings can link.
    pub(super) fn insert(&mut self, place: PostingPlace, document: u32) {
        assert!(
            self.entries < NO_POSTING as usize,
            "fewer than 2^32 - 1 entries between seals"
        );
        self.entries += 1;
        self.shards[place.shard].insert(place.tag, document);
    }

    /// Returns the documents of a token, the newest first.
    pub(super) fn documents(&self, place: PostingPlace) -> impl Iterator<Item = u32> + '_ {
        let shard = &self.shards[place.shard];
        let mut at = shard.find(place.tag).map_or(NO_POSTING, |slot| shard.slots[slot]);
        std::iter::from_fn(move || {
            let posting = shard.postings.get(at as usize)?;
            at = posting.next;
            Some(posting.document)
        })
    }

    pub(super) fn clear(&mut self) {
        if self.entries > MAX_RETAINED_ENTRIES {
            *self = Self::new();
        }
        self.shards.iter_mut().for_each(Shard::clear);
        self.entries = 0;
    }

    pub(super) fn bytes(&self) -> usize {
        let shard = |s: &Shard| s.postings.capacity() * size_of::<Posting>() + s.slots.capacity() * 4;
        self.shards.len() * size_of::<Shard>() + self.shards.iter().map(shard).sum::<usize>()
    }
}
