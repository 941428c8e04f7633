//! Bit votes of other libraries, which differ in their sums and thresholds.

/// The sum for each bit: the weights of hashes with the bit set, minus the weights of hashes without it.
pub(super) struct BitSums<T> {
    sums: [T; 64],
}

impl BitSums<f64> {
    /// Adds weights in the order of the features, on which sums of floating-point numbers depend.
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
    /// One vote for each hash.
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
    /// The bits whose sums satisfy `is_set`.
    pub(super) fn bits(&self, is_set: impl Fn(&T) -> bool) -> u64 {
        let bits = self.sums.iter().enumerate();
        bits.fold(0, |all, (bit, sum)| all | u64::from(is_set(sum)) << bit)
    }
}
