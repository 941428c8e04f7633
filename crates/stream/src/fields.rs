//! Fields of records beside the text: time, title, address, score.
//!
//! Reading a record yields one field to sort by. A stream wants four, so the records are gone through once for each, which is little work
//! beside segmenting their texts; a pass differs from the first by nothing but that field, so that all yield the same records.

use twinprint_io::source::{Chunk, Format, Record, RecordKind, SortValue, SourceOptions, Sources};

/// Which fields hold what; a record need not have any of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldKeys {
    /// When a document was seen. In web archives it is the date of the record.
    pub time: String,
    /// Its title.
    pub title: String,
    /// Its address; in web archives the address of the record.
    pub url: String,
    /// How much it is worth.
    pub score: String,
    /// What it is known to belong to, where clusters are to be compared with that.
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

/// What a record has beside its text and id.
#[derive(Debug, Default)]
pub struct Beside<'r> {
    /// Its title.
    pub title: Option<&'r str>,
    /// Its address.
    pub url: Option<&'r str>,
    /// How much it is worth; what is there but is no number is NaN.
    pub score: Option<f64>,
    /// When it was seen, as it says.
    pub time: Option<SortValue>,
    /// What it is known to belong to.
    pub label: Option<String>,
}

/// Calls `take` with every record of a chunk, and of a document what stands beside it. In a web archive the address is the record's id, and
/// the time its date.
pub fn records(
    chunk: &Chunk,
    sources: &Sources,
    options: &SourceOptions,
    keys: &FieldKeys,
    take: &mut dyn FnMut(Record<'_>, Beside<'_>),
) {
    let fields = Fields::read(chunk, sources, keys);
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
        let mut beside = Beside::default();
        let id;
        if let RecordKind::Document {
            id: own, sort_value, ..
        } = &mut record.kind
        {
            id = own.clone().filter(|_| archive);
            beside = Beside {
                title: fields.title(number),
                url: fields.url(number).or(id.as_deref()),
                score: fields.score(number),
                time: sort_value.take(),
                label: fields.label(number),
            };
        }
        number += 1;
        take(record, beside);
    });
}

/// The values of the further fields of a chunk's records, in order.
#[derive(Debug, Default)]
pub struct Fields {
    titles: Vec<Option<SortValue>>,
    urls: Vec<Option<SortValue>>,
    scores: Vec<Option<SortValue>>,
    labels: Vec<Option<SortValue>>,
}

impl Fields {
    /// Reads them. Files that are one document have none.
    pub fn read(chunk: &Chunk, sources: &Sources, keys: &FieldKeys) -> Self {
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
    pub fn label(&self, record: usize) -> Option<String> {
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

/// A field of every record; nothing for what is no document.
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
