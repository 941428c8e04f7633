//! The inverted index over prefixes.
//!
//! 1024 shards by the token's leading mixed bits, each growing by itself, so that no growth copies more than one shard. A
//! shard is a list of postings of 12 bytes (tag, document, next posting with the same tag) and an open-addressed table of
//! posting numbers, 4 bytes a slot, with one slot for each distinct tag. The tag is 32 further bits of the mixed token: a
//! stranger shares shard and tag with probability 2⁻⁴², and then costs one needless candidate, never a lost one.

/// log₂ of the number of shards.
const SHARD_BITS: u32 = 10;
const NONE: u32 = u32::MAX;

/// Finds all sets at Jaccard ≥ threshold among those inserted, as candidates by shared prefix token; see the module
/// [`set`](crate::set).
#[derive(Clone, Debug)]
pub struct PrefixIndex {
    threshold: f64,
    shards: Vec<Shard>,
    /// (id, size) of each insertion.
    documents: Vec<(u32, u32)>,
}

#[derive(Clone, Debug, Default)]
struct Shard {
    postings: Vec<Posting>,
    /// Number of the newest posting of each tag, open-addressed by the tag; a power of two of them.
    slots: Vec<u32>,
    tags: usize,
}

#[derive(Clone, Copy, Debug)]
struct Posting {
    tag: u32,
    document: u32,
    /// The next older posting of the same tag.
    next: u32,
}

impl Shard {
    /// The slot of `tag`: the one that holds it, or the empty one where it belongs. `None` without slots.
    fn find(&self, tag: u32) -> Option<usize> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut slot = tag as usize & mask;
        // Ends: the load is kept below one.
        while self.slots[slot] != NONE && self.postings[self.slots[slot] as usize].tag != tag {
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
            // An eighth at a time: at most that much is idle.
            self.postings.reserve_exact(self.postings.len() / 8 + 8);
        }
        self.tags += usize::from(self.slots[slot] == NONE);
        let next = std::mem::replace(&mut self.slots[slot], self.postings.len() as u32);
        self.postings.push(Posting { tag, document, next });
    }

    fn grow(&mut self) {
        let heads: Vec<u32> = self.slots.iter().copied().filter(|&head| head != NONE).collect();
        self.slots = vec![NONE; (self.slots.len() * 2).max(8)];
        for head in heads {
            if let Some(slot) = self.find(self.postings[head as usize].tag) {
                self.slots[slot] = head;
            }
        }
    }

    /// The documents of a tag, newest first.
    fn documents(&self, tag: u32) -> impl Iterator<Item = u32> + '_ {
        let mut at = self.find(tag).map_or(NONE, |slot| self.slots[slot]);
        std::iter::from_fn(move || {
            let posting = self.postings.get(at as usize)?;
            at = posting.next;
            Some(posting.document)
        })
    }
}

/// Shard and tag of a token, from a mixture of all its bits.
fn place(token: u64) -> (usize, u32) {
    let mut x = token;
    x = (x ^ (x >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    x = (x ^ (x >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    ((x >> (64 - SHARD_BITS)) as usize, (x >> 16) as u32)
}

impl PrefixIndex {
    /// An empty index for a Jaccard threshold. Values outside (0, 1] are taken to the nearest end: at or below 0 (and for
    /// NaN) every set sharing any token is a candidate, above 1 only sets of equal size.
    pub fn new(threshold: f64) -> Self {
        let threshold = if threshold > 0.0 { threshold.min(1.0) } else { 0.0 };
        Self {
            threshold,
            shards: vec![Shard::default(); 1 << SHARD_BITS],
            documents: Vec::new(),
        }
    }

    /// The least overlap a set of `size` tokens needs, ⌈t·size⌉, on the safe side of rounding.
    fn least_overlap(&self, size: usize) -> usize {
        // t and the product are each off by at most one part in 2⁵²; one in 10¹² more than covers a caller's own division.
        (self.threshold * size as f64 * (1.0 - 1e-12)).ceil() as usize
    }

    /// How many of a set's `size` tokens make its prefix: size − ⌈t·size⌉ + 1, at most all of them. 0 for the empty set,
    /// which has no token to be found by: callers match empty sets with one another directly.
    pub fn prefix_len(&self, size: usize) -> usize {
        (size + 1).saturating_sub(self.least_overlap(size)).min(size)
    }

    /// Adds a set of `size` distinct tokens by its prefix: the first [`PrefixIndex::prefix_len`] tokens in the global order.
    /// Amortised O(prefix).
    ///
    /// # Panics
    /// With 2³² − 1 sets or more, which a posting cannot name.
    pub fn insert(&mut self, id: u32, size: u32, prefix: &[u64]) {
        let document = u32::try_from(self.documents.len()).unwrap_or(NONE);
        assert!(document != NONE, "a prefix index holds fewer than 2^32 - 1 sets");
        self.documents.push((id, size));
        for &token in prefix {
            let (shard, tag) = place(token);
            self.shards[shard].insert(tag, document);
        }
    }

    /// The ids of inserted sets that share a prefix token and whose size allows Jaccard ≥ threshold, distinct and
    /// ascending. Clears `out`. O(postings of the prefix's tokens).
    pub fn probe(&self, size: u32, prefix: &[u64], out: &mut Vec<u32>) {
        out.clear();
        for &token in prefix {
            let (shard, tag) = place(token);
            out.extend(self.shards[shard].documents(tag).filter_map(|document| {
                let &(id, other) = self.documents.get(document as usize)?;
                let (small, large) = (size.min(other), size.max(other));
                (small as usize >= self.least_overlap(large as usize)).then_some(id)
            }));
        }
        out.sort_unstable();
        out.dedup();
    }

    /// Sets inserted.
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Whether nothing was inserted.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let shard = |s: &Shard| s.postings.capacity() * size_of::<Posting>() + s.slots.capacity() * 4;
        self.documents.capacity() * 8
            + self.shards.len() * size_of::<Shard>()
            + self.shards.iter().map(shard).sum::<usize>()
    }
}
