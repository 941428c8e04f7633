//! Fields that describe the group of a document, added to every record: in `annotated/`, or in `kept/` and `removed/`
//! with [`DedupOptions::columns`](crate::DedupOptions::columns).
//!
//! The bytes of the record do not change; the fields are added at the end of an object or a row. If a record already
//! has a field with the name of an added one, the run ends with an error, since readers disagree on which of two fields
//! with one name counts.

mod object;
mod row;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde_json::Value;

use crate::options::Columns;
use twinprint_io::rows::Ratio;
use twinprint_io::sink::{ColumnType, Edit, RecordContext, SinkError};
use twinprint_io::source::{BOM, ChunkContent, Format, Sources, SpanKind};

/// The largest number of files whose beginnings are checked before the run begins.
const MAX_CHECKED_FILES: usize = 16;

impl Columns {
    /// The names and types of the fields, in the order in which they are written.
    fn fields(self) -> &'static [(&'static str, ColumnType)] {
        use ColumnType::{Boolean, Integer, Real, Text};
        match self {
            Self::Twinprint => &[
                ("cluster_id", Integer),
                ("cluster_size", Integer),
                ("is_leader", Boolean),
                ("duplicate_of", Text),
                ("hamming", Integer),
                ("jaccard", Real),
                ("dup_count", Integer),
            ],
            Self::Datatrove => &[("minhash_cluster_id", Integer), ("minhash_cluster_size", Integer)],
            Self::TextDedup => &[("__CLUSTER__", Integer), ("__INDEX__", Integer)],
            Self::Duplodocus => &[("cc_id", Integer), ("cc_size", Integer), ("cc_idx", Integer)],
            Self::DupCount => &[("dup_count", Integer)],
        }
    }

    fn values(self, of: &Annotation<'_>) -> Vec<Value> {
        match self {
            Self::Twinprint => vec![
                of.cluster_id.into(),
                of.cluster_size.into(),
                of.is_leader.into(),
                of.duplicate_of.as_deref().into(),
                of.hamming.into(),
                of.jaccard.map(Ratio::value).into(),
                of.dup_count.into(),
            ],
            Self::Datatrove => {
                let alone = of.cluster_size == 1;
                let id = if alone { -1 } else { i64::from(of.cluster_id) };
                vec![id.into(), of.cluster_size.into()]
            }
            Self::TextDedup => vec![of.cluster_id.into(), of.document.into()],
            Self::Duplodocus => vec![of.cluster_id.into(), of.cluster_size.into(), of.place.into()],
            Self::DupCount => vec![of.dup_count.into()],
        }
    }
}

/// The values of the fields of one document.
pub(crate) struct Annotation<'a> {
    /// The number of the document in input order.
    pub(crate) document: u32,
    /// The number of the leading document of the group.
    pub(crate) cluster_id: u32,
    pub(crate) cluster_size: u32,
    pub(crate) is_leader: bool,
    pub(crate) duplicate_of: Option<Cow<'a, str>>,
    pub(crate) hamming: u32,
    pub(crate) jaccard: Option<Ratio>,
    /// The number of documents that this one stands for, see
    /// [`DocumentVerdict::dup_count`](crate::write::DocumentVerdict::dup_count).
    pub(crate) dup_count: u32,
    /// The position in the group: 0 for the leader, then the others in input order.
    pub(crate) place: u32,
}

/// The file of a record, and its line or row.
#[derive(Clone, Copy)]
struct RecordPosition<'a> {
    label: &'a str,
    line: u64,
}

/// Adds the fields of the result, such as the group and the leader, to records.
#[derive(Clone, Debug)]
pub(crate) struct Annotator {
    columns: Columns,
    fields: Vec<AddedField>,
}

/// The name and the type of an added field.
type AddedField = (String, ColumnType);

impl Annotator {
    /// An annotator that adds the fields of `columns`. `prefix` comes before every name.
    pub(crate) fn new(columns: Columns, prefix: &str) -> Self {
        let fields = columns.fields().iter();
        Self {
            columns,
            fields: fields
                .map(|&(name, kind)| (format!("{prefix}{name}"), kind))
                .collect(),
        }
    }

    /// True if the records of this format have fields to which others can be added.
    pub(crate) fn accepts(format: Format) -> bool {
        format.has_fields()
    }

    /// Checks the first records of some files for fields with the names of the added ones, so that a run fails early.
    ///
    /// # Errors
    /// [`SinkError::FieldClash`], and the errors of reading.
    pub(crate) fn check_sources(&self, sources: &Sources) -> Result<(), SinkError> {
        let files = sources.list().len();
        for file in (0..files).step_by(files.div_ceil(MAX_CHECKED_FILES).max(1)) {
            let Some(batch) = sources.subset(&[file as u32]).reread(1).next() else {
                continue;
            };
            let label = &sources.list()[file].label;
            for chunk in &batch?.chunks {
                match &chunk.body {
                    ChunkContent::Bytes { charset, block, .. } => {
                        let under = RecordContext {
                            source: file as u32,
                            charset: *charset,
                            header: block.header.as_deref(),
                        };
                        for (span, record) in block.parts() {
                            match span.part {
                                SpanKind::Opening => self.check_header(under, label)?,
                                SpanKind::Record => self.check(
                                    under,
                                    record,
                                    RecordPosition {
                                        label,
                                        line: span.line,
                                    },
                                )?,
                                _ => {}
                            }
                        }
                    }
                    #[cfg(feature = "tables")]
                    ChunkContent::Rows { row_range, .. } => {
                        let taken = |name: &&str| row_range.table().has_column(name);
                        if let Some(name) = self.names().find(taken) {
                            return Err(clash(label.clone(), name));
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|(name, _)| name.as_str())
    }

    /// Fails if a header row has the name of an added field.
    fn check_header(&self, under: RecordContext<'_>, label: &str) -> Result<(), SinkError> {
        let taken = |name: &&str| under.header.is_some_and(|header| header.has(name));
        match self.names().find(taken) {
            Some(name) => Err(clash(label.to_owned(), name)),
            None => Ok(()),
        }
    }

    /// Fails if an object has a field with the name of an added field.
    fn check(
        &self,
        under: RecordContext<'_>,
        record: &[u8],
        RecordPosition { label, line }: RecordPosition<'_>,
    ) -> Result<(), SinkError> {
        if under.header.is_some() {
            return Ok(());
        }
        match object::clash(record, under.charset, &self.fields) {
            Some(name) => Err(clash(format!("{label}:{line}"), name)),
            None => Ok(()),
        }
    }

    /// Appends the record with the added fields to the output. `position` is the file and the line of the record.
    ///
    /// # Errors
    /// [`SinkError::FieldClash`], [`SinkError::Unencodable`].
    fn append(
        &self,
        under: RecordContext<'_>,
        record: &[u8],
        position: RecordPosition<'_>,
        annotation: &Annotation<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), SinkError> {
        let values = self.columns.values(annotation);
        if let Some(header) = under.header {
            let fields = values.iter().map(row::field);
            let RecordPosition { label, line } = position;
            let place = || format!("{label}:{line}");
            return row::append(record, fields, header.delimiter, under.charset, out)
                .map_err(|text| unencodable(place(), under, text));
        }
        self.check(under, record, position)?;
        object::append(record, under.charset, &self.fields, values, out);
        Ok(())
    }
}

fn clash(place: String, name: &str) -> SinkError {
    SinkError::FieldClash {
        place,
        name: name.to_owned(),
    }
}

fn unencodable(place: String, under: RecordContext<'_>, text: String) -> SinkError {
    SinkError::Unencodable {
        place,
        charset: under.charset,
        text,
    }
}

/// The annotations of all records of a run.
pub(crate) struct Annotate<'a, F> {
    pub(crate) annotator: Annotator,
    pub(crate) sources: &'a Sources,
    /// Returns the annotation of the record at a position in the input; `None` for a reject.
    pub(crate) annotation: F,
}

impl<F> Annotate<'_, F> {
    fn label(&self, under: RecordContext<'_>) -> &str {
        &self.sources.file(under.source).label
    }
}

impl<'a, F> Edit for Annotate<'a, F>
where
    F: Fn(u64) -> Option<Annotation<'a>> + Sync,
{
    fn record(
        &self,
        under: RecordContext<'_>,
        line: u64,
        ordinal: u64,
        record: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), SinkError> {
        let Some(annotation) = (self.annotation)(ordinal) else {
            out.extend_from_slice(record);
            return Ok(());
        };
        let position = RecordPosition {
            label: self.label(under),
            line,
        };
        self.annotator.append(under, record, position, &annotation, out)
    }

    fn opening(&self, under: RecordContext<'_>, opening: &[u8], out: &mut Vec<u8>) -> Result<(), SinkError> {
        let Some(header) = under.header.filter(|_| opening != BOM) else {
            out.extend_from_slice(opening);
            return Ok(());
        };
        let label = self.label(under);
        self.annotator.check_header(under, label)?;
        let names = self.annotator.names().map(Cow::Borrowed);
        row::append(opening, names, header.delimiter, under.charset, out)
            .map_err(|text| unencodable(label.to_owned(), under, text))
    }

    fn columns(&self) -> &[(String, ColumnType)] {
        &self.annotator.fields
    }

    fn values(&self, ordinal: u64) -> Vec<Value> {
        let columns = self.annotator.columns;
        match (self.annotation)(ordinal) {
            Some(annotation) => columns.values(&annotation),
            None => vec![Value::Null; columns.fields().len()],
        }
    }
}
