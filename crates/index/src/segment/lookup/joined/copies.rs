//! Copies of queries, each next to the others that are compared with the same bucket.
//!
//! A query is compared with the buckets of all prefixes near its own. If it were looked up in its list for each of
//! them, most lists would have one query or none, and finding them would take longer than the comparisons. So queries
//! are copied to all prefixes near theirs, for one *block* of consecutive prefixes at a time: the copies of a block are
//! counted, and then written in place, while they fit the second-level cache.
//!
//! Lists of at least [`LARGE_LIST`] queries are not copied, but compared where they are.

use std::ops::Range;

use twinprint_fingerprint::Width;

use super::super::arrangement::Arrangement;

/// The minimum number of queries of a list that is not copied.
const LARGE_LIST: usize = 64;
/// The number of copies that a block should have.
const BLOCK_COPIES: usize = 1 << 16;
/// The maximum number of copies of a block of more than one prefix.
const MAX_COPIES: usize = 1 << 20;

/// Consecutive prefixes: those whose number is `first` but for the lowest `bits` bits, which are 0 in `first`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) first: u32,
    pub(super) bits: u32,
}

impl Block {
    /// The prefixes, ascending.
    pub(super) fn prefixes(self) -> Range<u32> {
        self.first..self.first + (1 << self.bits)
    }

    /// The two halves of a block of more than one prefix, the later one first.
    pub(super) fn halves(self) -> [Self; 2] {
        let bits = self.bits - 1;
        [self.first | 1 << bits, self.first].map(|first| Self { first, bits })
    }
}

/// The flips that have the same bits above those of a block.
#[derive(Debug)]
struct FlipGroup {
    high: u32,
    low: Vec<u32>,
}

/// The compared bits of queries, in their order and as copies for the prefixes of a block.
#[derive(Debug, Default)]
pub(crate) struct Copies<C> {
    /// The compared bits of each query, in the order of the arrangement.
    pub(super) queries: Vec<C>,
    /// For each prefix, the number of queries in its list, or 0 if the list is large.
    lengths: Vec<u8>,
    /// The prefixes of large lists, ascending.
    large: Vec<u32>,
    /// For each prefix of the block, its first copy, and the number of copies.
    starts: Vec<u32>,
    /// The place of the next copy for each prefix.
    next: Vec<u32>,
    pub(super) copied: Vec<C>,
    /// The position of each copy's query in the arrangement.
    pub(super) slots: Vec<u32>,
}

impl<C: Width> Copies<C> {
    /// Takes queries arranged by prefixes of `bits` bits, with the bits that are compared.
    pub(super) fn take<W: Width>(
        &mut self,
        arranged: &Arrangement<W>,
        bits: u32,
        compared: impl Iterator<Item = C>,
    ) {
        self.queries.clear();
        self.queries.extend(compared);
        self.lengths.clear();
        self.large.clear();
        for prefix in 0..1u32 << bits {
            let length = arranged.list(prefix).len();
            if length >= LARGE_LIST {
                self.large.push(prefix);
            }
            self.lengths
                .push(if length >= LARGE_LIST { 0 } else { length as u8 });
        }
    }

    /// Returns the number of bits of the blocks into which prefixes of `bits` bits are divided.
    pub(super) fn block_bits(&self, bits: u32, flips: &[u32]) -> u32 {
        let copies = self.queries.len() * flips.len();
        let blocks = (copies / BLOCK_COPIES).max(1);
        bits.saturating_sub(blocks.next_power_of_two().ilog2())
    }

    /// Counts the copies for every prefix of a block. Returns false if they are too many: then the halves of the block
    /// must be filled one after the other.
    pub(super) fn count(&mut self, block: Block, flips: &[u32]) -> bool {
        let prefixes = 1usize << block.bits;
        self.starts.clear();
        self.starts.resize(prefixes + 1, 0);
        for flip in flips {
            let (of_block, low) = (
                block.first ^ (flip >> block.bits << block.bits),
                flip & (prefixes as u32 - 1),
            );
            let lengths = &self.lengths[of_block as usize..][..prefixes];
            for (i, count) in (0u32..).zip(&mut self.starts[..prefixes]) {
                *count += u32::from(lengths[(i ^ low) as usize]);
            }
        }
        let mut sum = 0;
        for start in &mut self.starts {
            sum += std::mem::replace(start, sum);
        }
        sum as usize <= MAX_COPIES || block.bits == 0
    }

    /// Writes the copies that [`count`](Self::count) has counted. `below` is the number of address bits below a prefix.
    pub(super) fn fill<W: Width>(
        &mut self,
        arranged: &Arrangement<W>,
        block: Block,
        flips: &[u32],
        below: u32,
    ) {
        let copies = self.starts.last().map_or(0, |&copies| copies as usize);
        if self.copied.len() < copies {
            self.copied.resize(copies, C::default());
            self.slots.resize(copies, 0);
        }
        self.next.clone_from(&self.starts);
        let mask = (1u32 << block.bits) - 1;
        for group in groups(flips, block.bits) {
            let from = block.first ^ group.high;
            let slots = arranged.list(from).start..arranged.list(from | mask).end;
            for slot in slots {
                let prefix = arranged.addresses[slot] >> below;
                if self.lengths[prefix as usize] == 0 {
                    continue;
                }
                let query = self.queries[slot];
                for &low in &group.low {
                    let next = &mut self.next[((prefix & mask) ^ low) as usize];
                    let at = *next as usize;
                    *next += 1;
                    self.copied[at] = query;
                    self.slots[at] = slot as u32;
                }
            }
        }
    }

    /// Returns the positions of the copies for the prefix at position `i` of the block.
    #[inline]
    pub(super) fn of(&self, i: usize) -> Range<usize> {
        self.starts[i] as usize..self.starts[i + 1] as usize
    }

    /// Returns the large lists whose queries are compared with the bucket of a prefix, as positions in the arrangement.
    #[inline]
    pub(super) fn large_near<W: Width>(
        &self,
        arranged: &Arrangement<W>,
        prefix: u32,
        flips: &[u32],
        radius: u32,
    ) -> Vec<Range<usize>> {
        if self.large.len() <= flips.len() {
            let near = self
                .large
                .iter()
                .filter(|&&large| (large ^ prefix).count_ones() <= radius);
            near.map(|&large| arranged.list(large)).collect()
        } else {
            let near = flips.iter().map(|flip| arranged.list(prefix ^ flip));
            near.filter(|list| list.len() >= LARGE_LIST).collect()
        }
    }
}

/// Divides flips into groups with the same bits from bit `bits` on.
fn groups(flips: &[u32], bits: u32) -> Vec<FlipGroup> {
    let mask = (1u32 << bits) - 1;
    let mut flips = flips.to_vec();
    flips.sort_unstable();
    let of_high = flips.chunk_by(|a, b| a & !mask == b & !mask);
    of_high
        .map(|flips| FlipGroup {
            high: flips[0] & !mask,
            low: flips.iter().map(|flip| flip & mask).collect(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flips;
    use crate::random::Random;
    use crate::segment::order::Order;

    /// Every prefix has the copies and large lists of exactly the queries near it, in blocks of any size.
    #[test]
    fn every_prefix_has_the_queries_near_it() {
        let (bits, address_bits) = (6, 10);
        let mut random = Random(3);
        let mut queries: Vec<u64> = (0..700).map(|_| random.next()).collect();
        // Some lists are large.
        queries.iter_mut().step_by(3).for_each(|query| *query >>= 8);
        let order = Order::<u64>::new(u128::from(!0u64 << 54), address_bits);
        let mut arranged = Arrangement::default();
        arranged.sort(&queries, &order, bits);
        let below = address_bits - bits;
        let mut copies = Copies::<u32>::default();
        copies.take(&arranged, bits, arranged.rests.iter().map(|&rest| rest as u32));
        assert!(!copies.large.is_empty() && copies.large.len() < 64);
        for radius in 0..=2 {
            let flips = flips::ball(bits, radius);
            for block_bits in 0..=bits {
                for first in (0..1u32 << bits).step_by(1 << block_bits) {
                    let block = Block {
                        first,
                        bits: block_bits,
                    };
                    assert!(copies.count(block, &flips));
                    copies.fill(&arranged, block, &flips, below);
                    for i in 0..1 << block_bits {
                        let prefix = first + i;
                        let range = copies.of(i as usize);
                        let mut found = copies.slots[range.clone()].to_vec();
                        for (&copy, &slot) in copies.copied[range].iter().zip(&found) {
                            assert_eq!(copy, arranged.rests[slot as usize] as u32);
                        }
                        let large = copies.large_near(&arranged, prefix, &flips, radius);
                        found.extend(large.into_iter().flatten().map(|slot| slot as u32));
                        found.sort_unstable();
                        let near = |&slot: &u32| {
                            (arranged.addresses[slot as usize] >> below ^ prefix).count_ones() <= radius
                        };
                        assert!(found.into_iter().eq((0..700).filter(near)));
                    }
                }
            }
        }
    }
}
