//! The vote of features for each bit, as other libraries compute it. The libraries differ in the type of the sums and
//! in the threshold for a 1.

/// One sum for each bit: the weights of the hashes in which the bit is 1, minus the weights of the hashes in which it
/// is 0.
pub(super) struct BitSums<T> {
    sums: [T; 64],
}

impl BitSums<f64> {
    /// Sums weights in the order of `features`. The order matters, because the weights are floating-point numbers.
    pub(super) fn weighted(features: impl IntoIterator<Item = (u64, f64)>) -> Self {
        let mut sums = [0.0; 64];
        for (hash, weight) in features {
            for (bit, sum) in sums.iter_mut().enumerate() {
                *sum += if hash >> bit & 1 == 1 { weight } else { -weight };
            }
        }
        Self { sums }
    }
}

impl BitSums<i64> {
    /// Sums hashes that all have the weight 1.
    pub(super) fn equal(hashes: impl IntoIterator<Item = u64>) -> Self {
        let mut sums = [0; 64];
        for hash in hashes {
            for (bit, sum) in sums.iter_mut().enumerate() {
                *sum += ((hash >> bit & 1) as i64) * 2 - 1;
            }
        }
        Self { sums }
    }
}

impl<T> BitSums<T> {
    /// A number in which a bit is 1 if `is_set` returns true for the sum of this bit.
    pub(super) fn bits(&self, is_set: impl Fn(&T) -> bool) -> u64 {
        let bits = self.sums.iter().enumerate();
        bits.fold(0, |all, (bit, sum)| all | u64::from(is_set(sum)) << bit)
    }
}
