//! The rows of `clusters.jsonl`, `pairs.jsonl` and `rejects.jsonl`.

use std::borrow::Cow;

use serde::Serialize;

use crate::corpus::Documents;
use crate::sink::{OutputFile, SinkError};
use crate::source::{RejectReason, Sources};

/// Names documents in rows.
#[derive(Clone, Copy)]
pub(crate) struct Names<'r> {
    pub(crate) documents: &'r Documents,
    pub(crate) sources: &'r Sources,
}

impl Names<'_> {
    /// The source and the line.
    pub(crate) fn place(&self, document: u32) -> (&str, u64) {
        let source = &self.sources.list()[self.documents.source(document) as usize];
        (&source.label, self.documents.line(document))
    }

    /// True if the id does not depend on the document's place in its file: it is the record's own, or the path of a whole file.
    #[cfg(feature = "collections")]
    pub(crate) fn is_own_id(&self, document: u32) -> bool {
        let source = &self.sources.list()[self.documents.source(document) as usize];
        self.documents.id(document).is_some() || source.format.is_whole_file()
    }

    /// The record's id, or else `source:line`, or the path of a whole file.
    pub(crate) fn id(&self, document: u32) -> Cow<'_, str> {
        if let Some(id) = self.documents.id(document) {
            return Cow::Borrowed(id);
        }
        let source = &self.sources.list()[self.documents.source(document) as usize];
        if source.format.is_whole_file() {
            Cow::Borrowed(&source.label)
        } else {
            Cow::Owned(source.name_of(self.documents.line(document)))
        }
    }
}

/// One row a document.
#[derive(Serialize)]
pub(crate) struct ClusterRow<'r> {
    pub(crate) id: &'r str,
    pub(crate) source: &'r str,
    pub(crate) line: u64,
    /// The number of the leader among the documents, in input order.
    pub(crate) cluster_id: u32,
    pub(crate) cluster_size: u32,
    pub(crate) is_leader: bool,
    pub(crate) duplicate_of: Option<&'r str>,
    pub(crate) hamming: u32,
    pub(crate) jaccard: Option<Ratio>,
    pub(crate) fingerprint: &'r str,
    /// Documents that this one stands for, see [`Verdict::dup_count`](crate::output::Verdict::dup_count).
    pub(crate) dup_count: u32,
    /// Present and false where nothing was verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) verified: Option<bool>,
}

/// One row a duplicate pair.
#[derive(Serialize)]
pub(crate) struct PairRow<'r> {
    pub(crate) a: &'r str,
    pub(crate) b: &'r str,
    pub(crate) hamming: u32,
    pub(crate) jaccard: Option<Ratio>,
    pub(crate) containment: Option<Ratio>,
    pub(crate) a_source: &'r str,
    pub(crate) a_line: u64,
    pub(crate) b_source: &'r str,
    pub(crate) b_line: u64,
}

#[derive(Serialize)]
struct RejectRow<'r> {
    source: &'r str,
    line: u64,
    reason: &'r str,
}

/// A share, to six places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ratio(f64);

impl Ratio {
    /// `None` where nothing was measured.
    pub(crate) fn of(value: f64) -> Option<Self> {
        (!value.is_nan()).then_some(Self(value))
    }

    /// To six places, towards zero, so that a value below a threshold never reads as having reached it.
    pub(crate) fn value(self) -> f64 {
        (self.0 * 1e6).floor() / 1e6
    }
}

impl Serialize for Ratio {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.value())
    }
}

/// Appends a row and a line feed.
pub(crate) fn write<R: Serialize>(
    out: &mut OutputFile,
    row: &R,
    buffer: &mut Vec<u8>,
) -> Result<(), SinkError> {
    buffer.clear();
    // Strings, numbers and nulls always serialise; a failure could only come from the buffer, which has none.
    if serde_json::to_writer(&mut *buffer, row).is_ok() {
        buffer.push(b'\n');
    }
    out.append(buffer)
}

/// Appends the row of a rejected record.
pub(crate) fn write_reject(
    out: &mut OutputFile,
    source: &str,
    line: u64,
    reason: &RejectReason,
) -> Result<(), SinkError> {
    write(
        out,
        &RejectRow {
            source,
            line,
            reason: &reason.to_string(),
        },
        &mut Vec::new(),
    )
}
