//! The first stage: analyses a part of the input, slice by slice.
//!
//! A part is a number of consecutive files. Its documents are read as in a run in memory, but the tables are written out
//! whenever they have [`SLICE_DOCUMENTS`] documents.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use twinprint_io::sink::OutputDir;
use twinprint_io::work::WorkError;

use super::folder::{Stage, Task};
use super::job::StagedJob;
use super::keep_key::{KeepKey, with_keep_key};
use super::outputs::{MAX_SLICES, PartSummary, REJECTS, SliceSummary, TEXTS, slice_file};
use super::tables::{DocumentNumber, DocumentRow, LocalClass, measure_field};
use crate::corpus::Corpus;
use crate::corpus::keep_order::KeepOrder;
use crate::error::DedupError;
use crate::ids::{Id, IdVec};
use crate::memory;
use crate::read::{self, ReadOptions, Rejects, Slices, SpoolPlace};
use crate::rows::{BlockWriter, Number, RowWriter};

/// The number of documents from which a slice ends. It bounds the memory of the tables to about 200 MB.
const SLICE_DOCUMENTS: usize = 1 << 20;

/// Analyses a part of the input.
pub(super) fn analyse(job: &StagedJob<'_>, part: u32) -> Result<PartSummary, DedupError> {
    let task = Task::new(Stage::Analyse, part);
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
    let mut slices = WrittenSlices::<K> {
        dir,
        part,
        first_file: files.start,
        max_bytes: job.spec.memory / 2,
        summaries: Vec::new(),
        key: std::marker::PhantomData,
    };
    let read = read::read_slices(&sources, reading, Some(&mut slices), &mut rejects, job.progress)?;
    rejects.finish()?;
    let failed = |error| WorkError::file(dir, error);
    copy_to_blocks(&output.files_dir().join(REJECTS), &dir.join(REJECTS))?;
    drop(output);
    fs::remove_dir_all(&rejects_dir).map_err(failed)?;
    let records = 0..sources.list().len() as u32;
    let counts = read.counts;
    Ok(PartSummary {
        slices: slices.summaries,
        records: records.map(|file| sources.records(file).unwrap_or(0)).collect(),
        input_bytes: counts.input_bytes,
        text_bytes: counts.text_bytes,
        blank_lines: counts.blank_lines,
        other_records: owned(counts.other_records),
        charsets: owned(sources.charsets()),
        intake: counts.intake,
    })
}

/// Copies a file to a new one with checksums.
fn copy_to_blocks(from: &Path, to: &Path) -> Result<(), DedupError> {
    let failed = |error| WorkError::file(from, error);
    let mut file = File::open(from).map_err(failed)?;
    let mut writer = BlockWriter::create(to)?;
    let mut bytes = vec![0; 64 << 10];
    loop {
        let length = file.read(&mut bytes).map_err(failed)?;
        if length == 0 {
            break;
        }
        writer.write(&bytes[..length])?;
    }
    writer.finish()?;
    Ok(())
}

fn owned(counts: BTreeMap<&'static str, u64>) -> BTreeMap<String, u64> {
    counts
        .into_iter()
        .map(|(name, count)| (name.to_owned(), count))
        .collect()
}

/// Writes the tables of each slice.
struct WrittenSlices<'d, K> {
    dir: &'d Path,
    part: u32,
    first_file: u32,
    /// The bytes of tables and rows from which a slice ends.
    max_bytes: u64,
    summaries: Vec<SliceSummary>,
    key: std::marker::PhantomData<K>,
}

impl<K: KeepKey> Slices for WrittenSlices<'_, K> {
    fn is_full(&self, corpus: &Corpus) -> bool {
        corpus.documents.len() >= SLICE_DOCUMENTS || memory::slice_of(corpus) > self.max_bytes
    }

    fn end(&mut self, corpus: Corpus) -> Result<(), DedupError> {
        let in_part = self.summaries.len() as u32;
        if in_part >= MAX_SLICES {
            return Err(DedupError::option(
                "part",
                format!("a part of the input has more than {MAX_SLICES} slices of a million documents"),
            ));
        }
        let slice = self.part * MAX_SLICES + in_part;
        self.write_documents(&corpus, slice)?;
        self.write_classes(&corpus, slice)?;
        let documents = &corpus.documents;
        self.summaries.push(SliceSummary {
            number: slice,
            documents: documents.len() as u32,
            rejected: documents.rejected(),
            undated: documents.undated() as u64,
            integer_ids: documents.id_type().is_some(),
            id_type: documents.id_type(),
        });
        Ok(())
    }
}

impl<K: KeepKey> WrittenSlices<'_, K> {
    fn path(&self, name: &str, slice: u32) -> PathBuf {
        self.dir.join(slice_file(name, slice))
    }

    fn write_documents(&self, corpus: &Corpus, slice: u32) -> Result<(), DedupError> {
        let documents = &corpus.documents;
        let mut rows = RowWriter::create(&self.path("documents", slice))?;
        let mut ids = BlockWriter::create(&self.path("ids", slice))?;
        let mut id_end = 0;
        for document in documents.document_ids() {
            let id = documents.id(document).unwrap_or_default();
            ids.write(id.as_bytes())?;
            id_end += id.len() as u64;
            rows.push(DocumentRow {
                class: documents.class[document].get(),
                source: self.first_file + documents.source(document),
                line: documents.line(document),
                id_end,
            })?;
        }
        rows.finish()?;
        ids.finish()?;
        let mut rejects = RowWriter::create(&self.path("rejects", slice))?;
        for document in documents.rejects() {
            let value = u64::from(document.get());
            rejects.push(Number { value })?;
        }
        rejects.finish()?;
        Ok(())
    }

    fn write_classes(&self, corpus: &Corpus, slice: u32) -> Result<(), DedupError> {
        let Corpus { documents, classes } = corpus;
        let keep = KeepOrder::new(documents, classes.len());
        let mut first = IdVec::filled(u32::MAX, classes.len());
        for (document, &class) in documents.class.entries() {
            first[class] = first[class].min(document.get());
        }
        let mut rows = Vec::with_capacity(classes.len());
        for (key, class) in classes.keys() {
            let representative = keep.representative_of(class);
            let values = classes.values(class);
            let analysed = classes.is_analysed(class);
            let key_of = documents
                .sort
                .get(representative)
                .map_or(K::of(&crate::corpus::SortKey::Input), K::of);
            rows.push(LocalClass {
                text_hash: u128::from(key[1]) << 64 | u128::from(key[0]),
                class: DocumentNumber::new(slice, class.get()).0,
                keep: key_of?,
                representative: DocumentNumber::new(slice, representative.get()).0,
                first: DocumentNumber::new(slice, first[class]).0,
                size: classes.size(class),
                analysed: u8::from(analysed),
                fingerprint: classes.fingerprint[class],
                features: if analysed { values.features } else { 0 },
                shingles: values.shingles,
                measure: measure_field(values.measure),
                part: self.part,
                block: values.text.block,
                offset: values.text.offset(),
                len: values.text.len() as u32,
            });
        }
        rows.sort_unstable();
        let mut writer = RowWriter::create(&self.path("classes", slice))?;
        for row in rows {
            writer.push(row)?;
        }
        writer.finish()?;
        Ok(())
    }
}
