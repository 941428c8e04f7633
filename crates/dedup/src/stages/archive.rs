//! The documents of a staged run on disk: their numbers in input order, their classes and their names.

use std::borrow::Cow;

use twinprint_index::PositionedFile;
use twinprint_io::work::WorkError;

use super::folder::{Stage, Task};
use super::job::StagedJob;
use super::outputs::slice_file;
use super::tables::{DocumentNumber, DocumentRow};
use crate::corpus::{DocumentName, DocumentNames, unnamed};
use crate::error::DedupError;
use crate::rows::{Number, RowFile};

/// The documents of a staged run.
pub(super) struct Archive<'j> {
    job: &'j StagedJob<'j>,
    slices: Vec<ArchiveSlice>,
}

/// The documents of a slice.
pub(super) struct ArchiveSlice {
    pub(super) number: u32,
    /// The number of its first document in input order, from 0.
    first: u64,
    pub(super) documents: RowFile<DocumentRow>,
    /// For each rejected record, the document that follows it in the slice.
    pub(super) rejects: RowFile<Number>,
    ids: PositionedFile,
    path: std::path::PathBuf,
}

impl<'j> Archive<'j> {
    pub(super) fn open(job: &'j StagedJob<'j>) -> Result<Self, DedupError> {
        let mut slices = Vec::new();
        let mut first = 0;
        for part in job.spec.parts() {
            let task = Task::new(Stage::Analyse, part);
            for slice in &job.part(part)?.slices {
                let path = |name| job.folder.file(task, &slice_file(name, slice.number));
                let ids = path("ids");
                let file = std::fs::File::open(&ids).map_err(|error| WorkError::file(&ids, error))?;
                slices.push(ArchiveSlice {
                    number: slice.number,
                    first,
                    documents: RowFile::open(&path("documents"))?,
                    rejects: RowFile::open(&path("rejects"))?,
                    ids: PositionedFile::new(file),
                    path: ids,
                });
                first += u64::from(slice.documents);
            }
        }
        if first > u64::from(u32::MAX) {
            return Err(DedupError::TooManyDocuments { limit: u32::MAX });
        }
        Ok(Self { job, slices })
    }

    pub(super) fn slices(&self) -> &[ArchiveSlice] {
        &self.slices
    }

    /// The number of a document in input order.
    pub(super) fn in_input_order(&self, document: u64) -> u32 {
        let document = DocumentNumber(document);
        let at = self
            .slices
            .partition_point(|slice| slice.number < document.slice());
        let first = self.slices.get(at).map_or(0, |slice| slice.first);
        (first + u64::from(document.position())) as u32
    }

    /// The name of a document of a slice, from its row and the row before it.
    fn name_of(
        &self,
        slice: &ArchiveSlice,
        row: DocumentRow,
        id_start: u64,
    ) -> Result<DocumentName<'_>, DedupError> {
        let source = self.job.sources.file(row.source);
        let mut id = vec![0; (row.id_end - id_start) as usize];
        let failed = |error| WorkError::file(&slice.path, error);
        slice.ids.read_exact_at(&mut id, id_start).map_err(failed)?;
        let id = String::from_utf8(id).map_err(|error| failed(std::io::Error::other(error)))?;
        Ok(DocumentName {
            id: if id.is_empty() {
                unnamed(source, row.line)
            } else {
                Cow::Owned(id)
            },
            source: Cow::Borrowed(&source.label),
            line: row.line,
        })
    }

    /// The names of the documents of a slice, with their rows.
    pub(super) fn names<'a>(
        &'a self,
        slice: &'a ArchiveSlice,
    ) -> impl Iterator<Item = Result<(DocumentRow, DocumentName<'a>), DedupError>> {
        let mut id_start = 0;
        slice.documents.all().map(move |row| {
            let row = row?;
            let name = self.name_of(slice, row, id_start)?;
            id_start = row.id_end;
            Ok((row, name))
        })
    }
}

impl DocumentNames for Archive<'_> {
    fn name(&self, document: u32) -> Result<DocumentName<'_>, DedupError> {
        let document = u64::from(document);
        let after = self.slices.partition_point(|slice| slice.first <= document);
        // Documents of these numbers exist, so a slice begins at or before each.
        let slice = &self.slices[after - 1];
        let position = document - slice.first;
        let id_start = match position {
            0 => 0,
            after => slice.documents.get(after - 1)?.id_end,
        };
        self.name_of(slice, slice.documents.get(position)?, id_start)
    }
}
