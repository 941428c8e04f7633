//! A pseudorandom generator, SplitMix64 (Steele, Lea, Flood 2014): the same numbers for a seed on every machine.

/// The state of the generator. Any seed is good.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`, or 0 for `n` = 0.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    /// `count` of the `bits` lowest bits, as a mask; all of them if there are no more.
    pub(crate) fn subset(&mut self, bits: u32, count: u32) -> u128 {
        let all = if bits < 128 { (1 << bits) - 1 } else { u128::MAX };
        // Of many bits, the few that are left out are drawn.
        let drawn = count.min(bits).min(bits.saturating_sub(count));
        let mut subset = 0u128;
        while subset.count_ones() < drawn {
            subset |= 1 << self.below(u64::from(bits));
        }
        if drawn < count.min(bits) {
            all & !subset
        } else {
            subset
        }
    }
}
