//! A lower bound of the number of distinct tokens, without sorting them.

use super::place::element;

/// log₂ of the number of bits of the bitmap, which takes 1 KiB.
const BITS: u32 = 13;
const WORDS: usize = 1 << (BITS - u64::BITS.ilog2());

/// Returns a lower bound of the number of distinct `tokens`: the number of bits that they set in a bitmap. It is close while
/// the tokens are far fewer than 8192. O(tokens).
///
/// ```
/// use twinprint_index::least_distinct;
///
/// assert_eq!(least_distinct(&[7, 7, 7]), 1);
/// assert!((2..=3).contains(&least_distinct(&[7, 8, 7, 9])));
/// ```
pub fn least_distinct(tokens: &[u64]) -> usize {
    let mut bitmap = [0u64; WORDS];
    for &token in tokens {
        let bit = element(token, BITS);
        // In bounds: an element is below the number of bits.
        bitmap[bit / 64] |= 1 << (bit % 64);
    }
    bitmap.iter().map(|word| word.count_ones() as usize).sum()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn is_at_most_the_number_of_distinct_tokens(
            tokens in prop::collection::vec(prop_oneof![any::<u64>(), 0u64..50], 0..3000),
        ) {
            let distinct = tokens.iter().collect::<HashSet<_>>().len();
            let least = least_distinct(&tokens);
            prop_assert!(least <= distinct);
            prop_assert!(least * 5 >= distinct * 4, "{least} of {distinct}");
        }
    }
}
