//! Finds the passages that many texts share, one reference after another as in a run in memory.

use std::path::Path;

use super::folder::{Stage, Task};
use super::job::StagedJob;
use super::outputs::{COVERED, HOLDER_PLACES, HOLDERS, PassagesSummary, REFERENCES};
use super::part_tables::{HolderPlaceRow, HolderRow, ReferenceRow};
use super::shared_index::SharedIndex;
use super::text_table::StoredTexts;
use crate::error::DedupError;
use crate::ids::Id;
use crate::parts::{PassageInput, SortSpace, TextId, Texts, find_passages};
use crate::rows::{Number, RowFile, RowWriter};

/// Finds the passages of many texts.
pub(super) fn find(job: &StagedJob<'_>) -> Result<PassagesSummary, DedupError> {
    job.folder
        .run(Task::only(Stage::Passages), |dir| find_in(job, dir))
}

fn find_in(job: &StagedJob<'_>, dir: &Path) -> Result<PassagesSummary, DedupError> {
    let index = SharedIndex::open(job)?;
    let table = StoredTexts::open(job)?;
    let references: RowFile<ReferenceRow> = job.folder.rows(Task::only(Stage::Shared), REFERENCES)?;
    let input = PassageInput {
        texts: &Texts::new(&table, job.spool()?),
        index: &index,
        key: job.items_summary()?.key.finish(),
        work: SortSpace::new(dir, job.sort_memory()),
        check_cancelled: &|| job.check_cancelled(),
    };
    let references = references.all().map(|row| Ok(TextId::new(row?.text)));
    let mut passages = find_passages(input, job.least_part(), references)?;
    let mut covered = RowWriter::create(&dir.join(COVERED))?;
    for value in passages.covered.words() {
        covered.push(Number { value })?;
    }
    covered.finish()?;
    let mut rows = RowWriter::create(&dir.join(HOLDERS))?;
    let mut places = RowWriter::create(&dir.join(HOLDER_PLACES))?;
    passages.found.each(|holders, holder| {
        for place in &holder.places {
            places.push(HolderPlaceRow {
                start: place.start,
                end: place.end,
            })?;
        }
        rows.push(HolderRow {
            text: holder.text.get(),
            holders: holders as u32,
            is_reference: holder.is_reference.into(),
            share: holder.share.to_bits(),
            end: places.rows(),
        })
    })?;
    rows.finish()?;
    places.finish()?;
    Ok(PassagesSummary {
        small: passages.found.unreported(),
        phrases: passages.left.phrases,
        limited: passages.left.limited,
    })
}
