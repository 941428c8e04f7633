//! Segments of given fingerprints, in temporary files.

use anyhow::Result;
use twinprint_index::segment::{Builder, Options, Scratch, Search, Stats};
use twinprint_index::{Plan, Segment};

/// Builds the segment of a plan over rows, whose ids are their positions, and loads it into memory. The plan need not be
/// exact.
///
/// # Errors
/// The temporary file cannot be written.
pub fn segment(rows: &[u64], plan: &Plan, options: Options) -> Result<Segment<u64>> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("rows.seg");
    let options = Options {
        plan: Some(plan.clone()),
        allow_inexact: true,
        ..options
    };
    let mut builder = Builder::new(&path, &options)?;
    for (&row, id) in rows.iter().zip(0..) {
        builder.push(row, id)?;
    }
    drop(builder.finish()?);
    Ok(Segment::load(&path)?)
}

/// The statistics of lookups by one way of searching, for one query, and the share of queries with a match.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lookups {
    /// Probes of a query.
    pub probes: f64,
    /// Candidates of a query.
    pub candidates: f64,
    /// Steps of the searches of a query.
    pub steps: f64,
    /// The share of the queries with a match.
    pub found: f64,
}

impl Lookups {
    /// Looks queries up within distance `k`.
    ///
    /// # Errors
    /// The segment is damaged, or a query needs too many keys.
    pub fn of(segment: &Segment<u64>, search: Search, queries: &[u64], k: u32) -> Result<Self> {
        let mut found = vec![false; queries.len()];
        let mut hit = |query: usize, _: u64, _: u64, _: u32| found[query] = true;
        let stats: Stats = segment.lookup_batch_by(search, queries, k, &mut Scratch::default(), &mut hit)?;
        let n = queries.len() as f64;
        Ok(Self {
            probes: stats.probes as f64 / n,
            candidates: stats.candidates as f64 / n,
            steps: stats.steps as f64 / n,
            found: found.iter().filter(|found| **found).count() as f64 / n,
        })
    }
}
