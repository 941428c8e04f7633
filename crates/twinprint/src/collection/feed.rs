//! Documents out of files, for a collection.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::document::{Content, Details, MAX_TIME, MAX_URL, NewDocument};
use crate::error::DedupError;
use crate::progress::{Progress, Unit};
use crate::source::{Record, RecordKind, SortValue, SourceOptions, Sources};
use crate::stream::FieldKeys;
use crate::stream::fields::{Beside, records};
use crate::work_dir::WorkDir;

/// Documents handed on at a time.
const AT_A_TIME: usize = 200;
/// Bytes of text handed on at a time, about.
const BYTES: usize = 4 << 20;

/// One record of an input.
#[derive(Clone, Debug, PartialEq)]
pub struct Fed {
    /// The file, as named in all output.
    pub source: String,
    /// Its line, from 1.
    pub line: u64,
    /// The document, or why there is none. Its id is the record's own, or else file and line; an id that is a url
    /// is its url as well, where it names no other.
    pub document: Result<NewDocument, String>,
}

/// Hands on every record of the inputs in order, some at a time: text and id, and time, address, score and title where keys say how they are
/// called, which takes some microseconds a record. Memory for a few batches.
///
/// # Errors
/// What stops reading; what `take` returns ends the work.
pub fn feed<E: From<DedupError>>(
    inputs: &[String],
    options: &SourceOptions,
    keys: Option<&FieldKeys>,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
    mut take: impl FnMut(Vec<Fed>) -> Result<(), E>,
) -> Result<(), E> {
    let work = WorkDir::temporary()?;
    let sources = Sources::discover_cancellable(inputs, options, work.path(), Arc::clone(cancel))
        .map_err(DedupError::from)?;
    progress.stage("read", sources.total_bytes(), Unit::Bytes);
    for batch in sources.read(8 << 20) {
        let batch = batch.map_err(DedupError::from)?;
        for chunk in &batch.chunks {
            let mut waiting = Vec::new();
            let mut bytes = 0;
            let mut failed = None;
            let mut hand_on = |record: Record<'_>, beside: Beside<'_>| {
                let file = &sources.list()[record.source as usize];
                let document = match record.kind {
                    RecordKind::Blank | RecordKind::Other { .. } => return,
                    RecordKind::Rejected { reason } => Err(reason.to_string()),
                    RecordKind::Document { id, text, .. } => {
                        bytes += text.len();
                        let id = id.map_or_else(|| file.name_of(record.line), std::borrow::Cow::into_owned);
                        Ok(document(id, text.into_owned(), beside))
                    }
                };
                waiting.push(Fed {
                    source: file.label.clone(),
                    line: record.line,
                    document,
                });
                if failed.is_none() && (waiting.len() == AT_A_TIME || bytes > BYTES) {
                    bytes = 0;
                    failed = take(std::mem::take(&mut waiting)).err();
                }
            };
            match keys {
                Some(keys) => records(chunk, &sources, options, keys, &mut hand_on),
                None => chunk.documents(options, &mut |record| hand_on(record, Beside::default())),
            }
            if let Some(error) = failed {
                return Err(error);
            }
            if !waiting.is_empty() {
                take(waiting)?;
            }
        }
        progress.advance(batch.input_bytes());
    }
    Ok(())
}

/// Bytes of a title that is kept.
const MAX_TITLE: usize = 4096;

/// What is longer than it may be is left out; the document is none the worse.
fn fits(most: usize) -> impl Fn(&&str) -> bool {
    move |text| text.len() <= most
}

fn document(id: String, text: String, beside: Beside<'_>) -> NewDocument {
    let named = ["http://", "https://"]
        .iter()
        .any(|scheme| id.starts_with(scheme));
    NewDocument {
        content: Content::Text(text),
        details: Details {
            url: beside
                .url
                .filter(fits(MAX_URL))
                .map(str::to_owned)
                .or_else(|| named.then(|| id.clone())),
            time: beside
                .time
                .map(|time| match time {
                    SortValue::Integer(n) => n.to_string(),
                    SortValue::Real(x) => x.to_string(),
                    SortValue::Text(text) => text.to_string(),
                })
                .filter(|time| time.len() <= MAX_TIME),
            score: beside.score.filter(|score| score.is_finite()),
            fields: beside
                .title
                .filter(fits(MAX_TITLE))
                .map(|title| ("title".to_owned(), title.into()))
                .into_iter()
                .collect(),
            ..Details::default()
        },
        ttl: None,
        id,
    }
}
