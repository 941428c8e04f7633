//! A hash table that counts the features of one document after another, by their hashes: long features, the features of
//! a text that is explained, and the words of cppjieba's recipe.
//!
//! The table has open addressing and linear probing. The key is the low 64 bits of the feature hash; two features with
//! the same key count as one. Each slot stores the number of the document that wrote it, so the table need not be
//! cleared for the next document. A document starts with as many slots as its features may need, up to [`FIRST_SLOTS`],
//! and doubles the number when distinct features fill half of it. Small documents thus stay in the first-level cache,
//! and most others in the second-level cache.
//!
//! Branch predictors cannot predict whether a feature is new, so new and repeated features take the same path: the slot
//! is written in either case, and so is the next element of the list of distinct features, which becomes part of the
//! list only if the feature is new. The only branch is taken if the slot belongs to another feature. A sparse table has
//! fewer of these collisions, so it is faster than a small one.
//!
//! The slot of a key is computed by a multiplication with a random odd number whose two halves are folded into one, so
//! nobody can prepare features that collide. The counts and their order do not depend on the random number.

use std::hash::{BuildHasher, RandomState};

use twinprint_fingerprint::Width;

use crate::product_hash::fold;

/// The maximum number of slots that a document starts with. Their 256 KiB stay in the second-level cache.
const FIRST_SLOTS: usize = 1 << 14;

/// Number of features that are counted between two checks of whether the table must grow.
const STRIDE: usize = 256;

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    key: u64,
    /// The number of the document that wrote the slot; 0 if no document did.
    document: u32,
    tf: u32,
}

/// A distinct feature of the document: its slot, and the position of its first occurrence.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    slot: usize,
    first: u32,
}

/// The number of occurrences of a distinct feature, and the position of the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) tf: u32,
    pub(crate) first: u32,
}

/// The distinct features of a document, in order of first occurrence, and how often each occurs.
#[derive(Debug)]
pub(crate) struct Tally<W> {
    slots: Vec<Slot>,
    document: u32,
    /// Number of slots that the document uses: a power of two, at most `slots.len()`.
    size: usize,
    /// Number of features of the document counted so far, repeats included.
    features: u32,
    multiplier: u64,
    salt: u64,
    /// Number of distinct features of the document. Elements of `hashes` and `entries` beyond this number are unused.
    distinct: usize,
    hashes: Vec<W>,
    /// Slot and first occurrence of each distinct feature, in the order of `hashes`.
    entries: Vec<Entry>,
    /// A buffer for the frequencies of the features while they move to a larger table.
    moved: Vec<u32>,
}

impl<W: Width> Tally<W> {
    /// Creates an empty tally. It allocates no memory before the first document.
    pub(crate) fn new() -> Self {
        let random = RandomState::new();
        Self {
            slots: Vec::new(),
            document: 0,
            size: 0,
            features: 0,
            multiplier: random.hash_one(0) | 1,
            salt: random.hash_one(1),
            distinct: 0,
            hashes: Vec::new(),
            entries: Vec::new(),
            moved: Vec::new(),
        }
    }

    /// The hashes of the document's distinct features, in order of first occurrence.
    pub(crate) fn hashes(&self) -> &[W] {
        &self.hashes[..self.distinct]
    }

    /// The counts of the document's distinct features, in the order of [`hashes`](Self::hashes).
    pub(crate) fn counts(&self) -> impl Iterator<Item = Count> {
        self.entries[..self.distinct].iter().map(|entry| Count {
            tf: self.slots[entry.slot].tf,
            first: entry.first,
        })
    }

    /// Drops the counts of the last document and starts the next. `features` is the expected number of features,
    /// repeats included.
    pub(crate) fn start(&mut self, features: usize) {
        self.distinct = 0;
        self.features = 0;
        let size = features.saturating_mul(2).clamp(64, FIRST_SLOTS);
        self.next_table(size.next_power_of_two());
    }

    /// Counts more features of the current document. A document may have fewer than 2³² features. Expected linear time.
    pub(crate) fn add(&mut self, hashes: &[W]) {
        for hashes in hashes.chunks(STRIDE) {
            let room = self.distinct + hashes.len();
            if room * 2 > self.size {
                self.grow((room * 2).next_power_of_two());
            }
            if room > self.hashes.len() {
                self.hashes.resize(room, W::default());
                self.entries.resize(room, Entry::default());
            }
            self.add_stride(hashes);
        }
    }

    /// Counts at most [`STRIDE`] features. The caller has made room: even if all features are new, at most half of the
    /// slots are used and `entries` is long enough.
    fn add_stride(&mut self, hashes: &[W]) {
        let probe = self.probe();
        let mut distinct = self.distinct;
        for (&hash, first) in hashes.iter().zip(self.features..) {
            let key = hash.low_u64();
            let index = probe.find(&self.slots, key);
            let slot = &mut self.slots[index];
            let new = slot.document != probe.document;
            *slot = Slot {
                key,
                document: probe.document,
                tf: slot.tf * u32::from(!new) + 1,
            };
            self.hashes[distinct] = hash;
            self.entries[distinct] = Entry { slot: index, first };
            distinct += usize::from(new);
        }
        self.distinct = distinct;
        self.features += hashes.len() as u32;
    }

    fn probe(&self) -> Probe {
        Probe {
            document: self.document,
            mask: self.size - 1,
            multiplier: self.multiplier,
            salt: self.salt,
        }
    }

    /// Empties the table and sets its size to `size` slots.
    fn next_table(&mut self, size: usize) {
        self.size = size;
        if self.slots.len() < size {
            self.slots.resize(size, Slot::default());
        }
        self.document = self.document.wrapping_add(1);
        if self.document == 0 {
            self.slots.fill(Slot::default());
            self.document = 1;
        }
    }

    /// Moves the distinct features of the document to a table of `size` slots.
    fn grow(&mut self, size: usize) {
        let mut moved = std::mem::take(&mut self.moved);
        moved.clear();
        moved.extend(self.counts().map(|count| count.tf));
        self.next_table(size);
        let probe = self.probe();
        let features = self.hashes.iter().zip(&mut self.entries).zip(&moved);
        for ((hash, entry), &tf) in features {
            let key = hash.low_u64();
            entry.slot = probe.find(&self.slots, key);
            self.slots[entry.slot] = Slot {
                key,
                document: probe.document,
                tf,
            };
        }
        self.moved = moved;
    }
}

/// The parameters that decide which slots are read for a key.
#[derive(Clone, Copy)]
struct Probe {
    document: u32,
    mask: usize,
    multiplier: u64,
    salt: u64,
}

impl Probe {
    /// The index of the slot that holds `key`, or else of the free slot where `key` belongs. At most half of the first
    /// `mask + 1` slots are in use, so the search ends.
    #[inline]
    fn find(self, slots: &[Slot], key: u64) -> usize {
        let mut index = fold(key ^ self.salt, self.multiplier) as usize & self.mask;
        loop {
            // In bounds: the mask is below the number of slots.
            let slot = slots[index];
            // Both flags are 0 if the slot holds another feature of this document. Combining them needs one branch
            // instead of two.
            let free = u64::from(slot.document ^ self.document);
            let same = u64::from(slot.key == key);
            if free | same != 0 {
                return index;
            }
            index = (index + 1) & self.mask;
        }
    }
}

#[cfg(test)]
mod tests;
