//! The fourth stage: chooses the radius, and lists the rows of the join.

use std::path::Path;

use super::folder::{Stage, Task};
use super::job::StagedJob;
use super::outputs::{FINGERPRINTS, Parameters, ROW_ENDS, ROW_ITEMS, ROWS};
use super::tables::{FingerprintRow, JoinRow, measure_of};
use crate::candidates::radius::{self, Fingerprints, Radius, RadiusChoice, RadiusCriteria};
use crate::candidates::{FeatureLimits, SetJoinCosts, is_exact};
use crate::corpus::shingle_sets::{SpooledText, jaccard};
use crate::error::DedupError;
use crate::rows::{Number, RowFile, RowSorter, RowWriter, row};

/// The number of fingerprints with which the sample is compared at a time.
const BLOCK_ROWS: usize = 1 << 20;

/// Chooses the parameters.
pub(super) fn choose(job: &StagedJob<'_>) -> Result<Parameters, DedupError> {
    job.folder.run(Task::only(Stage::Parameters), |dir| {
        let items = job.items()?;
        // A row that cannot be read ends the iterator, and the failure is returned afterwards.
        let failure = std::cell::Cell::new(None);
        let texts = || {
            let rows = items
                .all()
                .map_while(|item| item.map_err(|error| failure.set(Some(error))).ok());
            rows.map(|item| item.counts())
        };
        let limits = FeatureLimits::new(texts(), job.options);
        let costs = SetJoinCosts::of(texts(), limits, job.options);
        if let Some(error) = failure.take() {
            return Err(error);
        }
        let fingerprints = job.folder.rows(Task::only(Stage::Items), FINGERPRINTS)?;
        let (radius, distinct) = choose_radius(job, &fingerprints, costs, dir)?;
        // In an exact run the set join finds all pairs, so no row is joined.
        let joined = radius.choice != RadiusChoice::Exact;
        let rows = write_rows(job, &fingerprints, joined.then_some(radius.bits), dir)?;
        let fingerprints = if joined { rows } else { distinct };
        Ok(Parameters {
            radius,
            limits,
            fingerprints,
            rows,
        })
    })
}

/// Chooses the radius. Also returns the number of distinct fingerprints at full width.
fn choose_radius(
    job: &StagedJob<'_>,
    fingerprints: &RowFile<FingerprintRow>,
    costs: SetJoinCosts,
    dir: &Path,
) -> Result<(Radius, u64), DedupError> {
    let distinct = Distinct::of(job, fingerprints, dir)?;
    let count = distinct.rows.len();
    if !job.options.verify {
        return Ok((radius::verdict(job.options), count));
    }
    if is_exact(costs, distinct.count(), job.options) {
        return Ok((radius::exact(job.options.bits), count));
    }
    let criteria = RadiusCriteria {
        bits: job.options.bits,
        k: job.options.hamming,
        threshold: job.options.threshold,
    };
    let (items, spool, key) = (job.items()?, job.spool()?, job.items_summary()?.key.finish());
    let of_rows = |a: usize, b: usize| {
        let text = |row: usize| {
            let item = items.get(distinct.rows.get(row as u64)?.item)?;
            Ok::<_, DedupError>(SpooledText {
                spool,
                text: item.text(),
                measure: measure_of(item.measure),
            })
        };
        jaccard(key, [text(a)?, text(b)?])
    };
    let radius = radius::choose(&distinct, criteria, job.options.seed, &of_rows)?;
    Ok((radius, count))
}

row! {
    /// A distinct fingerprint with its first item in keep order.
    struct DistinctRow {
        fingerprint: u128,
        item: u64,
    }
}

/// The distinct fingerprints, in a temporary file.
struct Distinct<'j> {
    job: &'j StagedJob<'j>,
    rows: RowFile<DistinctRow>,
}

impl<'j> Distinct<'j> {
    fn of(
        job: &'j StagedJob<'j>,
        fingerprints: &RowFile<FingerprintRow>,
        dir: &Path,
    ) -> Result<Self, DedupError> {
        let mut writer = RowWriter::create(&dir.join("distinct"))?;
        let mut last = None;
        for (at, row) in (0..).zip(fingerprints.all()) {
            let FingerprintRow {
                fingerprint, item, ..
            } = row?;
            job.check_at(at)?;
            if last.replace(fingerprint) != Some(fingerprint) {
                writer.push(DistinctRow { fingerprint, item })?;
            }
        }
        let rows = writer.finish_without_name()?;
        Ok(Self { job, rows })
    }
}

impl Fingerprints for Distinct<'_> {
    fn count(&self) -> usize {
        self.rows.len() as usize
    }

    fn at(&self, position: usize) -> Result<u128, DedupError> {
        Ok(self.rows.get(position as u64)?.fingerprint)
    }

    fn blocks(&self, each: &mut dyn FnMut(usize, &[u128])) -> Result<(), DedupError> {
        let mut block = Vec::new();
        for first in (0..self.rows.len()).step_by(BLOCK_ROWS) {
            self.job.check_cancelled()?;
            block.clear();
            for row in self
                .rows
                .range(first..self.rows.len().min(first + BLOCK_ROWS as u64))
            {
                block.push(row?.fingerprint);
            }
            each(first as usize, &block);
        }
        Ok(())
    }
}

/// Writes the distinct fingerprints at the width of the join, with their items, or empty files without a width. Returns the
/// number of rows.
fn write_rows(
    job: &StagedJob<'_>,
    fingerprints: &RowFile<FingerprintRow>,
    bits: Option<u32>,
    dir: &Path,
) -> Result<u64, DedupError> {
    let mut sorter = RowSorter::new(dir, job.sort_memory());
    if let Some(bits) = bits {
        for row in fingerprints.all() {
            let row = row?;
            sorter.push(FingerprintRow {
                fingerprint: row.fingerprint & (u128::MAX >> (128 - bits)),
                first: row.item,
                item: row.item,
            })?;
        }
    }
    let mut rows = RowWriter::create(&dir.join(ROWS))?;
    let mut items = RowWriter::create(&dir.join(ROW_ITEMS))?;
    let mut ends = RowWriter::create(&dir.join(ROW_ENDS))?;
    let mut last = None;
    sorter.finish(
        |FingerprintRow {
             fingerprint, item, ..
         }| {
            job.check_at(items.rows())?;
            if last != Some(fingerprint) {
                if last.is_some() {
                    ends.push(Number { value: items.rows() })?;
                }
                rows.push(JoinRow { fingerprint })?;
                last = Some(fingerprint);
            }
            items.push(Number { value: item })
        },
    )?;
    if last.is_some() {
        ends.push(Number { value: items.rows() })?;
    }
    let count = rows.rows();
    rows.finish()?;
    items.finish()?;
    ends.finish()?;
    Ok(count)
}
