//! The seventh stage: verifies the candidates of two blocks of items on their texts.
//!
//! Every candidate is verified, also those of which no item will lead, because the leaders are not known yet.

use std::path::Path;

use rayon::prelude::*;

use super::folder::{Stage, Task};
use super::former;
use super::item_tables::ItemTables;
use super::job::StagedJob;
use super::outputs::{BELOW, EDGES, EdgeBlocks, VERIFIED, VerifySummary};
use super::tables::{ComparedRow, EdgeRow, VerifiedRow};
use crate::corpus::distance;
use crate::corpus::shingle_sets::SharedSet;
use crate::error::DedupError;
use crate::ids::{Id, ItemId};
use crate::options::least_near_miss;
use crate::rows::RowWriter;

/// The largest number of candidates that are verified at a time.
const BATCH_EDGES: usize = 1 << 16;

/// Verifies the candidates of two blocks.
pub(super) fn verify(
    job: &StagedJob<'_>,
    number: u32,
    blocks: EdgeBlocks,
) -> Result<VerifySummary, DedupError> {
    let task = Task::new(Stage::Verify, number);
    job.folder.run(task, |dir| verify_blocks(job, blocks, dir))
}

/// Takes all candidates as duplicates, in a run without verification.
fn take_all(job: &StagedJob<'_>, edges: &[EdgeRow], dir: &Path) -> Result<VerifySummary, DedupError> {
    let bits = job.parameters()?.radius.bits;
    let items = job.items()?;
    let mut writer = RowWriter::create(&dir.join(VERIFIED))?;
    for (at, edge) in (0..).zip(edges) {
        job.check_at(at)?;
        let [own, other] = [items.get(edge.item)?, items.get(edge.earlier)?];
        writer.push(VerifiedRow {
            item: edge.item,
            earlier: edge.earlier,
            distance: distance(own.fingerprint, other.fingerprint, bits),
            jaccard: f64::NAN.to_bits(),
            containment: f64::NAN.to_bits(),
        })?;
        job.progress.advance(1);
    }
    writer.finish()?;
    RowWriter::<VerifiedRow>::create(&dir.join(BELOW))?.finish()?;
    Ok(VerifySummary {
        verified: 0,
        duplicates: edges.len() as u64,
    })
}

fn verify_blocks(job: &StagedJob<'_>, blocks: EdgeBlocks, dir: &Path) -> Result<VerifySummary, DedupError> {
    let edges = job.folder.rows::<EdgeRow>(Task::only(Stage::Candidates), EDGES)?;
    let edges: Vec<EdgeRow> = edges.range(blocks.from..blocks.to).collect::<Result<_, _>>()?;
    if !job.options.verify {
        return take_all(job, &edges, dir);
    }
    let candidates = edges.len() as u64;
    let (edges, settled) = former::split(job, edges)?;
    job.progress.advance(settled.len() as u64);
    let mut items: Vec<u64> = edges.iter().flat_map(|edge| [edge.item, edge.earlier]).collect();
    items.par_sort_unstable();
    items.dedup();
    let tables = ItemTables::load(job, &items)?;
    let parameters = job.parameters()?;
    let capacity = job.set_bytes();
    let mut sets = tables.sets(job)?;
    let local = |item: u64| ItemId::from_index(items.partition_point(|&other| other < item));
    let mut files = VerifiedFiles::create(dir, job.options.threshold)?;
    let mut settled = settled.iter().filter_map(ComparedRow::verified).peekable();
    let mut rest = edges.as_slice();
    while !rest.is_empty() {
        job.check_cancelled()?;
        // A batch ends before the sets of its items take the capacity.
        let (mut bytes, mut count) = (0, 0);
        let mut pairs = Vec::new();
        while let Some(edge) = rest
            .get(count)
            .filter(|_| count < BATCH_EDGES && bytes < capacity / 2)
        {
            let pair = [local(edge.item), local(edge.earlier)];
            // The sets of an item are loaded once for all of its candidates.
            let is_new = count == 0 || rest[count - 1].item != edge.item;
            bytes += sets.cost(pair[1]) + if is_new { sets.cost(pair[0]) } else { 0 };
            pairs.push(pair);
            count += 1;
        }
        let batch;
        (batch, rest) = rest.split_at(count);
        let least = least_near_miss(job.options.threshold);
        let keys = pairs.iter().map(|&[item, earlier]| sets.pair_keys(item, earlier));
        let keys: Vec<_> = keys
            .filter(|&keys| !sets.are_apart(keys, least))
            .flatten()
            .collect();
        sets.begin_block();
        sets.load(keys.into_iter())?;
        let verified: Vec<Option<VerifiedRow>> = batch
            .par_iter()
            .zip(&pairs)
            .map(|(edge, &[item, earlier])| {
                let keys = sets.pair_keys(item, earlier);
                let [Some(a), Some(b)] = keys.map(|key| sets.get(key)) else {
                    return None;
                };
                let overlap = SharedSet::as_ref(a).overlap_at_least(b, least)?;
                Some(VerifiedRow {
                    item: edge.item,
                    earlier: edge.earlier,
                    distance: tables.distance(item, earlier, parameters.radius.bits),
                    jaccard: overlap.jaccard().to_bits(),
                    containment: overlap.containment().to_bits(),
                })
            })
            .collect();
        for row in verified.into_iter().flatten() {
            while let Some(earlier) = settled.next_if(|settled| *settled < row) {
                files.push(earlier)?;
            }
            files.push(row)?;
        }
        job.progress.advance(batch.len() as u64);
    }
    settled.try_for_each(|row| files.push(row))?;
    Ok(VerifySummary {
        verified: candidates,
        duplicates: files.finish()?,
    })
}

/// The files of a task: the duplicates, and the candidates just below the threshold.
struct VerifiedFiles {
    threshold: f64,
    duplicates: RowWriter<VerifiedRow>,
    below: RowWriter<VerifiedRow>,
}

impl VerifiedFiles {
    fn create(dir: &Path, threshold: f64) -> Result<Self, DedupError> {
        Ok(Self {
            threshold,
            duplicates: RowWriter::create(&dir.join(VERIFIED))?,
            below: RowWriter::create(&dir.join(BELOW))?,
        })
    }

    fn push(&mut self, row: VerifiedRow) -> Result<(), DedupError> {
        if f64::from_bits(row.jaccard) >= self.threshold {
            self.duplicates.push(row)
        } else {
            self.below.push(row)
        }
    }

    /// Returns the number of duplicates.
    fn finish(self) -> Result<u64, DedupError> {
        let duplicates = self.duplicates.rows();
        self.duplicates.finish()?;
        self.below.finish()?;
        Ok(duplicates)
    }
}
