//! The first stage: analyses a part of the input, segment by segment.
//!
//! A part is a number of consecutive files. Its documents are read as in a run in memory, but the tables are written out
//! whenever they have [`SEGMENT_DOCUMENTS`] documents.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use twinprint_io::sink::OutputDir;
use twinprint_io::source::{Intake, IntegerType};
use twinprint_io::work::WorkError;

use super::folder::{Stage, Task};
use super::job::StagedJob;
use super::keep_key::{KeepKey, with_keep_key};
use super::tables::{DocumentNumber, DocumentRow, LocalClass, measure_field};
use crate::corpus::Corpus;
use crate::corpus::keep_order::KeepOrder;
use crate::error::DedupError;
use crate::ids::{Id, IdVec};
use crate::read::{self, ReadOptions, Rejects, Segments, SpoolPlace};
use crate::rows::{Number, RowWriter};

/// The number of documents from which a segment ends. It bounds the memory of the tables to about 200 MB.
const SEGMENT_DOCUMENTS: usize = 1 << 20;
/// The number of segments that a part can have.
pub(super) const MAX_SEGMENTS: u32 = 1 << 12;

/// The name of the spool of texts of a part.
pub(super) const TEXTS: &str = "texts";
/// The name of the rejected records of a part.
pub(super) const REJECTS: &str = "rejects.jsonl";

/// The name of a file of a segment.
pub(super) fn segment_file(name: &str, segment: u32) -> String {
    format!("{name}-{:05}", segment % MAX_SEGMENTS)
}

/// The summary of an analysed part.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PartSummary {
    pub(super) segments: Vec<SegmentSummary>,
    /// The number of records of each file of the part.
    pub(super) records: Vec<u64>,
    pub(super) input_bytes: u64,
    pub(super) text_bytes: u64,
    pub(super) blank_lines: u64,
    pub(super) other_records: BTreeMap<String, u64>,
    pub(super) charsets: BTreeMap<String, u64>,
    pub(super) intake: Intake,
}

/// The counts of a segment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SegmentSummary {
    pub(super) number: u32,
    pub(super) documents: u32,
    pub(super) rejected: u64,
    pub(super) undated: u64,
    /// True if every document has an id, and all are from columns of integers of `id_type`.
    pub(super) integer_ids: bool,
    /// The type of the column of ids; `None` if there are no documents or not all ids are such integers.
    pub(super) id_type: Option<IntegerType>,
}

/// Analyses a part of the input.
pub(super) fn analyse(job: &StagedJob<'_>, part: u32) -> Result<PartSummary, DedupError> {
    let task = Task {
        stage: Stage::Analyse,
        number: part,
    };
    job.folder.run(task, |dir| {
        with_keep_key!(job.options.keep, analyse_part(job, part, dir))
    })
}

fn analyse_part<K: KeepKey>(job: &StagedJob<'_>, part: u32, dir: &Path) -> Result<PartSummary, DedupError> {
    let files = job.spec.part(part);
    let sources = job.sources.subset(&files.clone().collect::<Vec<u32>>());
    let rejects_dir = dir.join("rejects");
    let output = OutputDir::create(&rejects_dir)?;
    let mut rejects = Rejects::File(output.file(REJECTS)?);
    let texts = dir.join(TEXTS);
    let reading = ReadOptions {
        options: job.options,
        hasher: job.spec.hasher(),
        spool: SpoolPlace::File(&texts),
        budget: job.budget,
        max_record_bytes: u64::MAX,
        digest: None,
        reject_check: None,
    };
    let mut segments = WrittenSegments::<K> {
        dir,
        part,
        first_file: files.start,
        summaries: Vec::new(),
        key: std::marker::PhantomData,
    };
    let read = read::read_segments(&sources, reading, Some(&mut segments), &mut rejects, job.progress)?;
    rejects.finish()?;
    let failed = |error| WorkError::file(dir, error);
    fs::rename(output.files_dir().join(REJECTS), dir.join(REJECTS)).map_err(failed)?;
    drop(output);
    fs::remove_dir_all(&rejects_dir).map_err(failed)?;
    let records = 0..sources.list().len() as u32;
    let counts = read.counts;
    let mut intake = counts.intake;
    for file in &mut intake.files {
        file.file += files.start;
    }
    Ok(PartSummary {
        segments: segments.summaries,
        records: records.map(|file| sources.records(file).unwrap_or(0)).collect(),
        input_bytes: counts.input_bytes,
        text_bytes: counts.text_bytes,
        blank_lines: counts.blank_lines,
        other_records: owned(counts.other_records),
        charsets: owned(sources.charsets()),
        intake,
    })
}

fn owned(counts: BTreeMap<&'static str, u64>) -> BTreeMap<String, u64> {
    counts
        .into_iter()
        .map(|(name, count)| (name.to_owned(), count))
        .collect()
}

/// Writes the tables of each segment.
struct WrittenSegments<'d, K> {
    dir: &'d Path,
    part: u32,
    first_file: u32,
    summaries: Vec<SegmentSummary>,
    key: std::marker::PhantomData<K>,
}

impl<K: KeepKey> Segments for WrittenSegments<'_, K> {
    fn is_full(&self, corpus: &Corpus) -> bool {
        corpus.documents.len() >= SEGMENT_DOCUMENTS
    }

    fn end(&mut self, corpus: Corpus) -> Result<(), DedupError> {
        let in_part = self.summaries.len() as u32;
        if in_part >= MAX_SEGMENTS {
            return Err(DedupError::option(
                "part",
                format!("a part of the input has more than {MAX_SEGMENTS} segments of a million documents"),
            ));
        }
        let segment = self.part * MAX_SEGMENTS + in_part;
        self.write_documents(&corpus, segment)?;
        self.write_classes(&corpus, segment)?;
        let documents = &corpus.documents;
        self.summaries.push(SegmentSummary {
            number: segment,
            documents: documents.len() as u32,
            rejected: documents.rejected(),
            undated: documents.undated() as u64,
            integer_ids: documents.id_type().is_some(),
            id_type: documents.id_type(),
        });
        Ok(())
    }
}

impl<K: KeepKey> WrittenSegments<'_, K> {
    fn path(&self, name: &str, segment: u32) -> PathBuf {
        self.dir.join(segment_file(name, segment))
    }

    fn write_documents(&self, corpus: &Corpus, segment: u32) -> Result<(), DedupError> {
        let documents = &corpus.documents;
        let mut rows = RowWriter::create(&self.path("documents", segment))?;
        let mut ids = String::new();
        for document in documents.document_ids() {
            ids.push_str(documents.id(document).unwrap_or_default());
            rows.push(DocumentRow {
                class: documents.class[document].get(),
                source: self.first_file + documents.source(document),
                line: documents.line(document),
                id_end: ids.len() as u64,
            })?;
        }
        rows.finish()?;
        let path = self.path("ids", segment);
        fs::write(&path, ids).map_err(|error| WorkError::file(&path, error))?;
        let mut rejects = RowWriter::create(&self.path("rejects", segment))?;
        for document in documents.rejects() {
            let value = u64::from(document.get());
            rejects.push(Number { value })?;
        }
        rejects.finish()?;
        Ok(())
    }

    fn write_classes(&self, corpus: &Corpus, segment: u32) -> Result<(), DedupError> {
        let Corpus { documents, classes } = corpus;
        let keep = KeepOrder::new(documents, classes.len());
        let mut first = IdVec::filled(u32::MAX, classes.len());
        for (document, &class) in documents.class.entries() {
            first[class] = first[class].min(document.get());
        }
        let mut rows = Vec::with_capacity(classes.len());
        for (key, class) in classes.keys() {
            let representative = keep.representative_of(class);
            let text = classes.text[class];
            let analysed = classes.is_analysed(class);
            let key_of = documents
                .sort
                .get(representative)
                .map_or(K::of(&crate::corpus::SortKey::Input), K::of);
            rows.push(LocalClass {
                text_hash: u128::from(key[1]) << 64 | u128::from(key[0]),
                class: DocumentNumber::new(segment, class.get()).0,
                keep: key_of?,
                representative: DocumentNumber::new(segment, representative.get()).0,
                first: DocumentNumber::new(segment, first[class]).0,
                size: classes.size[class],
                analysed: u8::from(analysed),
                fingerprint: classes.fingerprint[class],
                features: if analysed { classes.features[class] } else { 0 },
                shingles: classes.shingles[class],
                measure: measure_field(classes.measure[class]),
                part: self.part,
                block: text.block,
                offset: text.offset(),
                len: text.len() as u32,
            });
        }
        rows.sort_unstable();
        let mut writer = RowWriter::create(&self.path("classes", segment))?;
        for row in rows {
            writer.push(row)?;
        }
        writer.finish()?;
        Ok(())
    }
}
