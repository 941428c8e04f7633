//! A feed: the records of input files as documents for a collection.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use twinprint_io::JobError;
use twinprint_io::progress::{Progress, Unit};
use twinprint_io::source::{
    BatchReader, Intake, Record, RecordKind, RecordPosition, RejectReason, SortValue, SourceOptions, Sources,
};
use twinprint_io::work::WorkDir;
use twinprint_stream::FieldKeys;
use twinprint_stream::fields::{RecordFields, for_each_record};

use super::document::{Content, Details, NewDocument};
use super::limits::{MAX_TIME_BYTES, MAX_TITLE_BYTES, MAX_URL_BYTES};

/// The input that is read at a time, in bytes.
const READ_BYTES: usize = 8 << 20;
/// The largest number of records in one call of the consumer.
const MAX_RECORDS: usize = 200;
/// The size of texts in bytes after which the consumer is called.
const MAX_TEXT_BYTES: usize = 4 << 20;

/// The options of a feed.
#[derive(Clone, Copy)]
pub struct FeedOptions<'a> {
    /// The options for reading the inputs.
    pub source: &'a SourceOptions,
    /// The names of the fields that contain time, address, score and title. `None` reads text and id only, which saves some microseconds
    /// per record.
    pub keys: Option<&'a FieldKeys>,
    /// Receives progress and warnings.
    pub progress: &'a dyn Progress,
}

/// One record of an input.
#[derive(Clone, Debug, PartialEq)]
pub struct InputRecord {
    /// Its number among the records of all inputs, documents and rejected ones, from 0.
    pub number: u64,
    /// Its file and line.
    pub position: RecordPosition,
    /// The document, or the reason for which the record is rejected.
    ///
    /// The id is that of the record, or the name of a file that is one document, or else file, line and a hash of the text. An id that is a
    /// URL is also the URL of the document, unless the record names another.
    pub document: Result<NewDocument, RejectReason>,
    /// The names of details that were left out, because they are not valid or too long.
    pub left_out: Vec<&'static str>,
}

/// Reads the inputs and calls `consume` with all records in order, some at a time. Returns the account of the records.
///
/// Memory is bounded by a few batches of input (8 MiB each). `cancel` ends the work soon after it is set.
///
/// # Errors
/// An error that ends the reading, an input without documents, or an error of `consume`, which ends the work.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
///
/// use twinprint_collection::{Collection, CollectionError, Durability, FeedOptions, Settings, feed};
/// use twinprint_io::progress::Silent;
/// use twinprint_io::source::SourceOptions;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// let input = dir.path().join("pages.jsonl");
/// std::fs::write(&input, concat!(
///     r#"{"id": "a", "text": "Rain fell all day"}"#, "\n",
///     r#"{"id": "b", "text": "rain fell all day!"}"#, "\n",
/// ))?;
///
/// let collection = Collection::create(&dir.path().join("seen"), Settings::default())?;
/// let options = FeedOptions {
///     source: &SourceOptions::default(),
///     keys: None,
///     progress: &Silent,
/// };
/// let mut new = 0;
/// let intake = feed(
///     &[input.display().to_string()],
///     options,
///     &Arc::default(),
///     |records| -> Result<(), Box<dyn std::error::Error>> {
///         let documents = records.into_iter().filter_map(|record| record.document.ok());
///         for answer in collection.add(documents.collect(), true, Durability::Buffered)? {
///             new += usize::from(answer?.seq.is_some());
///         }
///         Ok(())
///     },
/// )?;
/// assert_eq!((intake.accepted, new), (2, 1));
/// # Ok(())
/// # }
/// ```
pub fn feed<E: From<JobError>>(
    inputs: &[String],
    options: FeedOptions<'_>,
    cancel: &Arc<AtomicBool>,
    consume: impl FnMut(Vec<InputRecord>) -> Result<(), E>,
) -> Result<Intake, E> {
    let progress = options.progress;
    let work = WorkDir::temporary().map_err(JobError::from)?;
    let sources = Sources::discover_cancellable(inputs, options.source, work.path(), Arc::clone(cancel))
        .map_err(JobError::from)?;
    sources
        .check_fields(|hint| progress.warn(hint))
        .map_err(JobError::from)?;
    progress.stage("read", sources.total_bytes(), Unit::Bytes);
    let batches = sources.read(READ_BYTES);
    feed_from(&sources, batches, options, &|_| true, consume)?;
    Ok(sources.intake().map_err(JobError::from)?)
}

/// Calls `consume` with the records in batches of inputs that were found already, as [`feed`] does: with the documents whose number is
/// `wanted` and with all rejected records. Returns the number of records that were read.
///
/// # Errors
/// As [`feed`].
pub fn feed_from<E: From<JobError>>(
    sources: &Sources,
    batches: BatchReader,
    options: FeedOptions<'_>,
    wanted: &dyn Fn(u64) -> bool,
    mut consume: impl FnMut(Vec<InputRecord>) -> Result<(), E>,
) -> Result<u64, E> {
    let mut number = 0;
    for batch in batches {
        let batch = batch.map_err(JobError::from)?;
        for chunk in &batch.chunks {
            let mut records = Vec::new();
            let mut bytes = 0;
            let mut failed = None;
            let mut add = |record: Record<'_>, fields: RecordFields<'_>| {
                let file = &sources.list()[record.source as usize];
                let mut left_out = Vec::new();
                let document = match record.kind {
                    RecordKind::Blank | RecordKind::Other { .. } => return,
                    RecordKind::Rejected { reason } => Err(reason),
                    RecordKind::Document { .. } if !wanted(number) => {
                        number += 1;
                        return;
                    }
                    RecordKind::Document { id, text, .. } => {
                        bytes += text.len();
                        let has_name = id.is_some() || file.format.is_whole_file();
                        let id = id.map_or_else(|| file.name_of(record.line), std::borrow::Cow::into_owned);
                        let mut document = document(id, text.into_owned(), fields, &mut left_out);
                        if !has_name {
                            document.name_by_text();
                        }
                        Ok(document)
                    }
                };
                records.push(InputRecord {
                    number,
                    position: RecordPosition {
                        file: record.source,
                        source: file.label.clone(),
                        line: record.line,
                    },
                    document,
                    left_out,
                });
                number += 1;
                if failed.is_none() && (records.len() == MAX_RECORDS || bytes > MAX_TEXT_BYTES) {
                    bytes = 0;
                    failed = consume(std::mem::take(&mut records)).err();
                }
            };
            match options.keys {
                Some(keys) => for_each_record(chunk, sources, options.source, keys, &mut add),
                None => chunk.documents(options.source, &mut |record| add(record, RecordFields::default())),
            }
            if let Some(error) = failed {
                return Err(error);
            }
            if !records.is_empty() {
                consume(records)?;
            }
        }
        options.progress.advance(batch.input_bytes());
    }
    Ok(number)
}

/// Returns the document of a record. Details that are not valid or too long are left out, and named in `left_out`.
fn document(
    id: String,
    text: String,
    fields: RecordFields<'_>,
    left_out: &mut Vec<&'static str>,
) -> NewDocument {
    let mut keep = |name, is_valid: bool| {
        if !is_valid {
            left_out.push(name);
        }
        is_valid
    };
    let url = fields.url.filter(|url| keep("url", url.len() <= MAX_URL_BYTES));
    let title = fields
        .title
        .filter(|title| keep("title", title.len() <= MAX_TITLE_BYTES));
    let score = fields.score.filter(|score| keep("score", score.is_finite()));
    let time = fields.time.map(|time| match time {
        SortValue::Integer(n) => n.to_string(),
        SortValue::Real(x) => x.to_string(),
        SortValue::Text(text) => text.to_string(),
    });
    let time = time.filter(|time| keep("time", time.len() <= MAX_TIME_BYTES));
    let id_is_url = ["http://", "https://"]
        .iter()
        .any(|scheme| id.starts_with(scheme));
    NewDocument {
        content: Content::Text(text),
        details: Details {
            url: url.map(str::to_owned).or_else(|| id_is_url.then(|| id.clone())),
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
