//! The fields that are added to the records of a run on disk, in files in input order.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use twinprint_io::rows::Ratio;

use super::against::KnownItems;
use super::archive::Archive;
use super::job::StagedJob;
use crate::corpus::DocumentNames;
use crate::error::DedupError;
use crate::options::Columns;
use crate::rows::{RowFile, RowSorter, RowWriter, row};
use crate::write::annotate::Annotation;

row! {
    /// The decision on a record. The number of the record is its position in the file.
    struct RecordRow {
        /// 0 for a rejected record, 1 for a removed document, 2 for a kept one.
        kept: u8,
        /// The document in input order.
        document: u32,
        /// The leader of the group in input order.
        leader: u32,
        size: u32,
        hamming: u32,
        /// The bits of the Jaccard; NaN if the texts were not compared.
        jaccard: u64,
        /// The number of the known document that the document duplicates, from 1; 0 if there is none.
        known: u64,
    }
}

row! {
    /// A document that does not lead its group, sorted by group and then in input order.
    struct Follower {
        leader: u32,
        document: u32,
    }
}

row! {
    /// The position of a document in its group, sorted by document.
    struct Placed {
        document: u32,
        place: u32,
    }
}

row! {
    /// The position of a document in its group. The number of the document is its position in the file.
    struct Place {
        place: u32,
    }
}

/// The decision on a document, as its record is annotated with it.
pub(super) struct Decided {
    pub(super) document: u32,
    pub(super) leader: u32,
    pub(super) size: u32,
    pub(super) kept: bool,
    pub(super) hamming: u32,
    /// NaN if the texts were not compared.
    pub(super) jaccard: f64,
    /// The number of the known document that the document duplicates, from 1; 0 if there is none.
    pub(super) known: u64,
}

/// Writes the annotations of all records in input order.
pub(super) struct AnnotationWriter {
    work: PathBuf,
    rows: RowWriter<RecordRow>,
    /// The documents that do not lead; `None` if no column has the position in the group.
    followers: Option<RowSorter<Follower>>,
    sort_memory: u64,
    documents: u32,
}

impl AnnotationWriter {
    pub(super) fn create(job: &StagedJob<'_>, work: &Path, columns: Columns) -> Result<Self, DedupError> {
        let sort_memory = job.sort_memory() / 2;
        Ok(Self {
            work: work.to_owned(),
            rows: RowWriter::create(&work.join("annotations"))?,
            followers: (columns == Columns::Duplodocus).then(|| RowSorter::new(work, sort_memory)),
            sort_memory,
            documents: 0,
        })
    }

    pub(super) fn push_reject(&mut self) -> Result<(), DedupError> {
        self.rows.push(RecordRow {
            kept: 0,
            document: 0,
            leader: 0,
            size: 0,
            hamming: 0,
            jaccard: 0,
            known: 0,
        })
    }

    pub(super) fn push(&mut self, decided: &Decided) -> Result<(), DedupError> {
        self.documents += 1;
        let &Decided { document, leader, .. } = decided;
        if let Some(followers) = self.followers.as_mut().filter(|_| leader != document) {
            followers.push(Follower { leader, document })?;
        }
        self.rows.push(RecordRow {
            kept: 1 + u8::from(decided.kept),
            document,
            leader,
            size: decided.size,
            hamming: decided.hamming,
            jaccard: decided.jaccard.to_bits(),
            known: decided.known,
        })
    }

    pub(super) fn finish(self) -> Result<AnnotationRows, DedupError> {
        let rows = self.rows.finish_without_name()?;
        let Some(followers) = self.followers else {
            return Ok(AnnotationRows { rows, places: None });
        };
        let mut placed = RowSorter::new(&self.work, self.sort_memory);
        let (mut group, mut place) = (None, 0);
        followers.finish(|Follower { leader, document }| {
            if group.replace(leader) != Some(leader) {
                place = 0;
            }
            place += 1;
            placed.push(Placed { document, place })
        })?;
        let mut places = RowWriter::create(&self.work.join("places"))?;
        let mut next = 0;
        let mut pad = |places: &mut RowWriter<Place>, to: u32| {
            while next < to {
                places.push(Place { place: 0 })?;
                next += 1;
            }
            next += 1;
            Ok::<(), DedupError>(())
        };
        placed.finish(|Placed { document, place }| {
            pad(&mut places, document)?;
            places.push(Place { place })
        })?;
        pad(&mut places, self.documents)?;
        Ok(AnnotationRows {
            rows,
            places: Some(places.finish_without_name()?),
        })
    }
}

/// The annotations of all records.
pub(super) struct AnnotationRows {
    rows: RowFile<RecordRow>,
    places: Option<RowFile<Place>>,
}

/// The annotations of all records, read when a record is copied.
pub(super) struct Annotations<'r> {
    pub(super) rows: AnnotationRows,
    pub(super) archive: &'r Archive<'r>,
    pub(super) known: &'r KnownItems,
    pub(super) verified: bool,
    /// The first failure to read.
    failure: Mutex<Option<DedupError>>,
}

impl<'r> Annotations<'r> {
    pub(super) fn new(
        rows: AnnotationRows,
        archive: &'r Archive<'r>,
        known: &'r KnownItems,
        verified: bool,
    ) -> Self {
        Self {
            rows,
            archive,
            known,
            verified,
            failure: Mutex::default(),
        }
    }

    /// The annotation of a record; `None` for a reject, and after a failure, which [`Annotations::check`] returns.
    pub(super) fn of(&self, record: u64) -> Option<Annotation<'r>> {
        self.read(record).unwrap_or_else(|error| {
            if let Ok(mut failure) = self.failure.lock() {
                failure.get_or_insert(error);
            }
            None
        })
    }

    /// Returns the first failure.
    pub(super) fn check(self) -> Result<(), DedupError> {
        self.failure.into_inner().ok().flatten().map_or(Ok(()), Err)
    }

    fn read(&self, record: u64) -> Result<Option<Annotation<'r>>, DedupError> {
        let row = self.rows.rows.get(record)?;
        if row.kept == 0 {
            return Ok(None);
        }
        let is_leader = row.kept == 2;
        let known = match row.known {
            0 => None,
            number => self.known.get(number - 1)?,
        };
        let duplicate_of = match known {
            Some(known) => Some(Cow::Owned(known.id.clone())),
            None if row.leader != row.document => Some(self.archive.name(row.leader)?.id),
            None => None,
        };
        Ok(Some(Annotation {
            document: row.document,
            cluster_id: row.leader,
            cluster_size: row.size,
            is_leader,
            duplicate_of,
            hamming: row.hamming,
            jaccard: Ratio::new(f64::from_bits(row.jaccard)).filter(|_| self.verified),
            dup_count: if is_leader { row.size } else { 0 },
            place: match &self.rows.places {
                Some(places) => places.get(row.document.into())?.place,
                None => 0,
            },
        }))
    }
}
