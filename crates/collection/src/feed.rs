//! Documents out of files, for a collection.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::document::{Content, Details, MAX_TIME, MAX_URL, NewDocument};
use twinprint_io::JobError;
use twinprint_io::progress::{Progress, Unit};
use twinprint_io::source::{
    BatchReader, Intake, Record, RecordKind, RecordPosition, SortValue, SourceOptions, Sources,
};
use twinprint_io::work::WorkDir;
use twinprint_stream::FieldKeys;
use twinprint_stream::fields::{RecordFields, for_each_record};

/// Bytes of input read at a time.
const BATCH: usize = 8 << 20;
/// Documents handed on at a time.
const AT_A_TIME: usize = 200;
/// Bytes of text handed on at a time, about.
const BYTES: usize = 4 << 20;

/// One record of an input.
#[derive(Clone, Debug, PartialEq)]
pub struct InputRecord {
    /// Its number among the records of all inputs, documents and rejected ones, from 0.
    pub number: u64,
    /// The file and line of the record.
    pub place: RecordPosition,
    /// The document, or why there is none. Its id is the record's own, or else the file's where that is one document, or else file, line and a
    /// hash of the text; an id that is a url is its url as well, where it names no other.
    pub document: Result<NewDocument, String>,
    /// What stood beside the text and was left out, as no such thing or too long.
    pub left_out: Vec<&'static str>,
}

/// Hands on every record of the inputs in order, some at a time: text and id, and time, address, score and title where keys say how they are
/// called, which takes some microseconds a record. Returns the account of the records. Memory for a few batches.
///
/// # Errors
/// An error that stops reading; records none of which is a document; an error of `take`, which ends the work.
pub fn feed<E: From<JobError>>(
    inputs: &[String],
    options: &SourceOptions,
    keys: Option<&FieldKeys>,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
    take: impl FnMut(Vec<InputRecord>) -> Result<(), E>,
) -> Result<Intake, E> {
    let work = WorkDir::temporary().map_err(JobError::from)?;
    let sources = Sources::discover_cancellable(inputs, options, work.path(), Arc::clone(cancel))
        .map_err(JobError::from)?;
    sources
        .check_fields(|hint| progress.warn(hint))
        .map_err(JobError::from)?;
    progress.stage("read", sources.total_bytes(), Unit::Bytes);
    let batches = sources.read(BATCH);
    feed_from((&sources, batches), options, keys, progress, &|_| true, take)?;
    Ok(sources.intake().map_err(JobError::from)?)
}

/// As [`feed`], from `batches` of inputs that were found already: only the documents whose number is `wanted`, and rejected records. Returns how many
/// records there are.
///
/// # Errors
/// As [`feed`].
pub fn feed_from<E: From<JobError>>(
    (sources, batches): (&Sources, BatchReader),
    options: &SourceOptions,
    keys: Option<&FieldKeys>,
    progress: &dyn Progress,
    wanted: &dyn Fn(u64) -> bool,
    mut take: impl FnMut(Vec<InputRecord>) -> Result<(), E>,
) -> Result<u64, E> {
    let mut number = 0;
    for batch in batches {
        let batch = batch.map_err(JobError::from)?;
        for chunk in &batch.chunks {
            let mut waiting = Vec::new();
            let mut bytes = 0;
            let mut failed = None;
            let mut hand_on = |record: Record<'_>, beside: RecordFields<'_>| {
                let file = &sources.list()[record.source as usize];
                let mut left_out = Vec::new();
                let document = match record.kind {
                    RecordKind::Blank | RecordKind::Other { .. } => return,
                    RecordKind::Rejected { reason } => Err(reason.to_string()),
                    RecordKind::Document { .. } if !wanted(number) => {
                        number += 1;
                        return;
                    }
                    RecordKind::Document { id, text, .. } => {
                        bytes += text.len();
                        let own = id.is_some() || file.format.is_whole_file();
                        let id = id.map_or_else(|| file.name_of(record.line), std::borrow::Cow::into_owned);
                        let mut document = document(id, text.into_owned(), beside, &mut left_out);
                        if !own {
                            document.name_by_text();
                        }
                        Ok(document)
                    }
                };
                waiting.push(InputRecord {
                    number,
                    place: RecordPosition {
                        file: record.source,
                        source: file.label.clone(),
                        line: record.line,
                    },
                    document,
                    left_out,
                });
                number += 1;
                if failed.is_none() && (waiting.len() == AT_A_TIME || bytes > BYTES) {
                    bytes = 0;
                    failed = take(std::mem::take(&mut waiting)).err();
                }
            };
            match keys {
                Some(keys) => for_each_record(chunk, sources, options, keys, &mut hand_on),
                None => chunk.documents(options, &mut |record| hand_on(record, RecordFields::default())),
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
    Ok(number)
}

/// Bytes of a title that is kept.
const MAX_TITLE: usize = 4096;

/// A document with what can be kept beside it; it is none the worse for what cannot.
fn document(
    id: String,
    text: String,
    beside: RecordFields<'_>,
    left_out: &mut Vec<&'static str>,
) -> NewDocument {
    let mut keep = |what, fits: bool| {
        if !fits {
            left_out.push(what);
        }
        fits
    };
    let url = beside.url.filter(|url| keep("url", url.len() <= MAX_URL));
    let title = beside
        .title
        .filter(|title| keep("title", title.len() <= MAX_TITLE));
    let score = beside.score.filter(|score| keep("score", score.is_finite()));
    let time = beside.time.map(|time| match time {
        SortValue::Integer(n) => n.to_string(),
        SortValue::Real(x) => x.to_string(),
        SortValue::Text(text) => text.to_string(),
    });
    let time = time.filter(|time| keep("time", time.len() <= MAX_TIME));
    let named = ["http://", "https://"]
        .iter()
        .any(|scheme| id.starts_with(scheme));
    NewDocument {
        content: Content::Text(text),
        details: Details {
            url: url.map(str::to_owned).or_else(|| named.then(|| id.clone())),
            time,
            score,
            fields: title
                .map(|title| ("title".to_owned(), title.into()))
                .into_iter()
                .collect(),
            ..Details::default()
        },
        ttl: None,
        id,
    }
}
