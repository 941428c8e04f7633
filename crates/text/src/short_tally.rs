//! A hash table that counts the short features of one document after another, by their bytes. Features of at most 7 bytes can
//! be counted as [`WindowFeature`](twinprint_fingerprint::WindowFeature), whose list takes half the memory of that of
//! [`ShortFeature`].
//!
//! Most features repeat, so they are counted before they are hashed: the feature hash, which must be safe under a secret
//! key, is then computed once for each distinct feature.
//!
//! The table has open addressing and linear probing. A slot holds only the number of a feature, and the features and
//! their counts are in lists. So the table of a usual document stays in the first-level cache, and clearing it takes
//! little time.
//!
//! Branch predictors cannot predict whether a feature is new, so new and repeated features take the same path: the
//! feature is always written to the end of the list, which grows only if the feature is new. The only branch is taken if
//! the slot belongs to another feature.
//!
//! The slot of a feature is computed by a multiplication with random numbers, so nobody can prepare features that
//! collide. The counts and their order do not depend on the random numbers.

use std::hash::{BuildHasher, RandomState};

use twinprint_fingerprint::ShortFeature;

use crate::product_hash::NumberFeature;

/// The maximum number of slots that a document starts with.
const FIRST_SLOTS: usize = 1 << 14;

/// Number of features that are counted between two checks of whether the table must grow.
pub(crate) const STRIDE: usize = 256;

/// Features are sorted by their counts up to this number. Features with this count or a larger one are in no order.
const SORTED_COUNTS: usize = 8;

/// The distinct short features of a document, in order of first occurrence, and how often each occurs.
#[derive(Debug)]
pub(crate) struct ShortTally<F> {
    /// For each slot, the number of its feature from 1, which is its index in `features` plus 1; 0 in an empty slot. The
    /// number of slots is a power of two.
    slots: Vec<u32>,
    /// Number of slots that the document uses: a power of two, at most `slots.len()`.
    size: usize,
    /// Number of distinct features. The elements of `features` and `counts` beyond this number are unused.
    distinct: usize,
    features: Vec<F>,
    counts: Vec<u32>,
    secrets: [u64; 2],
}

impl<F: NumberFeature> ShortTally<F> {
    /// Creates an empty tally. It allocates no memory before the first document.
    pub(crate) fn new() -> Self {
        let random = RandomState::new();
        Self {
            slots: Vec::new(),
            size: 0,
            distinct: 0,
            features: Vec::new(),
            counts: Vec::new(),
            secrets: [random.hash_one(0), random.hash_one(1)],
        }
    }

    /// The distinct features of the document, in order of first occurrence.
    pub(crate) fn features(&self) -> &[F] {
        &self.features[..self.distinct]
    }

    /// The number of occurrences of each feature, in the order of [`features`](Self::features).
    pub(crate) fn counts(&self) -> &[u32] {
        &self.counts[..self.distinct]
    }

    /// Drops the counts of the last document and starts the next. `features` is the expected number of features,
    /// repeats included.
    pub(crate) fn start(&mut self, features: usize) {
        self.distinct = 0;
        let size = features.clamp(64, FIRST_SLOTS).next_power_of_two();
        self.clear(size);
    }

    /// Counts more features of the document that was [started](Self::start) last: as many as their size hint allows, at most
    /// [`STRIDE`]. Further ones are not counted. Expected linear time.
    #[inline]
    pub(crate) fn add(&mut self, features: impl Iterator<Item = F>) {
        let most = features.size_hint().1.unwrap_or(STRIDE).min(STRIDE);
        let room = self.distinct + most;
        if room * 2 > self.size {
            self.grow((room * 2).next_power_of_two());
        }
        if room >= self.features.len() {
            self.features.resize(room + 1, F::default());
            self.counts.resize(room + 1, 0);
        }
        let slots = &mut self.slots[..self.size];
        let (list, counts) = (self.features.as_mut_slice(), self.counts.as_mut_slice());
        let (mask, secrets) = (slots.len() - 1, self.secrets);
        let mut next = self.distinct;
        for feature in features.take(most) {
            list[next] = feature;
            counts[next] = 0;
            let mut index = feature.product_hash(secrets) as usize;
            loop {
                let slot = &mut slots[index & mask];
                let new = *slot == 0;
                let number = if new { next } else { *slot as usize - 1 };
                // At most half of the slots are in use, so the search ends.
                if list[number] == feature {
                    *slot = number as u32 + 1;
                    counts[number] += 1;
                    next += usize::from(new);
                    break;
                }
                index += 1;
            }
        }
        self.distinct = next;
    }

    /// Empties the table and sets its size to `size` slots.
    fn clear(&mut self, size: usize) {
        self.size = size;
        if self.slots.len() < size {
            self.slots.resize(size, 0);
        }
        self.slots[..size].fill(0);
    }

    /// Moves the features of the document to a table of `size` slots.
    fn grow(&mut self, size: usize) {
        self.clear(size);
        let mask = size - 1;
        for (feature, number) in self.features[..self.distinct].iter().zip(1..) {
            let mut index = feature.product_hash(self.secrets) as usize & mask;
            while self.slots[index] != 0 {
                index = (index + 1) & mask;
            }
            self.slots[index] = number;
        }
    }

    /// Replaces all but the first `kept` elements of `features` and `counts` by the features of the document and their counts,
    /// those with equal small counts next to one another.
    pub(crate) fn sorted(&self, kept: usize, features: &mut Vec<ShortFeature>, counts: &mut Vec<u32>) {
        let class = |count: u32| (count as usize).min(SORTED_COUNTS);
        let mut ends = [0usize; SORTED_COUNTS + 1];
        for &count in self.counts() {
            ends[class(count)] += 1;
        }
        let mut sum = kept;
        for end in &mut ends {
            sum += std::mem::replace(end, sum);
        }
        features.resize(sum, ShortFeature::default());
        counts.resize(sum, 0);
        for (&feature, &count) in self.features().iter().zip(self.counts()) {
            // In bounds: each class has as many positions as features.
            let end = &mut ends[class(count)];
            features[*end] = feature.into();
            counts[*end] = count;
            *end += 1;
        }
    }
}

#[cfg(test)]
mod tests;
