//! The records of a result: read in order, with their canonical texts.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustc_hash::{FxHashMap, FxHashSet};
use twinprint_fingerprint::{HashKey, hash_one};
use twinprint_io::progress::Progress;
use twinprint_io::source::{SourceOptions, Sources};
use twinprint_io::work::WorkDir;
use twinprint_text::Profile;

use crate::document_rows::{DocumentRow, each_batch};
use crate::error::EvalError;

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
    pub(super) fn each(&self, folder: &Path, mut take: impl FnMut(DocumentRow)) -> Result<u64, EvalError> {
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
        mut take: impl FnMut(Vec<DocumentRow>),
    ) -> Result<(), EvalError> {
        if !folder.is_dir() {
            return Ok(());
        }
        let work = WorkDir::temporary()?;
        let inputs = [folder.display().to_string()];
        let sources =
            Sources::discover_cancellable(&inputs, self.source, work.path(), Arc::clone(self.cancel))?;
        each_batch(&sources, self.profile, self.progress, |records| {
            take(records);
            Ok(())
        })
    }
}

/// A kept text of the sample, with its position among the kept records.
pub(super) struct SampledText {
    pub(super) position: u64,
    pub(super) document: DocumentRow,
}

/// The texts of some ids, and a random sample of all texts.
pub(super) struct TextSample {
    size: usize,
    key: HashKey,
    wanted: FxHashSet<String>,
    /// The texts of the wanted ids; `None` for an id of several records.
    texts: FxHashMap<String, Option<DocumentRow>>,
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

    pub(super) fn take(&mut self, record: DocumentRow) {
        let position = self.records;
        self.records += 1;
        if self.wanted.contains(&record.id) {
            self.texts
                .entry(record.id.clone())
                .and_modify(|text| *text = None)
                .or_insert_with(|| Some(record.clone()));
        }
        // A text without letters and numbers duplicates none.
        if self.size > 0 && record.features > 0 {
            let priority = hash_one(&self.key, &position.to_le_bytes());
            let document = record;
            self.sampled.insert(priority, SampledText { position, document });
            if self.sampled.len() > self.size {
                self.sampled.pop_last();
            }
        }
    }

    /// The text of a wanted id, unless several records or none have it.
    pub(super) fn text(&self, id: &str) -> Option<&DocumentRow> {
        self.texts.get(id)?.as_ref()
    }

    pub(super) fn into_sampled(self) -> Vec<SampledText> {
        self.sampled.into_values().collect()
    }
}
