//! The records of a result: read in order, with their canonical texts.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use twinprint_dedup::DedupError;
use twinprint_fingerprint::{HashKey, hash_one};
use twinprint_io::JobError;
use twinprint_io::object_pool::ObjectPool;
use twinprint_io::progress::{Progress, Unit};
use twinprint_io::source::{Chunk, RecordKind, SourceOptions, Sources};
use twinprint_io::work::WorkDir;
use twinprint_text::{Analyzer, Measure, Profile};

use super::check_cancelled;
use crate::error::EvalError;

/// The bytes of input that are read at a time.
const BATCH_BYTES: usize = 8 << 20;

/// A record of a result.
pub(super) struct ResultRecord {
    pub(super) id: String,
    pub(super) text: PreparedText,
}

/// A canonical text with the measure of its shingles.
pub(super) struct PreparedText {
    pub(super) canonical: String,
    pub(super) measure: Measure,
    /// True if the text has neither letters nor numbers.
    pub(super) is_empty: bool,
}

/// The way in which the records of a result are read.
#[derive(Clone, Copy)]
pub(super) struct Reading<'r> {
    pub(super) source: &'r SourceOptions,
    pub(super) profile: &'r Profile,
    pub(super) progress: &'r dyn Progress,
    pub(super) cancel: &'r Arc<AtomicBool>,
}

impl Reading<'_> {
    /// Calls `take` for every record of a folder, in order. Returns their number. A folder that does not exist has none.
    pub(super) fn each(&self, folder: &Path, mut take: impl FnMut(ResultRecord)) -> Result<u64, EvalError> {
        let mut count = 0;
        self.each_batch(folder, |records| {
            count += records.len() as u64;
            records.into_iter().for_each(&mut take);
        })?;
        Ok(count)
    }

    /// Calls `take` for batches of the records of a folder, in order. A folder that does not exist has none.
    pub(super) fn each_batch(
        &self,
        folder: &Path,
        mut take: impl FnMut(Vec<ResultRecord>),
    ) -> Result<(), EvalError> {
        if !folder.is_dir() {
            return Ok(());
        }
        let work = WorkDir::temporary()?;
        let inputs = [folder.display().to_string()];
        let sources =
            Sources::discover_cancellable(&inputs, self.source, work.path(), Arc::clone(self.cancel))?;
        self.progress.stage("read", sources.total_bytes(), Unit::Bytes);
        let analyzers = ObjectPool::new();
        let analyzer = || Analyzer::new(self.profile, HashKey::PUBLIC);
        let read = |chunk: &Chunk| analyzers.with(analyzer, |analyzer| records_of(chunk, &sources, analyzer));
        for batch in sources.read(BATCH_BYTES) {
            check_cancelled(self.cancel)?;
            let batch = batch.map_err(|error| DedupError::from(JobError::from(error)))?;
            let chunks: Vec<Vec<ResultRecord>> = batch.chunks.par_iter().map(read).collect();
            take(chunks.into_iter().flatten().collect());
            self.progress.advance(batch.input_bytes());
        }
        Ok(())
    }
}

fn records_of(chunk: &Chunk, sources: &Sources, analyzer: &mut Analyzer) -> Vec<ResultRecord> {
    let mut records = Vec::new();
    chunk.documents(sources.options(), &mut |record| {
        if let RecordKind::Document { id, text, .. } = record.kind {
            let analysis = analyzer.analyze(&text);
            records.push(ResultRecord {
                id: id.map_or_else(
                    || sources.file(record.source).name_of(record.line),
                    std::borrow::Cow::into_owned,
                ),
                text: PreparedText {
                    canonical: analysis.canonical.to_owned(),
                    measure: analysis.measure,
                    is_empty: analysis.features == 0,
                },
            });
        }
    });
    records
}

/// A kept text of the sample, with its position among the kept records.
pub(super) struct SampledText {
    pub(super) position: u64,
    pub(super) id: String,
    pub(super) text: PreparedText,
}

/// The texts of some ids, and a random sample of all texts.
pub(super) struct TextSample {
    size: usize,
    key: HashKey,
    wanted: FxHashSet<String>,
    /// The texts of the wanted ids; `None` for an id of several records.
    texts: FxHashMap<String, Option<PreparedText>>,
    /// The sampled texts by their priorities: those with the smallest ones.
    sampled: BTreeMap<u128, SampledText>,
    records: u64,
}

impl TextSample {
    pub(super) fn new(size: usize, seed: u64, wanted: FxHashSet<String>) -> Self {
        Self {
            size,
            key: HashKey::new(seed, 1),
            wanted,
            texts: FxHashMap::default(),
            sampled: BTreeMap::new(),
            records: 0,
        }
    }

    pub(super) fn take(&mut self, record: ResultRecord) {
        let position = self.records;
        self.records += 1;
        let priority = hash_one(&self.key, &position.to_le_bytes());
        let is_sampled = self.size > 0
            && !record.text.is_empty
            && (self.sampled.len() < self.size
                || self
                    .sampled
                    .last_key_value()
                    .is_some_and(|(&last, _)| priority < last));
        if self.wanted.contains(&record.id) {
            let text = PreparedText {
                canonical: record.text.canonical.clone(),
                ..record.text
            };
            self.texts
                .entry(record.id.clone())
                .and_modify(|text| *text = None)
                .or_insert(Some(text));
        }
        if is_sampled {
            self.sampled.insert(
                priority,
                SampledText {
                    position,
                    id: record.id,
                    text: record.text,
                },
            );
            if self.sampled.len() > self.size {
                self.sampled.pop_last();
            }
        }
    }

    /// The text of a wanted id, unless several records or none have it.
    pub(super) fn text(&self, id: &str) -> Option<&PreparedText> {
        self.texts.get(id)?.as_ref()
    }

    pub(super) fn into_sampled(self) -> Vec<SampledText> {
        self.sampled.into_values().collect()
    }
}
