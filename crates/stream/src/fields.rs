//! The fields of records that a stream uses in addition to the text: time, title, address, score and label.
//!
//! The reader of `twinprint-io` returns only one further field of each record, as its sort key. A stream needs up to
//! five, so each chunk is parsed once for each field. That is little work compared with segmenting the texts. The
//! passes differ only in the sort key, so all of them return the same records in the same order.

use twinprint_io::source::{Chunk, Format, Record, RecordKind, SortValue, SourceOptions, Sources};

/// The names of the fields of a record: dotted paths in JSON, column names in tables. A record may lack any of these
/// fields.
///
/// # Examples
/// ```
/// use twinprint_stream::FieldKeys;
///
/// // {"text": "…", "published": "2024-05-01T12:00:00Z", "meta": {"url": "https://example.org/a"}}
/// let keys = FieldKeys {
///     time: "published".to_owned(),
///     url: "meta.url".to_owned(),
///     ..FieldKeys::default()
/// };
/// assert_eq!((keys.title.as_str(), keys.score.as_str()), ("title", "score"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldKeys {
    /// The name of the field with the time. [`parse_time`](crate::parse_time) reads its value. In web archives the time
    /// is the date of the record.
    pub time: String,
    /// The name of the field with the title.
    pub title: String,
    /// The name of the field with the address. In web archives the address is that of the record.
    pub url: String,
    /// The name of the field with the score, by which a canonical member can be chosen.
    pub score: String,
    /// The name of the field with the label, if clusters are compared with labels.
    pub label: Option<String>,
}

impl Default for FieldKeys {
    fn default() -> Self {
        let [time, title, url, score] = ["time", "title", "url", "score"].map(str::to_owned);
        Self {
            time,
            title,
            url,
            score,
            label: None,
        }
    }
}

/// The fields of one record in addition to its text and id.
#[derive(Debug, Default)]
pub struct RecordFields<'r> {
    /// The title of the document, if the record has one.
    pub title: Option<&'r str>,
    /// The address; in a web archive, the record's own address if no field has one.
    pub url: Option<&'r str>,
    /// The score; NaN if the field is a text that is not a number.
    pub score: Option<f64>,
    /// The time as the record states it. [`time::seconds`](crate::time::seconds) parses it.
    pub time: Option<SortValue>,
    /// The label of the document, if the record has one.
    pub label: Option<String>,
}

/// Calls `visit` with every record of a chunk and its fields, in order. Only documents have fields. In a web archive
/// the address is the id of the record, and the time its date.
pub fn for_each_record(
    chunk: &Chunk,
    sources: &Sources,
    options: &SourceOptions,
    keys: &FieldKeys,
    visit: &mut dyn FnMut(Record<'_>, RecordFields<'_>),
) {
    let columns = FieldColumns::read(chunk, sources, keys);
    let format = sources
        .list()
        .get(chunk.source() as usize)
        .map(|file| file.format);
    let archive = format == Some(Format::Warc);
    let options = SourceOptions {
        sort_key: Some(if archive {
            "date".to_owned()
        } else {
            keys.time.clone()
        }),
        ..options.clone()
    };
    let mut number = 0;
    chunk.documents(&options, &mut |mut record| {
        let mut fields = RecordFields::default();
        let id;
        if let RecordKind::Document {
            id: own, sort_value, ..
        } = &mut record.kind
        {
            id = own.clone().filter(|_| archive);
            fields = RecordFields {
                title: columns.title(number),
                url: columns.url(number).or(id.as_deref()),
                score: columns.score(number),
                time: sort_value.take(),
                label: columns.label(number),
            };
        }
        number += 1;
        visit(record, fields);
    });
}

/// The fields of a chunk's records, except the time: one column for each field, in the order of the records.
#[derive(Debug, Default)]
pub(super) struct FieldColumns {
    titles: Vec<Option<SortValue>>,
    urls: Vec<Option<SortValue>>,
    scores: Vec<Option<SortValue>>,
    labels: Vec<Option<SortValue>>,
}

impl FieldColumns {
    /// Reads the columns of a chunk. Records of a format without fields have no columns.
    pub(super) fn read(chunk: &Chunk, sources: &Sources, keys: &FieldKeys) -> Self {
        let format = sources
            .list()
            .get(chunk.source() as usize)
            .map(|file| file.format);
        let options = SourceOptions {
            html: false,
            ..sources.options().clone()
        };
        let column = |key: &str| match format {
            Some(Format::Text | Format::Html | Format::Lines | Format::Warc) | None => Vec::new(),
            Some(_) => values(chunk, &options, key),
        };
        Self {
            titles: column(&keys.title),
            urls: column(&keys.url),
            scores: column(&keys.score),
            labels: keys.label.as_deref().map_or_else(Vec::new, column),
        }
    }

    /// The title of a record.
    fn title(&self, record: usize) -> Option<&str> {
        text(self.titles.get(record))
    }

    /// The address of a record.
    fn url(&self, record: usize) -> Option<&str> {
        text(self.urls.get(record))
    }

    /// The label of a record.
    pub(super) fn label(&self, record: usize) -> Option<String> {
        match self.labels.get(record)?.as_ref()? {
            SortValue::Text(text) => Some(text.to_string()),
            SortValue::Integer(n) => Some(n.to_string()),
            SortValue::Real(x) => Some(x.to_string()),
        }
    }

    /// The score of a record.
    fn score(&self, record: usize) -> Option<f64> {
        match self.scores.get(record)?.as_ref()? {
            SortValue::Integer(n) => Some(*n as f64),
            SortValue::Real(x) => Some(*x),
            SortValue::Text(text) => Some(text.trim().parse().unwrap_or(f64::NAN)),
        }
    }
}

/// Reads the field `key` of every record; `None` for a record that is not a document.
fn values(chunk: &Chunk, options: &SourceOptions, key: &str) -> Vec<Option<SortValue>> {
    let options = SourceOptions {
        sort_key: Some(key.to_owned()),
        ..options.clone()
    };
    let mut values = Vec::new();
    chunk.documents_again(&options, &mut |record| {
        values.push(match record.kind {
            RecordKind::Document { sort_value, .. } => sort_value,
            _ => None,
        });
    });
    values
}

fn text(value: Option<&Option<SortValue>>) -> Option<&str> {
    match value?.as_ref()? {
        SortValue::Text(text) => Some(text),
        SortValue::Integer(_) | SortValue::Real(_) => None,
    }
}
