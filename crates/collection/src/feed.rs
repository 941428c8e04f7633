//! Reads the records of input files as documents that can be added to a collection.

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

/// The number of bytes of input that are read at a time.
const READ_BYTES: usize = 8 << 20;
/// The largest number of records that one call of the consumer gets.
const MAX_RECORDS: usize = 200;
/// The total size of texts, in bytes, above which the consumer is called.
const MAX_TEXT_BYTES: usize = 4 << 20;

/// The options of [`feed`].
#[derive(Clone, Copy)]
pub struct FeedOptions<'a> {
    /// The options for reading the inputs.
    pub source: &'a SourceOptions,
    /// The names of the fields that contain the time, URL, score and title of a record. If it is `None`, only the text
    /// and the id are read, which saves a few microseconds per record.
    pub keys: Option<&'a FieldKeys>,
    /// The object that receives progress and warnings.
    pub progress: &'a dyn Progress,
}

/// One record of an input.
#[derive(Clone, Debug, PartialEq)]
pub struct InputRecord {
    /// The number of the record, from 0. All documents and rejected records of all inputs are counted.
    pub number: u64,
    /// The file and line of the record.
    pub position: RecordPosition,
    /// The document, or the reason why the record was rejected.
    ///
    /// The id of the document is the record's id if it has one. Otherwise, if the file is one document, the id is the
    /// name of the file. In all other cases the id consists of the file, the line and a hash of the text. If the id is
    /// a URL and the record has no URL of its own, the id is also the document's URL.
    pub document: Result<NewDocument, RejectReason>,
    /// The names of the details that were left out because their values are invalid or too long.
    pub left_out: Vec<&'static str>,
}

/// Reads the inputs and passes all records to `consume`, in order, up to 200 per call. Returns the counts of documents,
/// rejects and losses by file.
///
/// At most a few batches of input (8 MiB each) are in memory at a time. If another thread sets `cancel` to true,
/// reading stops soon afterwards.
///
/// # Errors
/// Fails if an input cannot be read, if the inputs contain no documents, or if `consume` returns an error. The first
/// error stops the reading.
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

/// Does the same as [`feed`] for inputs that the caller has already opened. Passes to `consume` all rejected records,
/// and the documents for whose record number `wanted` returns true. Returns the number of records that were read.
///
/// # Errors
/// The errors of [`feed`].
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

/// Makes a document from a record. Details whose values are invalid or too long are left out, and their names are added
/// to `left_out`.
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
