//! Computes the size of the intersection of two sorted sets.
//!
//! A merge is a chain of dependent steps: load, compare, advance. To keep the CPU busy, both sets are cut at the same
//! values into [`LANES`] parts. The pairs of parts are merged at the same time, without branches, so that their chains
//! overlap.

/// Number of merges that run at the same time.
const LANES: usize = 4;
/// If the smaller set has fewer members than this, the sets are merged in one lane.
const MIN_SPLIT: usize = 64;
/// Number of steps between two checks of whether the threshold can still be reached. It is a power of two, so that the
/// compiler can see that a masked index is in bounds.
const STRIDE: usize = 32;

/// The sizes of the intersection and of the union of two sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// Number of members that both sets have.
    pub common: u32,
    /// Number of members that at least one of the sets has.
    pub union: u32,
    /// Number of members of the smaller set.
    pub smaller: u32,
}

impl Overlap {
    /// Jaccard: members of the intersection over members of the union. It is 1 for two empty sets.
    pub fn jaccard(&self) -> f64 {
        if self.union == 0 {
            1.0
        } else {
            f64::from(self.common) / f64::from(self.union)
        }
    }

    /// Containment: members of the intersection over members of the smaller set. It is 1 if one set is a subset of the
    /// other, except that an empty set has containment 1 only with another empty set.
    pub fn containment(&self) -> f64 {
        match (self.smaller, self.union) {
            (0, 0) => 1.0,
            (0, _) => 0.0,
            (smaller, _) => f64::from(self.common) / f64::from(smaller),
        }
    }

    fn new(common: usize, a: &[u64], b: &[u64]) -> Self {
        Self {
            common: common as u32,
            union: (a.len() + b.len() - common) as u32,
            smaller: a.len().min(b.len()) as u32,
        }
    }
}

/// Computes the overlap of two sorted sets without repeats, of fewer than 2³¹ members each. Linear.
///
/// ```
/// use twinprint_text::overlap::overlap;
///
/// let shared = overlap(&[1, 2, 3, 4], &[2, 3, 5]);
/// assert_eq!((shared.common, shared.jaccard()), (2, 0.4));
/// ```
pub fn overlap(a: &[u64], b: &[u64]) -> Overlap {
    Overlap::new(count(a, b, 0).unwrap_or(0), a, b)
}

/// Computes the overlap of two sets; `None` if their Jaccard is below `threshold`. Stops as soon as the threshold
/// cannot be reached.
pub fn overlap_at_least(a: &[u64], b: &[u64], threshold: f64) -> Option<Overlap> {
    let needed = needed(a.len(), b.len(), threshold);
    if a.len().min(b.len()) < needed {
        return None;
    }
    let found = Overlap::new(count(a, b, needed)?, a, b);
    (found.jaccard() >= threshold).then_some(found)
}

/// A lower bound of the number of members that sets of `a` and `b` members must share for a Jaccard of `threshold`.
pub(super) fn needed(a: usize, b: usize, threshold: f64) -> usize {
    // J ≥ t if and only if common ≥ t / (1 + t) · (|a| + |b|). The bound is lowered a little, so that rounding rejects
    // no pair. The caller compares the Jaccard itself with the threshold at the end.
    (threshold / (1.0 + threshold) * (a + b) as f64 * (1.0 - 1e-9)).ceil() as usize
}

/// The parts of two sorted sets that one lane has yet to merge.
#[derive(Clone, Copy, Default)]
struct Lane<'a> {
    a: &'a [u64],
    b: &'a [u64],
}

impl Lane<'_> {
    /// Number of steps that are safe without checking for an end. It is also an upper bound of the members still to be
    /// found in both parts.
    fn steps(self) -> usize {
        self.a.len().min(self.b.len())
    }

    /// The lane without the first `i` members of `a` and the first `j` members of `b`.
    fn advanced(self, i: usize, j: usize) -> Self {
        Self {
            a: self.a.get(i..).unwrap_or_default(),
            b: self.b.get(j..).unwrap_or_default(),
        }
    }
}

/// The number of members that both sets have; `None` as soon as it cannot reach `needed`.
fn count(a: &[u64], b: &[u64], needed: usize) -> Option<usize> {
    let mut lanes = lanes(a, b);
    let mut common = 0;
    loop {
        let possible: usize = lanes.iter().map(|lane| lane.steps()).sum();
        if common + possible < needed {
            return None;
        }
        if possible == 0 {
            return Some(common);
        }
        if let Some(found) = stride(&mut lanes) {
            common += found;
            continue;
        }
        for lane in &mut lanes {
            common += match stride(std::array::from_mut(lane)) {
                Some(found) => found,
                None if lane.steps() < STRIDE => finish(lane),
                None => 0,
            };
        }
    }
}

/// Cuts both sets at the same values: the quantiles of the larger set.
fn lanes<'a>(a: &'a [u64], b: &'a [u64]) -> [Lane<'a>; LANES] {
    let (large, small) = if a.len() < b.len() { (b, a) } else { (a, b) };
    let mut lanes = [Lane::default(); LANES];
    let mut rest = Lane { a: large, b: small };
    if small.len() >= MIN_SPLIT {
        for (lane, left) in lanes.iter_mut().zip((1..=LANES).rev()).take(LANES - 1) {
            let cut = rest.a.len() / left;
            let Some(&value) = rest.a.get(cut) else { break };
            let (a, more_a) = rest.a.split_at(cut);
            let (b, more_b) = rest.b.split_at(rest.b.partition_point(|&x| x < value));
            *lane = Lane { a, b };
            rest = Lane { a: more_a, b: more_b };
        }
    }
    if let Some(last) = lanes.last_mut() {
        *last = rest;
    }
    lanes
}

/// Takes [`STRIDE`] steps in every lane and returns the number of common members found. Returns `None`, and takes no
/// step, if a part has fewer than [`STRIDE`] members left.
fn stride<const N: usize>(lanes: &mut [Lane<'_>; N]) -> Option<usize> {
    let mut chunks = [(&[0; STRIDE], &[0; STRIDE]); N];
    for (chunk, lane) in chunks.iter_mut().zip(lanes.iter()) {
        *chunk = (lane.a.first_chunk()?, lane.b.first_chunk()?);
    }
    let mut positions = [(0usize, 0usize); N];
    for _ in 0..STRIDE {
        for ((a, b), (i, j)) in chunks.iter().zip(&mut positions) {
            // A step advances each side by at most one, so both indices are in bounds before each step.
            let (x, y) = (a[*i % STRIDE], b[*j % STRIDE]);
            *i += usize::from(x <= y);
            *j += usize::from(y <= x);
        }
    }
    let mut common = 0;
    for (lane, (i, j)) in lanes.iter_mut().zip(positions) {
        *lane = lane.advanced(i, j);
        // Each step advanced one side, or both sides for a common value. So the steps of both sides exceed [`STRIDE`]
        // by the number of common values.
        common += i + j - STRIDE;
    }
    Some(common)
}

/// Merges a lane until one of its parts is empty. Returns the number of common members found.
fn finish(lane: &mut Lane<'_>) -> usize {
    let mut common = 0;
    while let ([x, a @ ..], [y, b @ ..]) = (lane.a, lane.b) {
        common += usize::from(x == y);
        *lane = Lane {
            a: if x <= y { a } else { lane.a },
            b: if y <= x { b } else { lane.b },
        };
    }
    common
}

#[cfg(test)]
mod tests;
