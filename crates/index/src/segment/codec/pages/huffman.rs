//! Canonical Huffman codes of bounded length.
//!
//! Symbols are numbers below 128. Lengths come from a histogram by package-merge (Larmore and Hirschberg 1990), optimal
//! among codes of at most [`MAX_LENGTH`] bits; codes are assigned in the order of (length, symbol), so that only the
//! lengths are stored. A code's first bit is its most significant one and comes first in the bit string. Encoding and
//! decoding are one table access each.
//!
//! A set of lengths is valid if the codes fill all bit strings, or if it has one symbol with length 1, or no symbol.

/// The maximum length of a code in bits. The table of a decoder then takes 4 KiB, and the bound costs a few hundredths
/// of a bit per row.
pub(in crate::segment) const MAX_LENGTH: u32 = 11;
/// The number of bits of a table entry that contain the length of the code.
const LENGTH_BITS: u32 = 4;

/// Returns the lengths of an optimal code for symbols that occur `counts` times; 0 for a symbol that does not occur.
pub(in crate::segment) fn lengths(counts: &[u64]) -> Vec<u8> {
    let mut leaves: Vec<(u64, Vec<u8>)> = (0..counts.len())
        .filter(|&symbol| counts[symbol] > 0)
        .map(|symbol| {
            let mut one = vec![0; counts.len()];
            one[symbol] = 1;
            (counts[symbol], one)
        })
        .collect();
    // Symbols with equal counts keep their order, so the code depends on the counts alone.
    leaves.sort_by_key(|&(count, _)| count);
    if let [(_, one)] = &leaves[..] {
        return one.clone();
    }
    let mut packages = leaves.clone();
    for _ in 1..MAX_LENGTH {
        let pairs = packages.chunks_exact(2).map(|pair| {
            let sum = pair[0].1.iter().zip(&pair[1].1).map(|(a, b)| a + b);
            (pair[0].0 + pair[1].0, sum.collect())
        });
        packages = leaves.iter().cloned().chain(pairs).collect();
        packages.sort_by_key(|&(count, _)| count);
    }
    let taken = (2 * leaves.len()).saturating_sub(2);
    let mut lengths = vec![0; counts.len()];
    for (_, symbols) in packages.iter().take(taken) {
        for (length, &more) in lengths.iter_mut().zip(symbols) {
            *length += more;
        }
    }
    lengths
}

/// Returns the code of each symbol, with the first bit of the code as the lowest bit; `None` if the lengths do not form
/// a code.
pub(in crate::segment) fn codes(lengths: &[u8]) -> Option<Vec<u16>> {
    let used = lengths.iter().filter(|&&length| length > 0);
    let longest = used.clone().max().copied().unwrap_or(0);
    if u32::from(longest) > MAX_LENGTH {
        return None;
    }
    let filled: u64 = used
        .clone()
        .map(|&length| 1 << (MAX_LENGTH - u32::from(length)))
        .sum();
    let lonely = used.count() <= 1 && longest <= 1;
    if filled != 1 << MAX_LENGTH && !lonely {
        return None;
    }
    let mut codes = vec![0; lengths.len()];
    let mut next = 0u32;
    for length in 1..=longest {
        next <<= 1;
        for (code, _) in codes.iter_mut().zip(lengths).filter(|&(_, &of)| of == length) {
            *code = (next as u16).reverse_bits() >> (16 - u32::from(length));
            next += 1;
        }
    }
    Some(codes)
}

/// Decodes symbols, each by one access to a table.
#[derive(Debug)]
pub(super) struct Decoder {
    /// For each value of the next bits: the symbol whose code they begin with, and the length of the code. The length
    /// is 0 if they begin with no code.
    table: Box<[u16; 1 << MAX_LENGTH]>,
}

impl Decoder {
    /// Creates a decoder from the lengths of the codes; `None` if the lengths do not form a code. Symbols are below
    /// 2¹².
    pub(super) fn new(lengths: &[u8]) -> Option<Self> {
        let codes = codes(lengths)?;
        let mut table = Box::new([0; 1 << MAX_LENGTH]);
        for ((symbol, &length), &code) in (0u16..).zip(lengths).zip(&codes) {
            if length > 0 {
                let entry = symbol << LENGTH_BITS | u16::from(length);
                let same = table.iter_mut().skip(code.into()).step_by(1 << length);
                same.for_each(|slot| *slot = entry);
            }
        }
        Some(Self { table })
    }

    /// Returns the symbol whose code the low bits of `bits` begin with, and the length of the code. The length is 0 if
    /// they begin with no code.
    #[inline]
    pub(super) fn read(&self, bits: u64) -> (u32, u32) {
        let entry = u32::from(self.table[bits as usize % (1 << MAX_LENGTH)]);
        (entry >> LENGTH_BITS, entry & ((1 << LENGTH_BITS) - 1))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The bits of an optimal code of unbounded length, by repeatedly joining the two rarest symbols.
    fn unbounded(counts: &[u64]) -> u64 {
        let mut remaining: Vec<u64> = counts.iter().copied().filter(|&count| count > 0).collect();
        if remaining.len() == 1 {
            return remaining[0];
        }
        let mut bits = 0;
        while remaining.len() > 1 {
            remaining.sort_unstable_by(|a, b| b.cmp(a));
            let joined = remaining.pop().unwrap() + remaining.pop().unwrap();
            bits += joined;
            remaining.push(joined);
        }
        bits
    }

    fn cost(counts: &[u64], lengths: &[u8]) -> u64 {
        counts.iter().zip(lengths).map(|(n, &l)| n * u64::from(l)).sum()
    }

    proptest! {
        #[test]
        fn codes_are_decoded_and_close_to_optimal(counts in prop::collection::vec(prop_oneof![0u64..3, 0u64..100, 0u64..1 << 40], 0..=128)) {
            let lengths = lengths(&counts);
            let codes = codes(&lengths).unwrap();
            let decoder = Decoder::new(&lengths).unwrap();
            for (symbol, &count) in counts.iter().enumerate() {
                let length = u32::from(lengths[symbol]);
                prop_assert_eq!(count > 0, length > 0);
                if count > 0 {
                    for noise in [0, u64::MAX, 0x5555_5555_5555_5555] {
                        let bits = noise << length | u64::from(codes[symbol]);
                        prop_assert_eq!(decoder.read(bits), (symbol as u32, length));
                    }
                }
            }
            let best = unbounded(&counts);
            prop_assert!(cost(&counts, &lengths) >= best);
            if counts.iter().filter(|&&count| count > 0).count() <= 12 {
                // With so few symbols, the limit of the code length has no effect.
                prop_assert_eq!(cost(&counts, &lengths), best);
            }
        }

        #[test]
        fn lengths_that_are_not_a_code_are_refused(lengths in prop::collection::vec(prop_oneof![0u8..4, 0u8..=15, any::<u8>()], 0..=128)) {
            let sum: f64 = lengths.iter().filter(|&&l| l > 0).map(|&l| (-f64::from(l)).exp2()).sum();
            let used = lengths.iter().filter(|&&l| l > 0).count();
            let short = lengths.iter().all(|&l| u32::from(l) <= MAX_LENGTH);
            let full = sum.to_bits() == 1f64.to_bits();
            let right = short && (full || used == 0 || (used == 1 && lengths.contains(&1)));
            prop_assert_eq!(Decoder::new(&lengths).is_some(), right);
        }
    }

    #[test]
    fn codes_of_skewed_counts_stay_within_the_length_limit() {
        let counts: Vec<u64> = (0..40).map(|i| 1 << i).collect();
        let lengths = lengths(&counts);
        assert_eq!(lengths.iter().max(), Some(&(MAX_LENGTH as u8)));
        assert!(codes(&lengths).is_some());
        let total: u64 = counts.iter().sum();
        assert!(cost(&counts, &lengths) - unbounded(&counts) <= total / 20);
    }
}
