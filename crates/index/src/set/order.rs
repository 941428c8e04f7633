//! A global order of tokens, rare ones first, from approximate counts.

use std::sync::atomic::{AtomicU16, Ordering};

use super::place::{element, table_bits};

/// The smallest and the largest number of counters, as powers of two: 128 KiB and 256 MiB.
const COUNTER_BITS: [u32; 2] = [16, 27];

/// The number of counted tokens for each counter, up to the largest number of counters.
const TOKENS_PER_COUNTER: u64 = 2;

/// The largest count that readers see. Counters stop there, but each thread that checks a counter at the same time may add a few
/// more. Half of the range is left for them, which is enough for a thousand threads.
const MAX_COUNT: u16 = u16::MAX / 2;

/// The number of tokens whose counters are checked before they are added to.
const COUNTED_AT_A_TIME: usize = 16;

/// Approximate token frequencies in an array of counters, and the total order of tokens by (count, token).
///
/// Tokens that share a counter are counted together, which only makes them appear more frequent. With far more tokens
/// than counters, rare tokens would all appear equally frequent. So the number of counters follows the number of
/// tokens.
///
/// Counting is commutative: the order depends on what was counted, not on when or by which thread. A prefix index is
/// correct with any order that is the same for all sets, so count all tokens first, and sort prefixes then.
///
/// ```
/// use twinprint_index::TokenOrder;
///
/// let order = TokenOrder::new(4);
/// order.count(&[1, 2]);
/// order.count(&[1, 3]);
/// let mut rarest = Vec::new();
/// order.sort_prefix(&[1, 2], 1, &mut rarest);
/// assert_eq!(rarest, [2]);
/// ```
#[derive(Debug)]
pub struct TokenOrder {
    /// A power of two of counters.
    counters: Box<[AtomicU16]>,
}

impl TokenOrder {
    /// Creates an order in which all counts are zero. About `tokens` tokens will be counted, repeats included. The
    /// number decides the memory, one byte for each token up to 256 MiB, and how well rare tokens are told apart.
    pub fn new(tokens: u64) -> Self {
        Self {
            counters: (0..Self::counters_for(tokens))
                .map(|_| AtomicU16::new(0))
                .collect(),
        }
    }

    fn counters_for(tokens: u64) -> usize {
        1 << table_bits(tokens / TOKENS_PER_COUNTER + 1, COUNTER_BITS)
    }

    /// The memory that the counters of an order for about `tokens` tokens take, in bytes.
    pub fn bytes_for(tokens: u64) -> usize {
        Self::counters_for(tokens) * size_of::<AtomicU16>()
    }

    /// The memory of the counters in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.counters)
    }

    fn counter(&self, token: u64) -> &AtomicU16 {
        // In bounds: an element is below the number of counters.
        &self.counters[element(token, self.counters.len().trailing_zeros())]
    }

    /// Adds one to the count of each of the tokens.
    pub fn count(&self, tokens: &[u64]) {
        for tokens in tokens.chunks(COUNTED_AT_A_TIME) {
            // Additions wait for one another, each for its counter to come from memory. Loads do not, so they come first.
            let mut counts = [MAX_COUNT; COUNTED_AT_A_TIME];
            for (count, &token) in counts.iter_mut().zip(tokens) {
                *count = self.counter(token).load(Ordering::Relaxed);
            }
            for (count, &token) in counts.iter().zip(tokens) {
                if *count < MAX_COUNT {
                    self.counter(token).fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    /// Returns the approximate count of a token. It is never below the true count, up to the limit of 2¹⁵ − 1.
    pub fn frequency(&self, token: u64) -> u32 {
        u32::from(self.counter(token).load(Ordering::Relaxed).min(MAX_COUNT))
    }

    /// Returns an upper bound of the number of `tokens` that another counted set has, if they are of a counted set
    /// themselves.
    pub fn most_shared(&self, tokens: &[u64]) -> usize {
        tokens.iter().filter(|&&token| self.frequency(token) > 1).count()
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
