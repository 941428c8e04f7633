//! The vote of weighted hashes, as other libraries take it.

/// Weights of set bits less weights of unset bits, for each bit.
pub(super) struct Ballot<T> {
    sums: [T; 64],
}

impl Ballot<f64> {
    /// Weights are added in the order of the features: sums of floating-point numbers depend on it.
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

impl Ballot<i64> {
    /// A vote each.
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

impl<T> Ballot<T> {
    /// The bits whose sums are as asked.
    pub(super) fn bits(&self, is_set: impl Fn(&T) -> bool) -> u64 {
        let bits = self.sums.iter().enumerate();
        bits.fold(0, |all, (bit, sum)| all | u64::from(is_set(sum)) << bit)
    }
}
