//! Counting the features of one document after another.
//!
//! An open-addressing table with linear probing, keyed by the low 64 bits of the feature hash (two features
//! that share them count as one). Slots bear the number of the document that wrote them, so starting the next
//! document clears nothing. A document starts with as many slots as its features may need, up to
//! [`FIRST_SLOTS`], and doubles them as distinct features come: small documents stay in the first cache.
//!
//! Slots are chosen by multiplication with a random odd number, so that nobody can prepare words that crowd one
//! place; what is counted, and its order, does not depend on it.

use std::hash::{BuildHasher, RandomState};

const FIRST_SLOTS: usize = 1 << 11;

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    key: u64,
    /// Position among the distinct features.
    index: u32,
    /// The document that wrote the slot; 0 is none.
    document: u32,
}

/// A distinct feature's number of occurrences and the position of the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) tf: u32,
    pub(crate) first: u32,
}

/// The distinct features of a document, in order of first occurrence, and how often each occurs.
#[derive(Debug)]
pub(crate) struct Tally {
    slots: Vec<Slot>,
    document: u32,
    /// How many slots the document uses.
    size: usize,
    /// Features counted so far, repeats included.
    features: u32,
    multiplier: u64,
    hashes: Vec<u128>,
    counts: Vec<Count>,
}

impl Tally {
    pub(crate) fn new() -> Self {
        Self {
            slots: vec![Slot::default(); FIRST_SLOTS],
            document: 0,
            size: FIRST_SLOTS,
            features: 0,
            multiplier: RandomState::new().hash_one(0) | 1,
            hashes: Vec::new(),
            counts: Vec::new(),
        }
    }

    /// The distinct feature hashes of the document.
    pub(crate) fn hashes(&self) -> &[u128] {
        &self.hashes
    }

    /// Parallel to [`hashes`](Self::hashes).
    pub(crate) fn counts(&self) -> &[Count] {
        &self.counts
    }

    /// Forgets the document before. The next has about `features` features, repeats included.
    pub(crate) fn start(&mut self, features: usize) {
        self.hashes.clear();
        self.counts.clear();
        self.features = 0;
        self.size = (features.saturating_mul(2))
            .clamp(64, FIRST_SLOTS)
            .next_power_of_two();
        self.next_document();
    }

    /// Counts more features of the document, fewer than 2³² in all. Expected linear time.
    pub(crate) fn add(&mut self, hashes: &[u128]) {
        for &hash in hashes {
            let key = hash as u64;
            let at = self.place(key);
            let slot = self.slots[at];
            if slot.document == self.document {
                // The slot was written together with its entry in `counts`.
                self.counts[slot.index as usize].tf += 1;
            } else {
                self.slots[at] = Slot {
                    key,
                    index: self.hashes.len() as u32,
                    document: self.document,
                };
                self.hashes.push(hash);
                self.counts.push(Count {
                    tf: 1,
                    first: self.features,
                });
                if self.hashes.len() * 2 > self.size {
                    self.grow();
                }
            }
            self.features += 1;
        }
    }

    fn next_document(&mut self) {
        self.document = self.document.wrapping_add(1);
        if self.document == 0 {
            self.slots.fill(Slot::default());
            self.document = 1;
        }
    }

    /// Where the probe for `key` ends among the first `size` slots (a power of two, at most half of them
    /// taken): at its slot or at a free one.
    fn place(&self, key: u64) -> usize {
        let mask = self.size - 1;
        let mut at = (key.wrapping_mul(self.multiplier) >> 32) as usize & mask;
        // In bounds: `size` never exceeds the slots there are.
        while self.slots[at].document == self.document && self.slots[at].key != key {
            at = (at + 1) & mask;
        }
        at
    }

    /// Spreads the distinct features over twice the slots.
    fn grow(&mut self) {
        self.size *= 2;
        if self.slots.len() < self.size {
            self.slots.resize(self.size, Slot::default());
        }
        self.next_document();
        for index in 0..self.hashes.len() {
            let key = self.hashes[index] as u64;
            let at = self.place(key);
            self.slots[at] = Slot {
                key,
                index: index as u32,
                document: self.document,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn check(tally: &mut Tally, hashes: &[u128]) {
        tally.start(hashes.len());
        let (some, more) = hashes.split_at(hashes.len() / 3);
        tally.add(some);
        tally.add(more);
        let mut expected: HashMap<u64, Count> = HashMap::new();
        for (position, &hash) in hashes.iter().enumerate() {
            expected
                .entry(hash as u64)
                .or_insert(Count {
                    tf: 0,
                    first: position as u32,
                })
                .tf += 1;
        }
        assert_eq!(tally.hashes().len(), expected.len());
        for (hash, count) in tally.hashes().iter().zip(tally.counts()) {
            assert_eq!(expected[&(*hash as u64)], *count);
        }
        assert!(tally.counts().is_sorted_by_key(|count| count.first));
    }

    #[test]
    fn one_table_serves_many_documents_small_and_large() {
        let mut tally = Tally::new();
        for length in [0u128, 1, 31, 32, 33, 2000, 1, 5000, 20_000, 10] {
            check(&mut tally, &(0..length).map(|i| i * i % 7919).collect::<Vec<_>>());
            check(&mut tally, &(0..length).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_document_number_wraps_round() {
        let mut tally = Tally::new();
        check(&mut tally, &[1, 2, 1]);
        tally.document = u32::MAX - 1;
        for _ in 0..3 {
            check(&mut tally, &[1, 2, 1]);
        }
        tally.document = u32::MAX - 1;
        check(&mut tally, &(0..5000).collect::<Vec<_>>());
    }

    proptest! {
        #[test]
        fn equals_a_hash_map(documents in prop::collection::vec(prop::collection::vec(0u128..300, 0..400), 1..5)) {
            let mut tally = Tally::new();
            for document in documents {
                check(&mut tally, &document);
            }
        }
    }
}
