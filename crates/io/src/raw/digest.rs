//! Computes the digest of an input of fingerprints. Equal digests show that an input was used before.

use std::hash::Hasher as _;

use siphasher::sip128::{Hasher128, SipHasher13};
use twinprint_fingerprint::{HashKey, Width};

/// The 128-bit digest of a sequence of fingerprints and ids. It does not depend on the names of the files or on how the
/// sequence is divided into files and blocks.
///
/// It is SipHash-1-3 with the public key, as in the files of an index. Because the key is public, an attacker can
/// construct two inputs with equal digests.
#[derive(Clone, Copy, Debug)]
pub struct FingerprintDigest {
    fingerprints: SipHasher13,
    /// The hash of the ids, or `None` if the fingerprints have no ids of their own and their positions are the ids.
    ids: Option<SipHasher13>,
}

impl FingerprintDigest {
    /// Creates the digest of an empty input. `has_ids` is true if the fingerprints have ids of their own. Otherwise ids
    /// are ignored.
    pub fn new(has_ids: bool) -> Self {
        let [k0, k1] = HashKey::PUBLIC.words();
        let hasher = SipHasher13::new_with_keys(k0, k1);
        Self {
            fingerprints: hasher,
            ids: has_ids.then_some(hasher),
        }
    }

    /// Adds a block of fingerprints and the id of each.
    pub fn add<W: Width>(&mut self, fingerprints: &[W], ids: &[u64]) {
        write(&mut self.fingerprints, fingerprints);
        if let Some(hasher) = &mut self.ids {
            write(hasher, ids);
        }
    }

    /// Returns the digest of all blocks added.
    pub fn finish(mut self) -> u128 {
        if let Some(ids) = self.ids {
            self.fingerprints.write(&ids.finish128().as_u128().to_le_bytes());
        }
        self.fingerprints.finish128().as_u128()
    }
}

/// Hashes numbers as little-endian bytes.
fn write<W: Width>(hasher: &mut SipHasher13, numbers: &[W]) {
    let each = W::BITS as usize / 8;
    let mut block = [0; 1 << 12];
    for numbers in numbers.chunks(block.len() / each) {
        for (bytes, number) in block.chunks_exact_mut(each).zip(numbers) {
            bytes.copy_from_slice(&number.widen().to_le_bytes()[..each]);
        }
        hasher.write(&block[..each * numbers.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(stretches: &[(&[u64], &[u64])], has_ids: bool) -> u128 {
        let mut digest = FingerprintDigest::new(has_ids);
        for (fingerprints, ids) in stretches {
            digest.add(fingerprints, ids);
        }
        digest.finish()
    }

    #[test]
    fn the_digest_depends_on_the_numbers_and_not_on_their_batches() {
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
        // The digests are those of FORMAT.md.
        let bytes = |numbers: &[u64]| -> Vec<u8> { numbers.iter().flat_map(|n| n.to_le_bytes()).collect() };
        let of = |bytes: &[u8]| twinprint_fingerprint::hash_one(&HashKey::PUBLIC, bytes);
        assert_eq!(all[0], of(&bytes(&numbers)));
        let ids = of(&bytes(&other)).to_le_bytes();
        assert_eq!(all[2], of(&[bytes(&numbers), ids.to_vec()].concat()));
    }

    #[test]
    fn fingerprints_of_every_width_are_hashed_as_their_bytes() {
        fn same<W: Width>() {
            let numbers: Vec<W> = (0..3000_u128)
                .map(|i| W::truncate(i.wrapping_mul(u128::MAX / 977)))
                .collect();
            let each = W::BITS as usize / 8;
            let bytes: Vec<u8> = numbers
                .iter()
                .flat_map(|number| number.widen().to_le_bytes().into_iter().take(each))
                .collect();
            let mut digest = FingerprintDigest::new(false);
            digest.add(&numbers, &[]);
            assert_eq!(
                digest.finish(),
                twinprint_fingerprint::hash_one(&HashKey::PUBLIC, &bytes)
            );
        }
        same::<u32>();
        same::<u64>();
        same::<u128>();
    }
}
