//! The sort of items or classes by their fingerprints.

use rayon::prelude::*;
use twinprint_fingerprint::Width;

use crate::ids::Id;

/// log₂ of the approximate number of ids in a division, whose fingerprints stay in the cache while they are sorted.
const DIVISION_LOG: u32 = 11;
/// The largest number of leading bits by which ids are divided.
const MAX_DIVIDING_BITS: u32 = 12;

/// Sorts ids by their fingerprints, and ids of equal fingerprints by themselves.
///
/// The ids are divided by the leading bits of their fingerprints first. The fingerprints of one division are copied
/// next to their ids, so the sort reads each of them once, and takes 4 bytes for each id besides.
pub(crate) fn sorted_by_fingerprint<I: Id + Ord, W: Width>(
    ids: Vec<I>,
    fingerprint: &(impl Fn(I) -> W + Sync),
) -> Vec<I> {
    let bits = ids
        .len()
        .max(1)
        .ilog2()
        .saturating_sub(DIVISION_LOG)
        .min(MAX_DIVIDING_BITS);
    let division = |id: I| match bits {
        0 => 0,
        _ => (fingerprint(id).widen() >> (W::BITS - bits)) as usize,
    };
    let mut sizes = vec![0; 1 << bits];
    for &id in &ids {
        sizes[division(id)] += 1;
    }
    let mut sum = 0;
    let mut places: Vec<usize> = sizes
        .iter()
        .map(|size| {
            sum += size;
            sum - size
        })
        .collect();
    let mut divided = vec![I::new(0); ids.len()];
    for id in ids {
        let place = &mut places[division(id)];
        divided[*place] = id;
        *place += 1;
    }
    let mut divisions = Vec::with_capacity(sizes.len());
    let mut rest = &mut divided[..];
    for size in sizes {
        let (first, others) = rest.split_at_mut(size);
        divisions.push(first);
        rest = others;
    }
    divisions.into_par_iter().for_each(|ids| {
        let mut keyed: Vec<(W, I)> = ids.iter().map(|&id| (fingerprint(id), id)).collect();
        keyed.sort_unstable();
        for (id, keyed) in ids.iter_mut().zip(keyed) {
            *id = keyed.1;
        }
    });
    divided
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{ItemId, ids};

    #[test]
    fn ids_are_sorted_by_fingerprint_and_number() {
        for count in [0, 1, 100, 40_000] {
            // Every fourth fingerprint is that of a crowd.
            let fingerprint = |item: ItemId| match item.get() % 4 {
                0 => 7,
                _ => u64::from(item.get() / 3).wrapping_mul(0x9E37_79B9_7F4A_7C15),
            };
            let items: Vec<ItemId> = ids(count).rev().collect();
            let mut expected = items.clone();
            expected.sort_unstable_by_key(|&item| (fingerprint(item), item));
            assert_eq!(sorted_by_fingerprint(items, &fingerprint), expected);
        }
    }
}
