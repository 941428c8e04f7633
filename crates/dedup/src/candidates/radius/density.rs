//! The density of a corpus: the number of candidates per document at each radius, from a sample of its fingerprints.
//!
//! Each sampled fingerprint is compared with all fingerprints. A row counts at most [`HOT_ROW_MIN_NEIGHBORS`]
//! neighbours, because a row with more is hot and has no edges. Where there are many candidates, some are compared by
//! their texts: a candidate with a Jaccard below [`UNRELATED_JACCARD`] is *unrelated*. The candidates and the unrelated
//! candidates of a typical document are those of the median row, so a crowd of a minority has no influence on them.

use rayon::prelude::*;
use twinprint_fingerprint::kernel::{MAX_PLANE_ROWS, RowDistance, hamming_many_to_many, hamming_one_to_many};

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
/// The number of neighbours above which a row is foreseen to be beside a crowd. Its other neighbours are expected to be hot,
/// so it has no edges with them.
const MANY_NEIGHBORS: f64 = 100.0;
/// Two texts with a lower Jaccard are unrelated. Pages of one template have far more in common if their fingerprints are
/// within a radius that is considered.
const UNRELATED_JACCARD: f64 = 0.1;

/// The distinct fingerprints of a corpus, ascending. They may be on disk.
pub(crate) trait Fingerprints: Sync {
    /// The number of fingerprints.
    fn count(&self) -> usize;

    /// The fingerprint at a position.
    ///
    /// # Errors
    /// The fingerprints cannot be read.
    fn at(&self, position: usize) -> Result<u128, DedupError>;

    /// Calls `each` with all fingerprints, block after block, and with the position of the first one of each block.
    ///
    /// # Errors
    /// The fingerprints cannot be read.
    fn blocks(&self, each: &mut dyn FnMut(usize, &[u128])) -> Result<(), DedupError>;
}

impl Fingerprints for [u128] {
    fn count(&self) -> usize {
        self.len()
    }

    fn at(&self, position: usize) -> Result<u128, DedupError> {
        Ok(self[position])
    }

    fn blocks(&self, each: &mut dyn FnMut(usize, &[u128])) -> Result<(), DedupError> {
        each(0, self);
        Ok(())
    }
}

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

/// A sampled row.
struct SampledRow {
    position: usize,
    fingerprint: u128,
    /// The number of neighbours within each radius from 0, itself excluded.
    within: Vec<u64>,
}

/// Chooses the positions of the sampled fingerprints among `n`: an even stride from a start that depends on `seed`. So
/// a run of equal neighbours cannot dominate the sample.
pub(super) fn sample(n: usize, seed: u64) -> Vec<usize> {
    let size = (MAX_SAMPLE_COMPARISONS / n.max(1)).clamp(64, MAX_SAMPLE).min(n);
    let stride = n as f64 / size.max(1) as f64;
    let mixed = (seed ^ 0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let offset = (mixed >> 11) as f64 / (1u64 << 53) as f64;
    (0..size)
        .map(|i| (((i as f64 + offset) * stride) as usize).min(n - 1))
        .collect()
}

/// The pairs of a row within a radius, on average.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct PairsOfRow {
    /// The pairs of rows that the join of the fingerprints finds. It finds no more than
    /// [`HOT_ROW_MIN_NEIGHBORS`] of a hot row.
    pub(crate) joined: f64,
    /// The pairs that become edges: those of two rows that are not hot.
    pub(crate) edges: f64,
}

/// Extrapolates the pairs of a row from a part of the corpus, `whole`, and a part of that, `half`. `sample` has positions
/// in `half`: neighbours of these rows in the same part of the corpus are in both.
pub(super) fn extrapolated_pairs(
    parts: [&[u128]; 2],
    sample: &[usize],
    bits: u32,
    k: u32,
    steps: f64,
) -> PairsOfRow {
    let rows = GrowingRows::new(parts, bits, k, steps);
    let pairs: Vec<PairsOfRow> = sample
        .par_iter()
        .map_init(Vec::new, |near, &at| {
            let row = rows.whole.wide.binary_search(&rows.half.wide[at]);
            row.map_or(PairsOfRow::default(), |row| rows.pairs(row, near))
        })
        .collect();
    let mean = |of: fn(&PairsOfRow) -> f64| pairs.iter().map(of).sum::<f64>() / pairs.len().max(1) as f64;
    PairsOfRow {
        joined: mean(|row| row.joined),
        edges: mean(|row| row.edges),
    }
}

/// The rows of a part of a corpus and of a part of that. The neighbours of a row in both give a line, which is
/// extrapolated by some steps of their difference. So a row is seen to be hot in the corpus although it is not in the
/// parts.
struct GrowingRows<'r> {
    half: Block<'r>,
    whole: Block<'r>,
    k: u32,
    steps: f64,
}

impl<'r> GrowingRows<'r> {
    fn new([half, whole]: [&'r [u128]; 2], bits: u32, k: u32, steps: f64) -> Self {
        Self {
            half: Block::new(0, half, bits),
            whole: Block::new(0, whole, bits),
            k,
            steps,
        }
    }

    /// The number of neighbours of a row in the corpus. `near` is a buffer.
    fn neighbors(&self, row: usize, near: &mut Vec<RowDistance>) -> f64 {
        let fingerprint = self.whole.wide[row];
        let own = self.half.wide.binary_search(&fingerprint).unwrap_or(usize::MAX);
        self.half.neighbors(own, fingerprint, self.k, near);
        let in_half = near.len() as f64;
        self.whole.neighbors(row, fingerprint, self.k, near);
        let in_whole = near.len() as f64;
        in_whole + (in_whole - in_half) * self.steps
    }

    /// The pairs of a row, each counted from both sides.
    fn pairs(&self, row: usize, near: &mut Vec<RowDistance>) -> PairsOfRow {
        let neighbors = self.neighbors(row, near);
        let most = f64::from(HOT_ROW_MIN_NEIGHBORS);
        if neighbors > most {
            return PairsOfRow {
                joined: most,
                edges: 0.0,
            };
        }
        PairsOfRow {
            joined: neighbors / 2.0,
            edges: neighbors.min(MANY_NEIGHBORS) / 2.0,
        }
    }
}

/// Measures the density at one width, up to the radius `widest`.
pub(super) fn measure<F: Fingerprints + ?Sized>(
    rows: &F,
    sample: &[usize],
    bits: u32,
    widest: u32,
    jaccard: &Jaccard<'_>,
) -> Result<Density, DedupError> {
    let sampled = count(rows, sample, bits, widest)?;
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
        let compared = compared(rows, &chosen, bits, widest)?;
        let shares: Vec<f64> = compared
            .par_iter()
            .map(|pairs| unrelated_share(pairs, jaccard))
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

/// The share of unrelated texts among the compared neighbours of a row; 0 if it has no neighbours.
fn unrelated_share(pairs: &[(usize, usize)], jaccard: &Jaccard<'_>) -> Result<f64, DedupError> {
    let mut unrelated = 0;
    for &(a, b) in pairs {
        unrelated += usize::from(jaccard(a, b)? < UNRELATED_JACCARD);
    }
    Ok(unrelated as f64 / pairs.len().max(1) as f64)
}

/// Counts the neighbours of the sampled rows.
fn count<F: Fingerprints + ?Sized>(
    rows: &F,
    sample: &[usize],
    bits: u32,
    widest: u32,
) -> Result<Vec<SampledRow>, DedupError> {
    let begin = |&position: &usize| {
        Ok(SampledRow {
            position,
            fingerprint: rows.at(position)?,
            within: vec![0; widest as usize + 1],
        })
    };
    let mut sampled: Vec<SampledRow> = sample.iter().map(begin).collect::<Result<_, DedupError>>()?;
    rows.blocks(&mut |first, block| {
        Block::new(first, block, bits).count_neighbors(&mut sampled, widest);
    })?;
    for row in &mut sampled {
        let mut sum = 0;
        for count in &mut row.within {
            sum += *count;
            *count = sum;
        }
    }
    Ok(sampled)
}

/// For each of some rows, its position and those of the neighbours with which it is compared by the texts. Rows are
/// sorted by fingerprint, so evenly spaced neighbours are spread over all directions.
fn compared<F: Fingerprints + ?Sized>(
    rows: &F,
    chosen: &[&SampledRow],
    bits: u32,
    widest: u32,
) -> Result<Vec<Vec<(usize, usize)>>, DedupError> {
    // The number of neighbours in earlier blocks, and the pairs.
    let mut found: Vec<(u64, Vec<(usize, usize)>)> = vec![(0, Vec::new()); chosen.len()];
    rows.blocks(&mut |first, block| {
        let block = Block::new(first, block, bits);
        let pairs = found.par_iter_mut().zip(chosen);
        pairs.for_each_init(Vec::new, |near, ((before, pairs), row)| {
            block.neighbors(row.position, row.fingerprint, widest, near);
            let all = row.within[widest as usize];
            let wanted = NEIGHBORS_COMPARED.min(all as usize);
            for j in pairs.len()..wanted {
                let Some(hit) = near.get((j as u64 * all / wanted as u64 - *before) as usize) else {
                    break;
                };
                pairs.push((row.position, first + hit.row as usize));
            }
            *before += near.len() as u64;
        });
    })?;
    Ok(found.into_iter().map(|(_, pairs)| pairs).collect())
}

/// Consecutive fingerprints at one width.
struct Block<'b> {
    /// The position of the first one.
    first: usize,
    wide: &'b [u128],
    /// The fingerprints at 64 bits, if that is the width.
    narrow: Option<Vec<u64>>,
}

impl<'b> Block<'b> {
    fn new(first: usize, rows: &'b [u128], bits: u32) -> Self {
        Self {
            first,
            wide: rows,
            narrow: (bits == 64).then(|| rows.iter().map(|&row| row as u64).collect()),
        }
    }

    /// Puts the rows within `widest` of a fingerprint into `near`, ascending. The row at `position` itself is left out.
    fn neighbors(&self, position: usize, fingerprint: u128, widest: u32, near: &mut Vec<RowDistance>) {
        near.clear();
        match &self.narrow {
            Some(rows) => hamming_one_to_many(fingerprint as u64, rows, widest, near),
            None => hamming_one_to_many(fingerprint, self.wide, widest, near),
        }
        near.retain(|hit| self.first + hit.row as usize != position);
    }

    /// Adds the numbers of rows at each distance within `widest` to the counts of sampled rows. The row itself is left out. Tiles of
    /// rows are compared in parallel.
    fn count_neighbors(&self, sampled: &mut [SampledRow], widest: u32) {
        let distances = widest as usize + 1;
        let none = || vec![0u64; sampled.len() * distances];
        let wide: Vec<u128> = sampled.iter().map(|row| row.fingerprint).collect();
        let narrow: Vec<u64> = wide.iter().map(|&query| query as u64).collect();
        let positions = (self.first..).step_by(MAX_PLANE_ROWS);
        let tiles: Vec<(usize, &[u128])> = positions.zip(self.wide.chunks(MAX_PLANE_ROWS)).collect();
        let count_tile = |mut counts: Vec<u64>, &(first, tile): &(usize, &[u128])| {
            let mut count = |query: u32, row: u32, distance: u8| {
                let query = query as usize;
                let is_other = first + row as usize != sampled[query].position;
                counts[query * distances + usize::from(distance)] += u64::from(is_other);
            };
            match &self.narrow {
                Some(rows) => {
                    let rows = &rows[first - self.first..][..tile.len()];
                    hamming_many_to_many(&narrow, rows, widest, &mut count);
                }
                None => hamming_many_to_many(&wide, tile, widest, &mut count),
            }
            counts
        };
        let sum = |mut sum: Vec<u64>, counts: Vec<u64>| {
            for (sum, count) in sum.iter_mut().zip(counts) {
                *sum += count;
            }
            sum
        };
        let counts = tiles.par_iter().fold(none, count_tile).reduce(none, sum);
        for (row, counts) in sampled.iter_mut().zip(counts.chunks_exact(distances)) {
            for (sum, count) in row.within.iter_mut().zip(counts) {
                *sum += count;
            }
        }
    }
}
