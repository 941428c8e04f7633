//! The Hamming ball around an address, as patterns of flipped bits.

use std::ops::Range;

use twinprint_fingerprint::Width;

/// Returns V(w, ρ) = Σ_{i ≤ ρ} C(w, i) for ρ = `radius`: the number of addresses of `w` bits that differ from a given
/// one in at most ρ bits.
pub(crate) fn ball_size(w: u32, radius: u32) -> f64 {
    let mut term = 1.0;
    let mut sum = 1.0;
    for i in 0..radius.min(w) {
        term *= f64::from(w - i) / f64::from(i + 1);
        sum += term;
    }
    sum
}

/// Returns `true` if a permuted table finds two fingerprints that differ in the bits `differing`: at most `radius` of
/// these bits are in the address mask `address` of the table.
#[inline]
pub(crate) fn reaches<W: Width>(differing: W, address: W, radius: u32) -> bool {
    let mut left = (differing & address).widen();
    // Without POPCNT, a full bit count takes more instructions than clearing `radius` ones. Radii of tables are small.
    for _ in 0..radius.min(W::BITS) {
        left &= left.wrapping_sub(1);
    }
    left == 0
}

/// Returns every number of `w` ≤ 31 bits with at most `radius` ones, in ascending order. So the numbers whose highest
/// one is bit t are contiguous.
pub(crate) fn ball(w: u32, radius: u32) -> Vec<u32> {
    fn grow(prefix: u32, below: u32, left: u32, out: &mut Vec<u32>) {
        out.push(prefix);
        if left > 0 {
            for bit in 0..below {
                grow(prefix | 1 << bit, bit, left - 1, out);
            }
        }
    }
    let mut out = Vec::new();
    grow(0, w, radius, &mut out);
    out
}

/// Groups the numbers of [`ball`] by their highest one: `by_top(..)[t]` has those whose highest one is bit t.
pub(crate) fn by_top(w: u32, radius: u32) -> Vec<Vec<u32>> {
    let patterns = ball(w, radius);
    (0..w)
        .map(|t| {
            patterns
                .iter()
                .copied()
                .filter(|p| p.checked_ilog2() == Some(t))
                .collect()
        })
        .collect()
}

/// Calls `visit` with `value`, and with every number that differs from it in at most `radius` of the bits `bits`, each
/// once.
///
/// # Errors
/// The first error of `visit`, which ends the enumeration.
pub(crate) fn each_flipped<W: Width, E>(
    value: W,
    bits: Range<u32>,
    radius: u32,
    visit: &mut impl FnMut(W) -> Result<(), E>,
) -> Result<(), E> {
    visit(value)?;
    if radius > 0 {
        for bit in bits.clone() {
            each_flipped(value ^ W::truncate(1 << bit), bits.start..bit, radius - 1, visit)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flipped_numbers_are_those_that_differ_in_few_of_the_bits() {
        for (from, to, radius) in [(0, 16, 2), (5, 12, 3), (15, 16, 4), (3, 3, 2), (0, 16, 0)] {
            let (value, bits) = (0x5A3C_u16, ((1u32 << to) - (1 << from)) as u16);
            let mut visited = Vec::new();
            let mut visit = |flipped| {
                visited.push(flipped);
                Ok::<(), ()>(())
            };
            assert_eq!(each_flipped(value, from..to, radius, &mut visit), Ok(()));
            let near = |x: &u16| (x ^ value) & !bits == 0 && (x ^ value).count_ones() <= radius;
            visited.sort_unstable();
            assert_eq!(visited, (0..=u16::MAX).filter(near).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_table_reaches_what_differs_in_few_bits_of_its_address() {
        let address = 0x00FF_F0F0_0000_FFFF_u64;
        for differing in [
            0,
            u64::MAX,
            1,
            1 << 63,
            0x8001_0000_FFFF_0001,
            0x0012_3456_789A_BCDE,
        ] {
            for radius in (0..=66).chain([u32::MAX]) {
                let expected = (differing & address).count_ones() <= radius;
                assert_eq!(reaches(differing, address, radius), expected);
                assert_eq!(
                    reaches(u128::from(differing) << 60, u128::from(address) << 60, radius),
                    expected
                );
            }
        }
    }

    #[test]
    fn the_ball_has_every_pattern_once_in_order() {
        for w in 0..=12 {
            for radius in 0..=w + 1 {
                let expected: Vec<u32> = (0..1u32 << w).filter(|p| p.count_ones() <= radius).collect();
                assert_eq!(ball(w, radius), expected);
                assert_eq!(ball_size(w, radius) as usize, expected.len());
                let grouped: Vec<u32> = by_top(w, radius).concat();
                assert_eq!(grouped, expected[1..]);
            }
        }
    }
}
