//! A pseudorandom generator, SplitMix64 (Steele, Lea, Flood 2014): the same numbers for a seed on every machine.

/// The state of the generator. Any seed is good.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates a generator from a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`, or 0 for `n` = 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % (n as u64).max(1)) as usize
    }

    /// A number from 0 to 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number with the standard normal distribution, nearly: the sum of twelve uniform ones.
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }

    /// `count` of the 64 bits.
    pub fn flips(&mut self, count: u32) -> u64 {
        let mut bits = 0u64;
        while bits.count_ones() < count.min(64) {
            bits |= 1 << (self.bits() & 63);
        }
        bits
    }

    /// `n` uniform fingerprints.
    pub fn rows(&mut self, n: usize) -> Vec<u64> {
        (0..n).map(|_| self.bits()).collect()
    }
}
