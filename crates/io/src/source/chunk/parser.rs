//! Parses the records of a block into documents.

use std::borrow::Cow;

use twinprint_text::charset::Charset;

use crate::source::block::RecordBlock;
use crate::source::charset::is_recoded;
use crate::source::charset::utf16::{no_text, stored_bytes};
use crate::source::delimited::RowParser;
use crate::source::json;
use crate::source::loss::Loss;
use crate::source::options::SourceOptions;
use crate::source::page::PageExtractor;
use crate::source::record::RecordKind;
use crate::source::record_limits::RecordLimits;
use crate::source::reject::RejectReason;
use crate::source::scan::{Lines, SpanKind, content};
use crate::source::warc;

/// Parses the records of a block.
pub(super) struct Parser<'o> {
    pub(super) fields: Fields<'o>,
    /// The charset of the bytes of the block.
    pub(super) charset: Charset,
    /// The charset of the file. It differs from `charset` if the file is UTF-16, which is converted to UTF-8 while it
    /// is read.
    pub(super) stored: Charset,
    /// True if every record is followed by a line end, except perhaps the last record of the file.
    pub(super) by_line: bool,
    pub(super) record_limits: RecordLimits,
    /// Extracts the texts of pages, if the text field contains HTML.
    pub(super) pages: Option<PageExtractor>,
}

/// The encoding of the fields of a record.
pub(super) enum Fields<'o> {
    /// The record has no fields. All of it is the text.
    None,
    Json(&'o SourceOptions),
    Row(Box<RowParser<'o>>),
    /// The record belongs to a web archive and has its own charset.
    Archive(&'o SourceOptions),
}

impl Parser<'_> {
    /// Calls `f` with the line, the length in bytes and the kind of every record and blank line.
    pub(super) fn each(&mut self, block: &RecordBlock, f: &mut impl FnMut(u64, u64, RecordKind<'_>)) {
        // Checking all bytes at once is much faster than checking each record. Records are checked one by one only if
        // the whole block is not valid UTF-8.
        let valid = simdutf8::basic::from_utf8(&block.data).ok();
        let valid = valid.filter(|_| self.charset == Charset::UTF_8);
        let mut start = 0;
        for (span, raw) in block.parts() {
            match span.part {
                SpanKind::Blank => {
                    for (line, number) in Lines(raw).zip(span.line..) {
                        f(number, content(line).len() as u64, RecordKind::Blank);
                    }
                }
                SpanKind::Record => {
                    // The bounds of records are bounds of characters, so each record of a valid block is valid UTF-8.
                    let text = valid.and_then(|v| v.get(start..start + self.content(raw).len()));
                    let line = self.line(raw, text);
                    self.record(&line, &mut |kind, _| f(span.line, line.bytes.len() as u64, kind));
                }
                SpanKind::Other(Some(kind)) => f(span.line, raw.len() as u64, RecordKind::Other { kind }),
                SpanKind::Other(None) | SpanKind::Opening | SpanKind::Separator | SpanKind::Closing => {}
            }
            start = span.end;
        }
    }

    /// Returns a record without its line feed. A record of a web archive is returned unchanged.
    fn content<'b>(&self, raw: &'b [u8]) -> &'b [u8] {
        match self.fields {
            Fields::Archive(_) => raw,
            _ => content(raw),
        }
    }

    /// Creates the line of a record. `text` is the same record as text, if it is already known to be UTF-8.
    pub(super) fn line<'b>(&self, raw: &'b [u8], text: Option<&'b str>) -> RecordLine<'b> {
        let bytes = self.content(raw);
        RecordLine {
            bytes,
            text,
            ended: !self.by_line || bytes.len() < raw.len() || bytes.ends_with(b"\r"),
        }
    }

    /// Returns true if records may be HTML pages.
    pub(super) fn has_pages(&self, options: &SourceOptions) -> bool {
        options.html || matches!(self.fields, Fields::Archive(_))
    }

    /// Parses a record and calls `f` with it. The second argument of `f` is true if the record is an HTML page.
    pub(super) fn record(&mut self, line: &RecordLine<'_>, f: &mut impl FnMut(RecordKind<'_>, bool)) {
        let rejected = |reason| RecordKind::Rejected { reason };
        if let Err(reason) = self.record_limits.check(line.bytes.len() as u64) {
            return f(rejected(reason), false);
        }
        if let Fields::Archive(options) = self.fields {
            let pages = self.pages.get_or_insert_default();
            let picked = warc::document(line.bytes, options, self.record_limits, pages);
            return f(picked.map_or_else(rejected, document), pages.take_read());
        }
        let text = match line.text {
            Some(text) => Ok(Cow::Borrowed(text)),
            None => self.charset.decode(line.bytes),
        };
        let text = match text {
            Ok(text) => text,
            Err(error) => return f(rejected(self.no_text(line, error.into())), false),
        };
        let has_fields = !matches!(self.fields, Fields::None);
        let picked = match &mut self.fields {
            Fields::Json(options) => json::pick(&text, options),
            Fields::Row(row) => row.pick(&text),
            Fields::None | Fields::Archive(_) => Ok(json::PickedFields {
                text: Cow::Borrowed(text.strip_suffix('\r').unwrap_or(&text)),
                id: None,
                sort_value: None,
            }),
        };
        let (picked, is_page) = match &mut self.pages {
            // The extracted text of a page replaces its markup.
            Some(pages) if has_fields => {
                let page = picked.and_then(|picked| {
                    let text = pages.of_markup(picked.text)?;
                    Ok(json::PickedFields { text, ..picked })
                });
                (page, pages.take_read())
            }
            _ => (picked, false),
        };
        let kind = match picked {
            Ok(picked) => document(picked),
            Err(reason) if reason.is_incomplete() => rejected(self.cut_off(line, reason)),
            Err(reason) => rejected(reason),
        };
        f(kind, is_page);
    }

    /// Returns the reason why the bytes of a record are not text. `reason` is the error that decoding them reported.
    fn no_text(&self, line: &RecordLine<'_>, reason: RejectReason) -> RejectReason {
        if is_recoded(self.stored) {
            return match no_text(line.bytes, self.stored).unwrap_or(reason) {
                odd @ RejectReason::OddByte { .. } => self.cut_off(line, odd),
                reason => reason,
            };
        }
        let ends_within_a_character = self.charset == Charset::UTF_8
            && std::str::from_utf8(line.bytes).is_err_and(|error| error.error_len().is_none());
        if ends_within_a_character {
            self.cut_off(line, reason)
        } else {
            reason
        }
    }

    /// Returns the reason to reject an incomplete record. If no line end follows the record, the file is assumed to be
    /// truncated, and the reason includes the loss.
    fn cut_off(&self, line: &RecordLine<'_>, reason: RejectReason) -> RejectReason {
        if line.ended {
            return reason;
        }
        reason.losing(Loss {
            bytes: if is_recoded(self.stored) {
                stored_bytes(line.bytes)
            } else {
                line.bytes.len() as u64
            },
            lines: Lines(line.bytes).count() as u64,
            ..Loss::default()
        })
    }
}

/// The bytes of a record, without its line feed.
pub(super) struct RecordLine<'a> {
    bytes: &'a [u8],
    /// The same bytes as text, if they are already known to be UTF-8.
    text: Option<&'a str>,
    /// True if a line end follows. Only the last record of a file may have none.
    ended: bool,
}

fn document(picked: json::PickedFields<'_>) -> RecordKind<'_> {
    let json::PickedFields { text, id, sort_value } = picked;
    RecordKind::document(text, id, sort_value)
}
