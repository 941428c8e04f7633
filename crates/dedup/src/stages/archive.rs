//! The documents of a staged run on disk: their numbers in input order, their classes and their names.

use std::borrow::Cow;
use std::sync::Arc;

use super::folder::{Stage, Task};
use super::job::StagedJob;
use super::memo::Memo;
use super::outputs::{DECISIONS, slice_file};
use super::tables::{DocumentNumber, DocumentRow};
use crate::corpus::{DocumentName, DocumentNames, unnamed};
use crate::error::{DedupError, StageDamage};
use crate::ids::{DocumentId, Id};
use crate::rows::{BlockFile, BlockReader, Number, RowFile};

/// The documents of a staged run.
pub(super) struct Archive<'j> {
    job: &'j StagedJob<'j>,
    slices: Vec<ArchiveSlice>,
    /// The names that were asked for by number.
    names: Memo<u32, Arc<DocumentName<'static>>>,
}

/// The documents of a slice.
pub(super) struct ArchiveSlice {
    pub(super) number: u32,
    /// The number of its first document in input order, from 0.
    first: u64,
    pub(super) documents: RowFile<DocumentRow>,
    /// For each rejected record, the document that follows it in the slice.
    pub(super) rejects: RowFile<Number>,
    ids: BlockFile,
}

impl<'j> Archive<'j> {
    pub(super) fn open(job: &'j StagedJob<'j>) -> Result<Self, DedupError> {
        let mut slices = Vec::new();
        let mut first = 0;
        for part in job.spec.parts() {
            let task = Task::new(Stage::Analyse, part);
            for slice in &job.part(part)?.slices {
                let file = |name| slice_file(name, slice.number);
                slices.push(ArchiveSlice {
                    number: slice.number,
                    first,
                    documents: job.folder.rows(task, &file("documents"))?,
                    rejects: job.folder.rows(task, &file("rejects"))?,
                    ids: job.folder.blocks(task, &file("ids"))?,
                });
                first += u64::from(slice.documents);
            }
        }
        if first > u64::from(u32::MAX) {
            return Err(DedupError::TooManyDocuments { limit: u32::MAX });
        }
        Ok(Self {
            job,
            slices,
            names: Memo::default(),
        })
    }

    pub(super) fn slices(&self) -> &[ArchiveSlice] {
        &self.slices
    }

    /// The number of documents.
    pub(super) fn documents(&self) -> u64 {
        self.slices
            .last()
            .map_or(0, |slice| slice.first + slice.documents.len())
    }

    /// For each rejected record, the document that follows it in the input; ascending.
    pub(super) fn rejects(&self) -> Result<Vec<DocumentId>, DedupError> {
        let of_slice = |slice: &ArchiveSlice| {
            let first = slice.first;
            let rows = slice.rejects.all();
            rows.map(move |row| Ok(DocumentId::new((first + row?.value) as u32)))
                .collect::<Result<Vec<_>, DedupError>>()
        };
        let slices: Vec<_> = self.slices.iter().map(of_slice).collect::<Result<_, _>>()?;
        Ok(slices.concat())
    }

    /// The number of a document in input order.
    ///
    /// # Errors
    /// There is no such document.
    pub(super) fn in_input_order(&self, document: u64) -> Result<u32, DedupError> {
        let document = DocumentNumber(document);
        let position = u64::from(document.position());
        let found = self
            .slices
            .binary_search_by_key(&document.slice(), |slice| slice.number);
        let slice = found.ok().and_then(|at| self.slices.get(at));
        let slice = slice.filter(|slice| position < slice.documents.len());
        let slice = slice.ok_or_else(|| self.unknown())?;
        Ok((slice.first + position) as u32)
    }

    /// The error that a decision names a document that does not exist.
    fn unknown(&self) -> DedupError {
        let decisions = self.job.folder.path(Task::only(Stage::Groups)).join(DECISIONS);
        DedupError::damaged_stage(&decisions, StageDamage::Content)
    }

    /// The name of a document of a slice, from its row and its id, which is empty if it has none.
    fn name_of(
        &self,
        slice: &ArchiveSlice,
        row: DocumentRow,
        id: Vec<u8>,
    ) -> Result<DocumentName<'_>, DedupError> {
        let source = self.job.sources.list().get(row.source as usize);
        let source = source.ok_or_else(|| slice.documents.damaged())?;
        let id = String::from_utf8(id).map_err(|_| slice.ids.damaged())?;
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
        let mut ids = BlockReader::at(&slice.ids, 0);
        slice.documents.all().map(move |row| {
            let row = row?;
            let id = ids.next(row.id_end)?.to_vec();
            let name = self.name_of(slice, row, id)?;
            Ok((row, name))
        })
    }

    fn read_name(&self, document: u32) -> Result<DocumentName<'static>, DedupError> {
        let document = u64::from(document);
        let after = self.slices.partition_point(|slice| slice.first <= document);
        let Some(slice) = self.slices[..after].last() else {
            return Err(self.unknown());
        };
        let position = document - slice.first;
        // The id begins where that of the document before it ends. Both rows are read at a time.
        let mut rows = slice.documents.range(position.saturating_sub(1)..position + 1);
        let first = rows.next().unwrap_or_else(|| Err(slice.documents.damaged()))?;
        let (id_start, row) = match rows.next() {
            None => (0, first),
            Some(row) => (first.id_end, row?),
        };
        let id = slice.ids.read(id_start..row.id_end)?;
        let DocumentName { id, source, line } = self.name_of(slice, row, id)?;
        Ok(DocumentName {
            id: Cow::Owned(id.into_owned()),
            source: Cow::Owned(source.into_owned()),
            line,
        })
    }
}

impl DocumentNames for Archive<'_> {
    fn name(&self, document: u32) -> Result<DocumentName<'_>, DedupError> {
        let name = self
            .names
            .get(document, || self.read_name(document).map(Arc::new))?;
        Ok(DocumentName::clone(&name))
    }
}
