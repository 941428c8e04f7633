//! A digest of input, by which the same input is recognized.

use std::hash::Hasher as _;

use siphasher::sip128::{Hasher128, SipHasher13};

/// Takes fingerprints and ids in their order, in stretches of any length, and gives a number of 128 bits for all of them. It tells apart inputs that were
/// mistaken for one another, whatever their files are called; it is no defence against somebody who forges one.
#[derive(Clone, Copy, Debug)]
pub struct InputDigest {
    fingerprints: SipHasher13,
    /// `None` where positions are ids.
    ids: Option<SipHasher13>,
}

impl InputDigest {
    /// Of nothing yet. `has_ids`: whether fingerprints have ids of their own; without them, ids are not looked at.
    pub fn new(has_ids: bool) -> Self {
        Self {
            fingerprints: SipHasher13::new(),
            ids: has_ids.then(SipHasher13::new),
        }
    }

    /// Takes what comes next.
    pub fn add(&mut self, fingerprints: &[u64], ids: &[u64]) {
        write(&mut self.fingerprints, fingerprints);
        if let Some(hasher) = &mut self.ids {
            write(hasher, ids);
        }
    }

    /// The digest.
    pub fn finish(mut self) -> u128 {
        if let Some(ids) = self.ids {
            self.fingerprints.write(&ids.finish128().as_u128().to_le_bytes());
        }
        self.fingerprints.finish128().as_u128()
    }
}

fn write(hasher: &mut SipHasher13, numbers: &[u64]) {
    let mut block = [0; 1 << 12];
    for numbers in numbers.chunks(block.len() / 8) {
        let (eights, _) = block.as_chunks_mut();
        for (eight, number) in eights.iter_mut().zip(numbers) {
            *eight = number.to_le_bytes();
        }
        hasher.write(&block[..8 * numbers.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(stretches: &[(&[u64], &[u64])], has_ids: bool) -> u128 {
        let mut digest = InputDigest::new(has_ids);
        for (fingerprints, ids) in stretches {
            digest.add(fingerprints, ids);
        }
        digest.finish()
    }

    #[test]
    fn it_depends_on_what_is_read_and_not_on_how() {
        let numbers: Vec<u64> = (0..2000).collect();
        let (one, two) = numbers.split_at(777);
        for has_ids in [false, true] {
            let whole = digest(&[(&numbers, &numbers)], has_ids);
            assert_eq!(digest(&[(one, one), (&[], &[]), (two, two)], has_ids), whole);
            assert_ne!(digest(&[(two, two), (one, one)], has_ids), whole);
            assert_ne!(digest(&[(one, one)], has_ids), whole);
        }
        let other: Vec<u64> = (1..2001).collect();
        let all = [
            digest(&[(&numbers, &numbers)], false),
            digest(&[(&numbers, &numbers)], true),
            digest(&[(&numbers, &other)], true),
            digest(&[(&other, &numbers)], true),
            digest(&[(&other, &numbers)], false),
            digest(&[], false),
            digest(&[], true),
        ];
        assert!((0..all.len()).all(|i| !all[..i].contains(&all[i])));
        assert_eq!(digest(&[(&numbers, &other)], false), all[0]);
    }
}
