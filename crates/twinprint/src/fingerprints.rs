//! Fingerprints of documents or of vectors they hold, one row each.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use fingerprint::HashKey;
use fingerprint::hyperplane::fingerprint_dense;
use rayon::prelude::*;
use text::{Analyzer, Profile};

use crate::compare::hex;
use crate::error::DedupError;
use crate::progress::{Progress, Unit};
use crate::source::{Chunk, RecordKind, SourceOptions, Sources};

/// What a row tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FingerprintRow {
    /// The record's id, or `source:line`, or the path of a whole file.
    pub id: String,
    /// The file, as named in all output.
    pub source: String,
    /// Its line, from 1.
    pub line: u64,
    /// The fingerprint in hexadecimal and the number of distinct features (or dimensions), or why there is none.
    pub fingerprint: Result<(String, u32), String>,
}

/// What is fingerprinted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The text.
    Text,
    /// A vector of numbers in the field of [`SourceOptions::text_key`], by random hyperplanes.
    Vector,
}

/// Calls `row` for every record in input order. O(text); memory for a few batches.
///
/// # Errors
/// What stops reading; what `row` returns ends the work.
pub fn fingerprints<E: From<DedupError>>(
    inputs: &[String],
    source_options: &SourceOptions,
    profile: &Profile,
    subject: Subject,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
    mut row: impl FnMut(FingerprintRow) -> Result<(), E>,
) -> Result<(), E> {
    let work = tempfile::tempdir().map_err(|source| DedupError::WorkDir {
        path: std::env::temp_dir(),
        source,
    })?;
    let options = SourceOptions {
        raw: subject == Subject::Vector,
        ..source_options.clone()
    };
    let sources = Sources::discover_cancellable(inputs, &options, work.path(), Arc::clone(cancel))
        .map_err(DedupError::from)?;
    progress.stage("read", sources.total_bytes(), Unit::Bytes);
    let idle: Mutex<Vec<Analyzer>> = Mutex::default();
    for batch in sources.read(8 << 20) {
        let batch = batch.map_err(DedupError::from)?;
        let rows: Vec<Vec<FingerprintRow>> = batch
            .chunks
            .par_iter()
            .map(|chunk| {
                let lent = idle.lock().ok().and_then(|mut idle| idle.pop());
                let mut analyzer = lent.unwrap_or_else(|| Analyzer::new(profile, HashKey::PUBLIC));
                let rows = chunk_rows(chunk, &sources, profile, subject, &mut analyzer);
                if let Ok(mut idle) = idle.lock() {
                    idle.push(analyzer);
                }
                rows
            })
            .collect();
        for next in rows.into_iter().flatten() {
            row(next)?;
        }
        progress.advance(batch.input_bytes());
    }
    Ok(())
}

fn chunk_rows(
    chunk: &Chunk,
    sources: &Sources,
    profile: &Profile,
    subject: Subject,
    analyzer: &mut Analyzer,
) -> Vec<FingerprintRow> {
    let mut rows = Vec::with_capacity(chunk.records() as usize);
    chunk.documents(sources.options(), &mut |record| {
        let source = &sources.list()[record.source as usize];
        let (id, fingerprint) = match record.kind {
            RecordKind::Blank | RecordKind::Other { .. } => return,
            RecordKind::Rejected { reason } => (None, Err(reason.to_string())),
            RecordKind::Document { id, text, .. } => {
                let fingerprint = match subject {
                    Subject::Text => {
                        let analysis = analyzer.analyze(&text);
                        Ok((hex(analysis.fingerprint, profile.bits()), analysis.features))
                    }
                    Subject::Vector => of_vector(&text, profile.bits()),
                };
                (id, fingerprint)
            }
        };
        let id = id.map_or_else(|| source.name_of(record.line), std::borrow::Cow::into_owned);
        rows.push(FingerprintRow {
            id,
            source: source.label.clone(),
            line: record.line,
            fingerprint,
        });
    });
    rows
}

/// Characters of a parser's message that are told.
const SAID: usize = 100;

/// The fingerprint of a JSON array of numbers.
fn of_vector(json: &str, bits: u32) -> Result<(String, u32), String> {
    let vector: Vec<f32> = serde_json::from_str(json).map_err(|error| {
        let said = error.to_string();
        // What is there instead is quoted, however long it is.
        let short: String = said.chars().take(SAID).collect();
        let cut = if short.len() < said.len() { "…" } else { "" };
        format!("the vector is not an array of numbers: {short}{cut}")
    })?;
    let key = HashKey::PUBLIC;
    let full: Result<u128, _> = fingerprint_dense(&key, &vector);
    let full = full.map_err(|error| error.to_string())?;
    Ok((hex(full, bits), vector.len() as u32))
}
