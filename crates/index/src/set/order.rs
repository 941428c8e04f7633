//! A global order of tokens, rare ones first, from approximate counts.

use std::sync::atomic::{AtomicU32, Ordering};

/// The number of counters. Tokens that share a counter are counted together, which only makes them appear more
/// frequent.
const MAX_COUNTERS: usize = 1 << 22;

/// The largest count that readers see. Counters stop there, but threads that check a counter at the same time may each
/// add one more. Half of the range is left for them, which is more than there can be threads.
const MAX_COUNT: u32 = u32::MAX / 2;

/// Approximate token frequencies in a fixed array of 2²² counters (16 MiB), and the total order of tokens by (count,
/// token).
///
/// Counting is commutative: the order depends on what was counted, not on when or by which thread. A prefix index is
/// correct with any order that is the same for all sets, so count all tokens first, and sort prefixes then.
///
/// ```
/// use twinprint_index::TokenOrder;
///
/// let order = TokenOrder::new();
/// order.count(&[1, 2]);
/// order.count(&[1, 3]);
/// let mut rarest = Vec::new();
/// order.sort_prefix(&[1, 2], 1, &mut rarest);
/// assert_eq!(rarest, [2]);
/// ```
#[derive(Debug)]
pub struct TokenOrder {
    counters: Box<[AtomicU32]>,
}

impl Default for TokenOrder {
    fn default() -> Self {
        Self::new()
    }
}

impl TokenOrder {
    /// Creates an order in which all counts are zero.
    pub fn new() -> Self {
        Self {
            counters: (0..MAX_COUNTERS).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// The memory of the counters in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.counters)
    }

    fn counter(&self, token: u64) -> &AtomicU32 {
        // The top bits of a product with an odd constant depend on all bits of the token.
        let slot = (token.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 42) as usize;
        &self.counters[slot]
    }

    /// Adds one to the count of each of the tokens.
    pub fn count(&self, tokens: &[u64]) {
        for &token in tokens {
            let counter = self.counter(token);
            if counter.load(Ordering::Relaxed) < MAX_COUNT {
                counter.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Returns the approximate count of a token. It is never below the true count, up to the limit of 2³¹ − 1.
    pub fn frequency(&self, token: u64) -> u32 {
        self.counter(token).load(Ordering::Relaxed).min(MAX_COUNT)
    }

    /// Replaces `out` by the `len` rarest of the distinct `tokens`, or by all of them if there are fewer, in the global
    /// order.
    pub fn sort_prefix(&self, tokens: &[u64], len: usize, out: &mut Vec<u64>) {
        out.clear();
        let mut keyed: Vec<(u32, u64)> = tokens.iter().map(|&t| (self.frequency(t), t)).collect();
        let len = len.min(keyed.len());
        if len == 0 {
            return;
        }
        if len < keyed.len() {
            keyed.select_nth_unstable(len - 1);
            keyed.truncate(len);
        }
        keyed.sort_unstable();
        out.extend(keyed.iter().map(|&(_, token)| token));
    }
}
