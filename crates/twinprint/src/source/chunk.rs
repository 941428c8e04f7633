//! A piece of the input that one task can turn into records.
//!
//! Records are held as bytes; whole files are only named and read where they are processed, so that many small files
//! are opened by all threads at once.

use std::borrow::Cow;
use std::io::Read;
use std::ops::Range;
use std::str::from_utf8;
use std::sync::Arc;

use super::decode;
use super::format::{Codec, Format};
use super::json;
use super::options::SourceOptions;
use super::page::Pages;
use super::record::{Record, RecordKind};
use super::reject::RejectReason;
use super::scan::{Lines, Part, content};
use super::sources::{Shared, SourceFile};
use super::split::{BOM, Piece};
use super::warc;

/// Records in input order, next to one another.
#[derive(Debug)]
pub struct Chunk {
    pub(crate) shared: Arc<Shared>,
    pub(crate) first_ordinal: u64,
    pub(crate) records: u64,
    pub(crate) body: Body,
}

/// What a chunk holds.
#[derive(Debug)]
pub(crate) enum Body {
    /// Whole records of one source, as bytes.
    Bytes { source: u32, piece: Piece },
    /// Sources that are one document each.
    Files(Range<u32>),
    /// One record that cannot be had.
    Rejected {
        source: u32,
        line: u64,
        raw_len: u64,
        reason: RejectReason,
    },
}

impl Chunk {
    /// The ordinal of its first record: documents and rejects over all inputs, counted from 0 in input order.
    pub fn first_ordinal(&self) -> u64 {
        self.first_ordinal
    }

    /// How many documents and rejects it yields.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The source of its first record.
    pub fn source(&self) -> u32 {
        match &self.body {
            Body::Bytes { source, .. } | Body::Rejected { source, .. } => *source,
            Body::Files(range) => range.start,
        }
    }

    /// Yields every record in order, blank lines included. The names of the fields come from `options`; the longest
    /// record is that of the options the sources were found with. Linear in the bytes; a field without escapes is
    /// not copied.
    pub fn documents(&self, options: &SourceOptions, f: &mut impl FnMut(Record<'_>)) {
        match &self.body {
            Body::Bytes { source, piece } => {
                let mut parser = Parser {
                    format: self.shared.files[*source as usize].format,
                    options,
                    max: self.shared.options.max_document,
                    pages: Pages::default(),
                };
                parser.each(piece, &mut |line, raw_len, kind| {
                    f(Record {
                        source: *source,
                        line,
                        raw_len,
                        kind,
                    });
                });
            }
            Body::Files(range) => {
                let mut buffer = Vec::new();
                for source in range.clone() {
                    let file = &self.shared.files[source as usize];
                    let (raw_len, kind) = whole_file(file, self.shared.options.max_document, &mut buffer);
                    f(Record {
                        source,
                        line: 1,
                        raw_len,
                        kind,
                    });
                }
            }
            Body::Rejected {
                source,
                line,
                raw_len,
                reason,
            } => {
                let kind = RecordKind::Rejected {
                    reason: reason.clone(),
                };
                f(Record {
                    source: *source,
                    line: *line,
                    raw_len: *raw_len,
                    kind,
                });
            }
        }
    }
}

/// Turns the records of a piece into documents.
struct Parser<'o> {
    format: Format,
    options: &'o SourceOptions,
    max: u64,
    pages: Pages,
}

impl Parser<'_> {
    /// Yields line, length and kind of every record and blank line.
    fn each<'a>(&mut self, piece: &'a Piece, f: &mut impl FnMut(u64, u64, RecordKind<'a>)) {
        // One check of all the bytes is much faster than one a record; only a piece that fails is looked at by record.
        let valid = simdutf8::basic::from_utf8(&piece.data).ok();
        let mut start = 0;
        for (span, raw) in piece.parts() {
            let bytes = if self.format == Format::Warc {
                raw
            } else {
                content(raw)
            };
            match span.part {
                Part::Blank => {
                    for (line, number) in Lines(raw).zip(span.line..) {
                        f(number, content(line).len() as u64, RecordKind::Blank);
                    }
                }
                Part::Record => {
                    // Records of valid text begin and end at characters, so that this is valid text.
                    let text = valid.and_then(|v| v.get(start..start + bytes.len()));
                    f(span.line, bytes.len() as u64, self.kind(bytes, text));
                }
                Part::Other(Some(kind)) => f(span.line, raw.len() as u64, RecordKind::Other { kind }),
                Part::Other(None) | Part::Opening | Part::Separator | Part::Closing => {}
            }
            start = span.end;
        }
    }

    fn kind<'a>(&mut self, bytes: &'a [u8], text: Option<&'a str>) -> RecordKind<'a> {
        if bytes.len() as u64 > self.max {
            let reason = RejectReason::TooLong {
                bytes: Some(bytes.len() as u64),
                limit: self.max,
            };
            return RecordKind::Rejected { reason };
        }
        if self.format == Format::Warc {
            return match warc::document(bytes, self.options, self.max, &mut self.pages) {
                Ok(json::Picked { text, id, sort_value }) => RecordKind::Document { id, text, sort_value },
                Err(reason) => RecordKind::Rejected { reason },
            };
        }
        let document = match text.map_or_else(|| decoded(bytes), Ok) {
            Err(reason) => Err(reason),
            Ok(text) if self.format == Format::Jsonl => {
                json::pick(text, self.options).and_then(|picked| self.page(picked))
            }
            Ok(text) => {
                let text = Cow::Borrowed(text.strip_suffix('\r').unwrap_or(text));
                Ok(json::Picked {
                    text,
                    id: None,
                    sort_value: None,
                })
            }
        };
        match document {
            Ok(json::Picked { text, id, sort_value }) => RecordKind::Document { id, text, sort_value },
            Err(reason) => RecordKind::Rejected { reason },
        }
    }

    /// Puts the text of a page in the place of its markup, where the field holds markup.
    fn page<'a>(&mut self, picked: json::Picked<'a>) -> Result<json::Picked<'a>, RejectReason> {
        if !self.options.html {
            return Ok(picked);
        }
        let text = self.pages.of_markup(&picked.text)?;
        Ok(json::Picked { text, ..picked })
    }
}

fn decoded(bytes: &[u8]) -> Result<&str, RejectReason> {
    from_utf8(bytes).map_err(|e| {
        if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
            return RejectReason::Utf16;
        }
        let offset = e.valid_up_to();
        RejectReason::InvalidUtf8 {
            offset: offset as u64 + 1,
            byte: bytes.get(offset).copied().unwrap_or(0),
        }
    })
}

/// Reads a file as one document into `buffer`.
fn whole_file<'b>(file: &SourceFile, max: u64, buffer: &'b mut Vec<u8>) -> (u64, RecordKind<'b>) {
    buffer.clear();
    let rejected = |raw_len, reason| (raw_len, RecordKind::Rejected { reason });
    if file.codec == Codec::Plain && file.bytes > max.saturating_add(BOM.len() as u64) {
        return rejected(
            file.bytes,
            RejectReason::TooLong {
                bytes: Some(file.bytes),
                limit: max,
            },
        );
    }
    let stream = match decode::open(&file.path, file.codec, file.bytes, &Arc::default()) {
        Ok(stream) => stream,
        Err(error) => return rejected(0, decode::reason(&error, Codec::Plain)),
    };
    // A mark does not count; one byte more shows that the limit is passed.
    let most = max.saturating_add(BOM.len() as u64 + 1);
    if let Err(error) = stream.take(most).read_to_end(buffer) {
        return rejected(buffer.len() as u64, decode::reason(&error, file.codec));
    }
    let bytes = buffer.strip_prefix(BOM).unwrap_or(buffer);
    let raw_len = bytes.len() as u64;
    if raw_len > max {
        return rejected(
            raw_len,
            RejectReason::TooLong {
                bytes: None,
                limit: max,
            },
        );
    }
    let text = match file.format {
        Format::Html => Pages::default().of_bytes(bytes, None),
        _ => decoded(bytes).map(Cow::Borrowed),
    };
    match text {
        Ok(text) => (
            raw_len,
            RecordKind::Document {
                id: None,
                text,
                sort_value: None,
            },
        ),
        Err(reason) => rejected(raw_len, reason),
    }
}
