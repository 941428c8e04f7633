//! Writes the partial copies that the stages have found.

use std::path::Path;

use twinprint_io::results::PartsReport;
use twinprint_io::sink::OutputDir;

use super::archive::Archive;
use super::folder::{Stage, Task};
use super::job::StagedJob;
use super::outputs::{HOLDER_PLACES, HOLDERS, PART_PLACES, PARTS, PartsSummary, PassagesSummary};
use super::part_tables::{HolderPlaceRow, HolderRow, PartPlaceRow, PartRow};
use super::text_table::StoredTexts;
use crate::corpus::RecordOrder;
use crate::error::DedupError;
use crate::ids::{DocumentId, Id};
use crate::parts::{FoundParts, Holder, RowInput, SortSpace, TextDocument, TextDocuments, TextId, TextPair};
use crate::rows::{Merge, RowFile, next_if};

/// Writes `parts.jsonl` and `passages.jsonl`, with temporary files in `work`. Returns the counts of the search.
pub(super) fn write(
    job: &StagedJob<'_>,
    archive: &Archive<'_>,
    dir: &OutputDir,
    work: &Path,
) -> Result<PartsReport, DedupError> {
    let tasks = job.tasks(Stage::Parts)?.unwrap_or(0);
    let shared = job.shared()?;
    let passages: PassagesSummary = job.folder.summary(Task::only(Stage::Passages))?;
    let mut report = PartsReport {
        least: job.least_part(),
        fingerprints: shared.fingerprints,
        common: shared.common,
        small_passages: passages.small,
        phrases: passages.phrases,
        limited: passages.limited,
        ..PartsReport::default()
    };
    for number in 0..tasks {
        let summary: PartsSummary = job.folder.summary(Task::new(Stage::Parts, number))?;
        report.candidates += summary.candidates;
    }
    let passages = Task::only(Stage::Passages);
    let mut found = StoredParts {
        pairs: job.folder.rows_of(Stage::Parts, tasks, PARTS)?,
        pair_places: job.folder.rows_of(Stage::Parts, tasks, PART_PLACES)?,
        holders: job.folder.rows(passages, HOLDERS)?,
        holder_places: job.folder.rows(passages, HOLDER_PLACES)?,
        // The pairs and their places are merged at the same time.
        merge_memory: job.merge_memory() / 2,
    };
    let rejects = archive.rejects()?;
    let input = RowInput {
        documents: &StoredDocuments {
            texts: StoredTexts::open(job)?,
            archive,
        },
        names: archive,
        sources: job.sources,
        records: RecordOrder {
            documents: archive.documents(),
            rejects: &rejects,
        },
        work: SortSpace::new(work, job.sort_memory()),
    };
    input.write(dir, &mut found, &mut report)?;
    Ok(report)
}

/// The documents of the texts of a run on disk.
struct StoredDocuments<'j> {
    texts: StoredTexts,
    archive: &'j Archive<'j>,
}

impl TextDocuments for StoredDocuments<'_> {
    fn document(&self, text: TextId) -> Result<TextDocument, DedupError> {
        let row = self.texts.row(text)?;
        let document = self.archive.in_input_order(row.representative)?;
        Ok(TextDocument {
            document: DocumentId::new(document),
            documents: row.documents,
        })
    }
}

/// The pairs and passages in the outputs of the stages.
struct StoredParts {
    pairs: Vec<RowFile<PartRow>>,
    pair_places: Vec<RowFile<PartPlaceRow>>,
    holders: RowFile<HolderRow>,
    holder_places: RowFile<HolderPlaceRow>,
    merge_memory: u64,
}

impl FoundParts for StoredParts {
    fn each_pair(
        &mut self,
        f: &mut dyn FnMut(&TextPair) -> Result<(), DedupError>,
    ) -> Result<(), DedupError> {
        let mut places = Merge::of_files(&self.pair_places, self.merge_memory).peekable();
        for row in Merge::of_files(&self.pairs, self.merge_memory) {
            let row = row?;
            let mut passages = Vec::new();
            while let Some(place) = next_if(&mut places, |place| (place.a, place.b) == (row.a, row.b))? {
                passages.push([place.start_in_a..place.end_in_a, place.start_in_b..place.end_in_b]);
            }
            f(&TextPair {
                a: TextId::new(row.a),
                b: TextId::new(row.b),
                jaccard: f64::from_bits(row.jaccard),
                containment: f64::from_bits(row.containment),
                shares: [row.share_of_a, row.share_of_b].map(f64::from_bits),
                passages,
            })?;
        }
        Ok(())
    }

    fn each_holder(
        &mut self,
        f: &mut dyn FnMut(u64, Holder) -> Result<(), DedupError>,
    ) -> Result<(), DedupError> {
        let mut start = 0;
        let mut places = self.holder_places.all();
        for row in self.holders.all() {
            let row = row?;
            let mut own = Vec::new();
            while start < row.end {
                let place = places.next().ok_or_else(|| self.holder_places.damaged())??;
                own.push(place.start..place.end);
                start += 1;
            }
            let holder = Holder {
                text: TextId::new(row.text),
                is_reference: row.is_reference == 1,
                share: f64::from_bits(row.share),
                places: own,
            };
            f(u64::from(row.holders), holder)?;
        }
        Ok(())
    }
}
