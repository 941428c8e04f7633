//! Queries sorted by the leading bits of their addresses in one table.
//!
//! For probes, this is the order in which the rows that they touch are still cached when they are touched again. For
//! joins (`joined`), it divides the queries into lists with equal leading bits.
//!
//! Queries are sorted by the leading bits of their address. The queries with the same leading bits are a *stretch*: the
//! rows of a stretch are contiguous, and so are those of its flips. A flip of a bit below the leading ones stays inside
//! the stretch, and a flip of a leading bit goes to another stretch. The leading bits are divided into groups of a few
//! bits, and there is one *pass* over the queries for each group. A pass makes the flips of its group, and visits the
//! stretches so that the bits of its group change fastest. So the stretches that a pass goes back and forth between fit
//! the second-level cache, and each pass reads the table once, however many bits it flips.

use std::borrow::Cow;
use std::ops::Range;

use twinprint_fingerprint::Width;

use crate::segment::order::Order;

/// The minimum number of queries that are sorted. Sorting fewer is not worth its cost.
const MIN_SORTED_QUERIES: usize = 2048;
/// log₂ of the maximum number of stretches for probes.
const STRETCH_BITS: u32 = 12;
/// The number of bytes of a table that a pass goes back and forth between: half of a second-level cache.
const CACHED_BYTES: usize = 1 << 19;

/// The queries of a batch, in the order in which they probe a table.
#[derive(Debug, Default)]
pub(super) struct Arrangement<W> {
    /// For each query, its number in the batch, its address, and the bits below the address.
    pub(super) numbers: Vec<u32>,
    pub(super) addresses: Vec<u32>,
    pub(super) rests: Vec<W>,
    /// The first query of each stretch, and the number of queries.
    starts: Vec<u32>,
    /// The number of address bits below those that are the number of the stretch.
    shift: u32,
}

/// One pass over the queries: the flips that it makes, and the bits of the stretch number that change fastest.
#[derive(Debug)]
pub(super) struct Pass<'f> {
    pub(super) flips: Cow<'f, [u32]>,
    low: u32,
    high: u32,
}

impl<W: Width> Arrangement<W> {
    /// Arranges queries for probes of a table. Few queries stay in their order.
    pub(super) fn arrange(&mut self, queries: &[W], order: &Order<W>) {
        let bits = if queries.len() < MIN_SORTED_QUERIES {
            0
        } else {
            order.address_bits().min(STRETCH_BITS)
        };
        self.sort(queries, order, bits);
    }

    /// Sorts queries by the leading `bits` bits of their addresses. Queries with the same leading bits stay in their
    /// order.
    pub(super) fn sort(&mut self, queries: &[W], order: &Order<W>, bits: u32) {
        self.shift = order.address_bits() - bits;
        let stretch = |address: u32| u64::from(address) >> self.shift;
        self.starts.clear();
        self.starts.resize((1 << bits) + 1, 0);
        for &query in queries {
            self.starts[stretch(order.address(order.permute(query))) as usize] += 1;
        }
        let mut sum = 0;
        for start in &mut self.starts {
            sum += std::mem::replace(start, sum);
        }
        self.numbers.resize(queries.len(), 0);
        self.addresses.resize(queries.len(), 0);
        self.rests.resize(queries.len(), W::default());
        for (number, &query) in (0u32..).zip(queries) {
            let permuted = order.permute(query);
            let address = order.address(permuted);
            let next = &mut self.starts[stretch(address) as usize];
            let at = *next as usize;
            *next += 1;
            self.numbers[at] = number;
            self.addresses[at] = address;
            self.rests[at] = order.rest(permuted);
        }
        // Each start has moved to the start of the next stretch.
        self.starts.rotate_right(1);
        self.starts[0] = 0;
    }

    /// Returns true if the queries are sorted.
    pub(super) fn is_sorted(&self) -> bool {
        self.starts.len() > 2
    }

    /// Divides flips into passes, for a table of `bytes` bytes.
    pub(super) fn passes<'f>(&self, flips: &'f [u32], bytes: usize) -> Vec<Pass<'f>> {
        let bits = self.stretches().ilog2();
        let cached = (CACHED_BYTES * self.stretches() / bytes.max(1)).max(2).ilog2();
        if cached >= bits {
            // Lookups of few queries come here, so the flips are not copied.
            let flips = Cow::Borrowed(flips);
            return vec![Pass {
                flips,
                low: 0,
                high: bits,
            }];
        }
        let mut passes = Vec::new();
        let mut low = 0;
        loop {
            let high = (low + cached).min(bits);
            // A flip belongs to the pass of its highest bit. Flips within a stretch belong to the first pass.
            let top = |flip: u32| (u64::from(flip) >> self.shift).checked_ilog2().unwrap_or(0);
            let in_pass = |&flip: &u32| top(flip) >= low && (top(flip) < high || high == bits);
            let flips: Vec<u32> = flips.iter().copied().filter(in_pass).collect();
            if !flips.is_empty() {
                let flips = Cow::Owned(flips);
                passes.push(Pass { flips, low, high });
            }
            if high == bits {
                return passes;
            }
            low = high;
        }
    }

    /// Returns the queries whose leading bits are `prefix`.
    #[inline]
    pub(super) fn list(&self, prefix: u32) -> Range<usize> {
        let prefix = prefix as usize;
        self.starts[prefix] as usize..self.starts[prefix + 1] as usize
    }

    /// The number of stretches.
    pub(super) fn stretches(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the queries of the stretch that a pass visits as number `i`.
    pub(super) fn stretch(&self, pass: &Pass<'_>, i: usize) -> Range<usize> {
        let (low, high) = (pass.low, pass.high);
        let (fast, rest) = (i & ((1 << (high - low)) - 1), i >> (high - low));
        let stretch = rest >> low << high | fast << low | rest & ((1 << low) - 1);
        self.starts[stretch] as usize..self.starts[stretch + 1] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flips;
    use crate::random::Random;

    fn arranged(queries: &[u64], address_bits: u32) -> Arrangement<u64> {
        let mut arrangement = Arrangement::default();
        arrangement.arrange(queries, &Order::new(u128::from(!0u64 << 20), address_bits));
        arrangement
    }

    #[test]
    fn every_query_is_in_one_stretch_of_every_pass_and_every_flip_in_one_pass() {
        let mut random = Random(1);
        for count in [0, 1, 2047, 2048, 10_000] {
            let queries: Vec<u64> = (0..count).map(|_| random.next()).collect();
            for address_bits in [1, 5, 12, 13, 22] {
                let arrangement = arranged(&queries, address_bits);
                assert_eq!(arrangement.is_sorted(), count >= MIN_SORTED_QUERIES);
                let order = Order::<u64>::new(u128::from(!0u64 << 20), address_bits);
                for (at, &number) in arrangement.numbers.iter().enumerate() {
                    let permuted = order.join(arrangement.addresses[at], arrangement.rests[at]);
                    assert_eq!(order.restore(permuted), queries[number as usize]);
                }
                let ball = flips::ball(address_bits, 2);
                for bytes in [0, 1 << 20, 50 << 20, 1 << 31] {
                    let passes = arrangement.passes(&ball, bytes);
                    let mut flips: Vec<u32> = passes.iter().flat_map(|pass| pass.flips.to_vec()).collect();
                    flips.sort_unstable();
                    assert_eq!(flips, ball, "{address_bits} bits, {bytes} bytes");
                    for pass in &passes {
                        let stretches = (0..arrangement.stretches()).map(|i| arrangement.stretch(pass, i));
                        let mut slots: Vec<usize> = stretches.flatten().collect();
                        slots.sort_unstable();
                        assert!(slots.into_iter().eq(0..count));
                    }
                }
            }
        }
    }
}
