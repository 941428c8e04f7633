//! The density of a corpus: the number of candidates per document at each radius, from a sample of its fingerprints.
//!
//! Each sampled fingerprint is compared with all fingerprints. A row counts at most [`HOT_ROW_MIN_NEIGHBORS`]
//! neighbours, because a row with more is hot and has no edges. Where there are many candidates, some are compared by
//! their texts: a candidate with a Jaccard below [`UNRELATED_JACCARD`] is *unrelated*. The candidates and the unrelated
//! candidates of a typical document are those of the median row, so a crowd of a minority has no influence on them.

use rayon::prelude::*;
use twinprint_fingerprint::kernel::hamming_one_to_many;

use super::CANDIDATE_BUDGET;
use crate::candidates::HOT_ROW_MIN_NEIGHBORS;
use crate::error::DedupError;

/// The largest number of comparisons between sampled fingerprints and all fingerprints.
const MAX_SAMPLE_COMPARISONS: usize = 2_000_000_000;
/// The largest number of fingerprints in the sample.
const MAX_SAMPLE: usize = 2048;
/// The largest number of sampled rows whose neighbours are compared by their texts.
const MAX_TEXT_ROWS: usize = 64;
/// The number of neighbours of a row that are compared by their texts.
const NEIGHBORS_COMPARED: usize = 2;
/// Two texts with a lower Jaccard are unrelated. Pages of one template have far more in common if their fingerprints are
/// within a radius that is considered.
const UNRELATED_JACCARD: f64 = 0.1;

/// Returns the Jaccard of the texts of two rows, given by their positions.
pub(crate) type Jaccard<'j> = dyn Fn(usize, usize) -> Result<f64, DedupError> + Sync + 'j;

/// The expected number of candidates per document at one width, for each radius from 0. Each pair is counted once.
#[derive(Clone, Debug, PartialEq)]
pub struct Density {
    /// The width of the fingerprints in bits.
    pub bits: u32,
    /// All candidates, on average.
    pub candidates: Vec<f64>,
    /// All candidates of the median row.
    pub typical: Vec<f64>,
    /// The unrelated candidates of the median row; `None` if it has so few candidates that all may count as unrelated.
    pub unrelated: Option<Vec<f64>>,
}

impl Density {
    /// The unrelated candidates of the median row at each radius, or all its candidates if they are few.
    pub(super) fn unrelated(&self) -> &[f64] {
        self.unrelated.as_ref().unwrap_or(&self.typical)
    }

    /// Extrapolates the line from this density to `second` by `steps` times their difference.
    pub(super) fn extrapolated(&self, second: &Self, steps: f64) -> Self {
        let line = |first: &[f64], second: &[f64]| -> Vec<f64> {
            let at = |(first, second): (&f64, &f64)| second + (second - first).max(0.0) * steps;
            first.iter().zip(second).map(at).collect()
        };
        let distinguished = self.unrelated.is_some() || second.unrelated.is_some();
        Self {
            bits: self.bits,
            candidates: line(&self.candidates, &second.candidates),
            typical: line(&self.typical, &second.typical),
            unrelated: distinguished.then(|| line(self.unrelated(), second.unrelated())),
        }
    }
}

/// A sampled row: its neighbours within the widest radius.
struct SampledRow {
    /// The number of neighbours within each radius from 0, itself excluded.
    within: Vec<u64>,
    /// The positions of the sampled row and of some of its neighbours, for a comparison by texts.
    compared: Vec<(usize, usize)>,
}

/// Chooses the indices of the sampled fingerprints: an even stride from a start that depends on `seed`. So a run of
/// equal neighbours cannot dominate the sample.
pub(super) fn sample(rows: &[u128], seed: u64) -> Vec<usize> {
    let n = rows.len();
    let size = (MAX_SAMPLE_COMPARISONS / n.max(1)).clamp(64, MAX_SAMPLE).min(n);
    let stride = n as f64 / size.max(1) as f64;
    let mixed = (seed ^ 0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let offset = (mixed >> 11) as f64 / (1u64 << 53) as f64;
    (0..size)
        .map(|i| (((i as f64 + offset) * stride) as usize).min(n - 1))
        .collect()
}

/// Measures the density at one width, up to the radius `widest`.
pub(super) fn measure(
    rows: &[u128],
    sample: &[usize],
    bits: u32,
    widest: u32,
    jaccard: &Jaccard<'_>,
) -> Result<Density, DedupError> {
    let sampled = if bits == 64 {
        let narrow: Vec<u64> = rows.iter().map(|&row| row as u64).collect();
        count(&narrow, sample, widest)
    } else {
        count(rows, sample, widest)
    };
    let radii = 0..=widest as usize;
    // Each pair is counted from both sides. A row with more neighbours than the limit is hot.
    let counted =
        |row: &SampledRow, k: usize| row.within[k].min(u64::from(HOT_ROW_MIN_NEIGHBORS)) as f64 / 2.0;
    let mean = |k: usize| {
        let sum: f64 = sampled.iter().map(|row| counted(row, k)).sum();
        sum / sampled.len().max(1) as f64
    };
    let candidates: Vec<f64> = radii.clone().map(mean).collect();
    let typical: Vec<f64> = radii
        .clone()
        .map(|k| median(sampled.iter().map(|row| counted(row, k)).collect()))
        .collect();
    let unrelated = if typical.last().is_some_and(|&most| most > CANDIDATE_BUDGET) {
        let step = sampled.len().div_ceil(MAX_TEXT_ROWS).max(1);
        let chosen: Vec<&SampledRow> = sampled.iter().step_by(step).collect();
        let shares: Vec<f64> = chosen
            .par_iter()
            .map(|row| unrelated_share(row, jaccard))
            .collect::<Result<_, _>>()?;
        let of_rows = |k: usize| {
            let rows = chosen.iter().zip(&shares);
            median(rows.map(|(row, share)| share * counted(row, k)).collect())
        };
        Some(radii.map(of_rows).collect())
    } else {
        None
    };
    Ok(Density {
        bits,
        candidates,
        typical,
        unrelated,
    })
}

/// The median; 0 without values.
fn median(mut values: Vec<f64>) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// The share of unrelated rows among the compared neighbours of a row; 0 if it has no neighbours.
fn unrelated_share(row: &SampledRow, jaccard: &Jaccard<'_>) -> Result<f64, DedupError> {
    let mut unrelated = 0;
    for &(a, b) in &row.compared {
        unrelated += usize::from(jaccard(a, b)? < UNRELATED_JACCARD);
    }
    Ok(unrelated as f64 / row.compared.len().max(1) as f64)
}

fn count<W: twinprint_fingerprint::Width>(rows: &[W], sample: &[usize], widest: u32) -> Vec<SampledRow> {
    sample
        .par_iter()
        .map_init(Vec::new, |near, &i| {
            near.clear();
            hamming_one_to_many(rows[i], rows, widest, near);
            let mut within = vec![0u64; widest as usize + 1];
            near.retain(|hit| hit.row as usize != i);
            for hit in near.iter() {
                within[usize::from(hit.distance)] += 1;
            }
            let mut sum = 0;
            for count in &mut within {
                sum += *count;
                *count = sum;
            }
            // Rows are sorted by fingerprint, so evenly spaced hits are spread over all directions.
            let compared = NEIGHBORS_COMPARED.min(near.len());
            let hit = |j: usize| &near[j * near.len() / compared];
            SampledRow {
                within,
                compared: (0..compared).map(|j| (i, hit(j).row as usize)).collect(),
            }
        })
        .collect()
}
