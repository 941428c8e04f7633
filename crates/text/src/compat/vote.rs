//! The vote of features for each bit, as other libraries compute it. The libraries differ in the threshold for a 1.

/// One sum for each bit: the weights of the hashes in which the bit is 1, minus the weights of the hashes in which it
/// is 0. The order of the hashes matters if weights have fractions, because the sums are floating-point numbers. Sums
/// of counts are exact.
pub(super) struct BitSums([f64; 64]);

impl BitSums {
    pub(super) fn new() -> Self {
        Self([0.0; 64])
    }

    /// Adds the votes of a hash.
    pub(super) fn add(&mut self, hash: u64, weight: f64) {
        for (bit, sum) in self.0.iter_mut().enumerate() {
            *sum += if hash >> bit & 1 == 1 { weight } else { -weight };
        }
    }

    /// A number in which a bit is 1 if `is_set` returns true for the sum of this bit.
    pub(super) fn bits(&self, is_set: impl Fn(f64) -> bool) -> u64 {
        let bits = self.0.iter().enumerate();
        bits.fold(0, |all, (bit, &sum)| all | u64::from(is_set(sum)) << bit)
    }

    /// The sums of the first `bits` bits.
    pub(super) fn sums(&self, bits: u32) -> Vec<f64> {
        self.0.iter().copied().take(bits as usize).collect()
    }
}
