//! The Hamming ball around an address, as patterns of flipped bits.

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
    (differing & address).distance(W::default()) <= radius
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

#[cfg(test)]
mod tests {
    use super::*;

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
