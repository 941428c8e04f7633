//! The hot rows that the report lists.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use twinprint_fingerprint::kernel::hamming_one_to_many;
use twinprint_io::results::HotRowReport;
use twinprint_text::fingerprint_hex;

use super::archive::Archive;
use super::bits::Bits;
use super::folder::{Stage, Task};
use super::job::StagedJob;
use super::joined::JoinedRows;
use super::outputs::{HotRowSummary, ROWS};
use super::tables::JoinRow;
use crate::candidates::MAX_REPORTED_ROWS;
use crate::corpus::DocumentNames;
use crate::error::DedupError;

/// A hot row. Rows with more texts come first, and of these the one with the first item.
type HotRow = (Reverse<u64>, u64, u64);

/// Describes the hot rows that the report lists. Their neighbours are counted by comparing them with all rows.
pub(super) fn describe(
    job: &StagedJob<'_>,
    rows: &JoinedRows<'_>,
    hot: &Bits,
) -> Result<Vec<HotRowSummary>, DedupError> {
    let chosen = choose(rows, hot)?;
    if chosen.is_empty() {
        return Ok(Vec::new());
    }
    let radius = &job.parameters()?.radius;
    let fingerprints = job.folder.rows::<JoinRow>(Task::only(Stage::Parameters), ROWS)?;
    let own = |&(_, _, row): &HotRow| Ok(fingerprints.get(row)?.fingerprint);
    let own: Vec<u128> = chosen.iter().map(own).collect::<Result<_, DedupError>>()?;
    let mut neighbors = vec![0u64; chosen.len()];
    let mut near = Vec::new();
    for block in 0..job.row_blocks()? {
        job.check_cancelled()?;
        let sizes = rows.sizes(block)?;
        let range = job.row_block(block, fingerprints.len())?;
        let others = fingerprints.range(range.clone()).map(|row| Ok(row?.fingerprint));
        let others: Vec<u128> = others.collect::<Result<_, DedupError>>()?;
        for ((&(_, _, row), &fingerprint), neighbors) in chosen.iter().zip(&own).zip(&mut neighbors) {
            near.clear();
            hamming_one_to_many(fingerprint, &others, radius.k, &mut near);
            let hits = near.iter().map(|hit| range.start + u64::from(hit.row));
            *neighbors += hits
                .filter(|&other| other != row)
                .map(|other| sizes.of(other).map_or(0, u64::from))
                .sum::<u64>();
        }
    }
    let described = chosen.into_iter().zip(own).zip(neighbors);
    Ok(described
        .map(
            |(((Reverse(texts), item, _), fingerprint), neighbors)| HotRowSummary {
                fingerprint: fingerprint_hex(fingerprint, radius.bits),
                texts,
                neighbors,
                item,
            },
        )
        .collect())
}

/// The rows that are listed, in the order of the list.
fn choose(rows: &JoinedRows<'_>, hot: &Bits) -> Result<Vec<HotRow>, DedupError> {
    let mut items = rows.items().cursor();
    let mut chosen = BinaryHeap::new();
    rows.each_row(|row, positions| {
        if hot.has(row) {
            let first = items.get(positions.start)?.value;
            chosen.push((Reverse(positions.end.saturating_sub(positions.start)), first, row));
            if chosen.len() > MAX_REPORTED_ROWS {
                chosen.pop();
            }
        }
        Ok(())
    })?;
    Ok(chosen.into_sorted_vec())
}

/// The hot rows as the report lists them.
pub(super) fn report(job: &StagedJob<'_>) -> Result<Vec<HotRowReport>, DedupError> {
    let hot = &job.candidates()?.hot;
    if hot.is_empty() {
        return Ok(Vec::new());
    }
    let archive = Archive::open(job)?;
    let listed = hot.iter().map(|row| {
        let document = archive.in_input_order(job.items()?.get(row.item)?.representative)?;
        Ok(HotRowReport {
            fingerprint: row.fingerprint.clone(),
            texts: row.texts,
            neighbors: row.neighbors,
            example: archive.name(document)?.id.into_owned(),
        })
    });
    listed.collect()
}
