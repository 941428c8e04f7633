//! The order in which many queries probe one table, so that the rows they touch are still cached when they are touched
//! again.
//!
//! Queries are sorted by the leading bits of their address. The queries with the same leading bits are a *stretch*: the
//! rows of a stretch are contiguous, and so are those of its flips. A flip of a bit below the leading ones stays inside
//! the stretch, and a flip of a leading bit goes to another stretch. The leading bits are divided into groups of a few
//! bits, and there is one *pass* over the queries for each group. A pass makes the flips of its group, and visits the
//! stretches so that the bits of its group change fastest. So the stretches that a pass goes back and forth between fit
//! the second-level cache, and each pass reads the table once, however many bits it flips.

use std::ops::Range;

use twinprint_fingerprint::Width;

use crate::segment::order::Order;

/// The minimum number of queries that are sorted. Sorting fewer is not worth its cost.
const MIN_SORTED_QUERIES: usize = 2048;
/// log₂ of the maximum number of stretches.
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
pub(super) struct Pass {
    pub(super) flips: Vec<u32>,
    low: u32,
    high: u32,
}

impl<W: Width> Arrangement<W> {
    /// Arranges queries for a table. Few queries stay in their order.
    pub(super) fn arrange(&mut self, queries: &[W], order: &Order<W>) {
        let bits = if queries.len() < MIN_SORTED_QUERIES {
            0
        } else {
            order.address_bits().min(STRETCH_BITS)
        };
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

    /// Whether the queries are sorted.
    pub(super) fn is_sorted(&self) -> bool {
        self.starts.len() > 2
    }

    /// Divides flips into passes, for a table of `bytes` bytes.
    pub(super) fn passes(&self, flips: &[u32], bytes: usize) -> Vec<Pass> {
        let stretches = self.starts.len() - 1;
        let bits = stretches.ilog2();
        let cached = (CACHED_BYTES * stretches / bytes.max(1)).max(2).ilog2();
        let mut passes = Vec::new();
        let mut low = 0;
        loop {
            let high = (low + cached).min(bits);
            let made = |flip: u32| {
                let leading = u64::from(flip) >> self.shift;
                if high == bits { leading >> low > 0 || low == 0 } else { leading >> high == 0 && (low == 0 || leading >> low > 0) }
            };
            let flips: Vec<u32> = flips.iter().copied().filter(|&flip| made(flip)).collect();
            if !flips.is_empty() {
                passes.push(Pass { flips, low, high });
            }
            if high == bits {
                return passes;
            }
            low = high;
        }
    }

    /// The number of stretches.
    pub(super) fn stretches(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the queries of the stretch that a pass visits as number `i`.
    pub(super) fn stretch(&self, pass: &Pass, i: usize) -> Range<usize> {
        let (low, high) = (pass.low, pass.high);
        let (fast, rest) = (i & ((1 << (high - low)) - 1), i >> (high - low));
        let stretch = rest >> low << high | fast << low | rest & ((1 << low) - 1);
        self.starts[stretch] as usize..self.starts[stretch + 1] as usize
    }
}
