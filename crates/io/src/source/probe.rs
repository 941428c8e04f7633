//! Reads the beginning of a file to find out which fields its records have.

use std::io;
use std::sync::Arc;

use super::block::RecordBlock;
use super::charset::{self, DetectedStream};
use super::decode::{self, UnpackLimits};
use super::delimited::Header;
use super::file::SourceFile;
use super::json;
use super::options::SourceOptions;
use super::record_limits::RecordLimits;
use super::reject::RejectReason;
use super::scan::{SpanKind, content, scanner};
use super::split::{SplitItem, Splitter, StreamFailure};
#[cfg(feature = "tables")]
use super::table::Table;

/// The largest number of decompressed bytes that are read of a file.
const BYTES: u64 = 1 << 20;
/// The largest number of records that are parsed of a file.
const RECORDS: u64 = 100;

/// The presence of a field in the first records of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FieldPresence {
    /// At least one record has the field.
    There,
    /// No record of the file has the field, because the header or the schema does not list it. Contains the fields that
    /// are listed.
    Missing(Vec<String>),
    /// None of the first records has the field. Contains the number of these records, and the fields of the first one.
    NotAtFirst(u64, Vec<String>),
    /// The file has no records.
    Empty,
    /// No record could be examined, because the first one is longer than [`BYTES`], or because the file cannot be read.
    Unseen,
    /// The format has no fields, or the records are not valid in the format.
    Unknown,
}

/// Searches the beginning of a file for the field `key`. Reads at most [`BYTES`] bytes, or the metadata of a table.
pub(super) fn probe_field(file: &SourceFile, options: &SourceOptions, key: &str) -> FieldPresence {
    #[cfg(feature = "tables")]
    if file.format.is_table() {
        return match Table::open(file).map(|table| table.lacks(key)) {
            Ok(Some(columns)) => FieldPresence::Missing(columns),
            Ok(None) => FieldPresence::There,
            Err(_) => FieldPresence::Unknown,
        };
    }
    if !file.format.has_fields() {
        return FieldPresence::Unknown;
    }
    let progress = Arc::default();
    let limits = UnpackLimits::of(options);
    let opened = file.open();
    let stream = opened.and_then(|opened| decode::open(opened, file.codec, file.bytes, limits, &progress));
    let Ok(mut stream) = stream else {
        return FieldPresence::Unseen;
    };
    let mut beginning = Vec::new();
    let read = stream.append_to(&mut beginning, BYTES);
    let whole = read.is_ok() && (beginning.len() as u64) < BYTES;
    if whole && beginning.trim_ascii().is_empty() {
        return FieldPresence::Empty;
    }
    let stream = Box::new(io::Cursor::new(beginning));
    let DetectedStream {
        stream,
        charset,
        read_as,
    } = charset::detect_stream(stream, file.format, options);
    let scan = scanner(file.format, read_as, options);
    let record_limits = RecordLimits::of(&SourceOptions {
        max_document: BYTES,
        ..options.clone()
    });
    let mut splitter = Splitter::new(stream, scan, charset, BYTES as usize, record_limits, RECORDS);
    let broken = |error: &_| StreamFailure {
        reason: decode::reason(error, file.codec),
        unread_bytes: 0,
    };
    let key_options = SourceOptions {
        text_key: key.to_owned(),
        raw: true,
        ..options.clone()
    };
    let mut lacking = LackingRecords::default();
    while let Some(cut) = splitter.next(broken) {
        let block = match cut {
            SplitItem::RecordBlock(block) => block,
            SplitItem::Rejected { reason, .. } => {
                lacking.others += u64::from(whole || !reason.cause().is_incomplete());
                continue;
            }
        };
        if let Some(header) = &block.header {
            return lacks(header, key).map_or(FieldPresence::There, FieldPresence::Missing);
        }
        if lacking.has(&block, read_as, &key_options, whole) {
            return FieldPresence::There;
        }
    }
    match (lacking.records, lacking.others) {
        (0, 0) if whole => FieldPresence::Empty,
        (0, 0) => FieldPresence::Unseen,
        (0, _) => FieldPresence::Unknown,
        (records, _) => FieldPresence::NotAtFirst(records, lacking.fields),
    }
}

/// Returns the names of the columns if the column `key` is not among them, otherwise `None`.
fn lacks(header: &Header, key: &str) -> Option<Vec<String>> {
    (!header.has(key)).then(|| header.first_names())
}

/// Counts of the examined records that lack the field.
#[derive(Default)]
struct LackingRecords {
    records: u64,
    /// The fields of the first examined record.
    fields: Vec<String>,
    /// The number of examined records that are not JSON objects.
    others: u64,
}

impl LackingRecords {
    /// Returns true if an object in `block` has the field that `options` names as the text. Counts the objects before
    /// it, which lack the field. If `whole` is false, the file continues after the block, and an incomplete last record
    /// is ignored.
    fn has(
        &mut self,
        block: &RecordBlock,
        charset: super::Charset,
        options: &SourceOptions,
        whole: bool,
    ) -> bool {
        for (span, record) in block.parts() {
            if span.part != SpanKind::Record {
                continue;
            }
            // Only the names of the fields are needed here. So undecodable bytes are replaced, although reading rejects
            // such a record.
            let text = charset.decode_lossy(content(record));
            match json::pick(&text, options) {
                Ok(_) | Err(RejectReason::FieldNull { .. }) => return true,
                Err(RejectReason::FieldMissing { present, .. }) => {
                    if self.records == 0 {
                        self.fields = present;
                    }
                    self.records += 1;
                }
                Err(reason) => self.others += u64::from(whole || !reason.is_incomplete()),
            }
        }
        false
    }
}
