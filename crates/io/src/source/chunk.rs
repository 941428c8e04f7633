//! A piece of the input that one task can turn into records.
//!
//! Records are held as bytes; whole files are only named and read where they are processed, so that many small files
//! are opened by all threads at once.

use std::borrow::Cow;
use std::io::Read;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use twinprint_text::charset::{self, Charset};

use super::charset::utf16::{no_text, stored_bytes};
use super::charset::{hints, is_recoded};
use super::decode::{self, Unpacking};
use super::delimited::RowParser;
use super::format::{Codec, Format};
use super::intake::Tally;
use super::json;
use super::longest::Longest;
use super::loss::Loss;
use super::options::SourceOptions;
use super::page::Pages;
use super::record::{IntegerType, Record, RecordKind};
use super::reject::RejectReason;
use super::scan::{Lines, Part, content};
use super::sources::Shared;
use super::split::{BOM, Piece};
#[cfg(feature = "tables")]
use super::table::Stretch;
use super::warc;

/// Records in input order, next to one another.
#[derive(Debug)]
pub struct Chunk {
    pub shared: Arc<Shared>,
    pub first_ordinal: u64,
    pub records: u64,
    pub body: Body,
    /// The records are counted, or not to be.
    pub counted: AtomicBool,
}

/// What a chunk holds.
#[derive(Debug)]
pub enum Body {
    /// Whole records of one source, as bytes.
    Bytes {
        source: u32,
        charset: Charset,
        piece: Piece,
    },
    /// Sources that are one document each.
    Files(Range<u32>),
    /// Rows of a table, decoded where they are processed.
    #[cfg(feature = "tables")]
    Rows { source: u32, stretch: Stretch },
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
            #[cfg(feature = "tables")]
            Body::Rows { source, .. } => *source,
        }
    }

    /// The type of the ids of its records, where they are rows of a table with a column of whole numbers for them.
    pub fn id_type(
        &self,
        #[cfg_attr(
            not(feature = "tables"),
            expect(unused_variables, reason = "only tables have types")
        )]
        options: &SourceOptions,
    ) -> Option<IntegerType> {
        match &self.body {
            Body::Bytes { .. } | Body::Rejected { .. } | Body::Files(_) => None,
            #[cfg(feature = "tables")]
            Body::Rows { stretch, .. } => stretch.table().id_type(options),
        }
    }

    /// Yields every record in order, blank lines included. The names of the fields come from `options`; the longest
    /// record is that of the options the sources were found with. Linear in the bytes; a field without escapes is
    /// not copied. The first call counts the records for [`Sources::intake`](super::Sources::intake).
    pub fn documents(&self, options: &SourceOptions, f: &mut impl FnMut(Record<'_>)) {
        if self.counted.swap(true, Ordering::Relaxed) {
            return self.documents_again(options, f);
        }
        let mut tally = Tally::of_chunk(self.first_ordinal);
        self.documents_again(options, &mut |record| {
            tally.count(&record);
            f(record);
        });
        self.shared.count(tally);
    }

    /// Counts one of the documents as rejected, since it cannot be used.
    pub fn refuse(&self, source: u32, line: u64, reason: &RejectReason) {
        let mut tally = Tally::of_chunk(self.first_ordinal);
        tally.refuse(source, line, reason);
        self.shared.count(tally);
    }

    /// As [`documents`](Self::documents), without counting: for further fields of records that are yielded besides.
    pub fn documents_again(&self, options: &SourceOptions, f: &mut impl FnMut(Record<'_>)) {
        match &self.body {
            Body::Bytes {
                source,
                charset,
                piece,
            } => {
                let pages = options.html.then(Pages::default);
                let mut parser = self.parser((*source, *charset, piece), options, pages);
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
                    let pages = &mut Pages::default();
                    let (raw_len, kind) = whole_file(&self.shared, source, pages, &mut buffer);
                    f(Record {
                        source,
                        line: 1,
                        raw_len,
                        kind,
                    });
                }
            }
            #[cfg(feature = "tables")]
            Body::Rows { source, stretch } => {
                let file = &self.shared.files[*source as usize];
                let longest = Longest::of(&self.shared.options);
                stretch.each(file, options, longest, &mut |line, raw_len, kind| {
                    f(Record {
                        source: *source,
                        line,
                        raw_len,
                        kind,
                    });
                });
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

    /// Yields the ordinal and the original text of every record for which `wanted` is true, in order; for a page, the decoded markup.
    /// Rejected records are left out. Only wanted records are parsed, except for rows of tables.
    pub fn originals(
        &self,
        options: &SourceOptions,
        wanted: &dyn Fn(u64) -> bool,
        f: &mut impl FnMut(u64, Original<'_>),
    ) {
        let mut take = |ordinal: u64, kind: RecordKind<'_>, is_page: bool| {
            if let RecordKind::Document { text, .. } = kind {
                f(ordinal, Original { text, is_page });
            }
        };
        match &self.body {
            Body::Bytes {
                source,
                charset,
                piece,
            } => {
                let mut parser = self.parser((*source, *charset, piece), options, None);
                parser.pages = parser.has_pages(options).then(Pages::as_markup);
                let records = piece.parts().filter(|(span, _)| span.part == Part::Record);
                for (ordinal, (_, raw)) in (self.first_ordinal..).zip(records) {
                    if wanted(ordinal) {
                        let line = parser.line(raw, None);
                        parser.record(&line, &mut |kind, is_page| take(ordinal, kind, is_page));
                    }
                }
            }
            Body::Files(range) => {
                let mut buffer = Vec::new();
                for (ordinal, source) in (self.first_ordinal..).zip(range.clone()) {
                    if wanted(ordinal) {
                        let mut pages = Pages::as_markup();
                        let (_, kind) = whole_file(&self.shared, source, &mut pages, &mut buffer);
                        take(ordinal, kind, pages.take_read());
                    }
                }
            }
            #[cfg(feature = "tables")]
            Body::Rows { source, stretch } => {
                let file = &self.shared.files[*source as usize];
                let longest = Longest::of(&self.shared.options);
                let mut ordinals = self.first_ordinal..;
                stretch.each(file, options, longest, &mut |_, _, kind| {
                    if let Some(ordinal) = ordinals.next().filter(|&ordinal| wanted(ordinal)) {
                        take(ordinal, kind, false);
                    }
                });
            }
            Body::Rejected { .. } => {}
        }
    }

    fn parser<'o>(
        &self,
        (source, charset, piece): (u32, Charset, &'o Piece),
        options: &'o SourceOptions,
        pages: Option<Pages>,
    ) -> Parser<'o> {
        let format = self.shared.files[source as usize].format;
        Parser {
            stored: self.shared.charset(source).unwrap_or(charset),
            by_line: format.is_by_line() || piece.header.is_some(),
            fields: match (&piece.header, format) {
                (Some(header), _) => Fields::Row(Box::new(RowParser::new(header, options))),
                (None, Format::Jsonl | Format::Json) => Fields::Json(options),
                (None, Format::Warc) => Fields::Archive(options),
                (None, _) => Fields::None,
            },
            charset,
            longest: Longest::of(&self.shared.options),
            pages,
        }
    }
}

/// The text that a record holds, before anything was done to it.
pub struct Original<'a> {
    /// Of a page its decoded markup.
    pub text: Cow<'a, str>,
    pub is_page: bool,
}

/// Turns the records of a piece into documents.
struct Parser<'o> {
    fields: Fields<'o>,
    /// The charset of the bytes.
    charset: Charset,
    /// The charset of the file, another one where the bytes are recoded.
    stored: Charset,
    /// True if a line end follows every record but perhaps the last.
    by_line: bool,
    longest: Longest,
    /// Where the field holds markup.
    pages: Option<Pages>,
}

/// How a record tells its fields.
enum Fields<'o> {
    /// It has none: all of it is the text.
    None,
    Json(&'o SourceOptions),
    Row(Box<RowParser<'o>>),
    /// It is a record of a web archive, in its own charset.
    Archive(&'o SourceOptions),
}

impl Parser<'_> {
    /// Yields line, length and kind of every record and blank line.
    fn each(&mut self, piece: &Piece, f: &mut impl FnMut(u64, u64, RecordKind<'_>)) {
        // One check of all the bytes is much faster than one a record; only a piece that fails is looked at by record.
        let valid = simdutf8::basic::from_utf8(&piece.data).ok();
        let valid = valid.filter(|_| self.charset == Charset::UTF_8);
        let mut start = 0;
        for (span, raw) in piece.parts() {
            match span.part {
                Part::Blank => {
                    for (line, number) in Lines(raw).zip(span.line..) {
                        f(number, content(line).len() as u64, RecordKind::Blank);
                    }
                }
                Part::Record => {
                    // Records of valid text begin and end at characters, so that this is valid text.
                    let text = valid.and_then(|v| v.get(start..start + self.content(raw).len()));
                    let line = self.line(raw, text);
                    self.record(&line, &mut |kind, _| f(span.line, line.bytes.len() as u64, kind));
                }
                Part::Other(Some(kind)) => f(span.line, raw.len() as u64, RecordKind::Other { kind }),
                Part::Other(None) | Part::Opening | Part::Separator | Part::Closing => {}
            }
            start = span.end;
        }
    }

    /// The bytes of a record that hold its text.
    fn content<'b>(&self, raw: &'b [u8]) -> &'b [u8] {
        match self.fields {
            Fields::Archive(_) => raw,
            _ => content(raw),
        }
    }

    /// The line of a record, whose bytes are `text` if they are known to be UTF-8.
    fn line<'b>(&self, raw: &'b [u8], text: Option<&'b str>) -> Line<'b> {
        let bytes = self.content(raw);
        Line {
            bytes,
            text,
            ended: !self.by_line || bytes.len() < raw.len() || bytes.ends_with(b"\r"),
        }
    }

    /// True if records may be pages.
    fn has_pages(&self, options: &SourceOptions) -> bool {
        options.html || matches!(self.fields, Fields::Archive(_))
    }

    /// Yields a record, and whether it is a page.
    fn record(&mut self, line: &Line<'_>, f: &mut impl FnMut(RecordKind<'_>, bool)) {
        let rejected = |reason| RecordKind::Rejected { reason };
        if let Err(reason) = self.longest.check(line.bytes.len() as u64) {
            return f(rejected(reason), false);
        }
        if let Fields::Archive(options) = self.fields {
            let pages = self.pages.get_or_insert_default();
            let picked = warc::document(line.bytes, options, self.longest, pages);
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
            Fields::None | Fields::Archive(_) => Ok(json::Picked {
                text: Cow::Borrowed(text.strip_suffix('\r').unwrap_or(&text)),
                id: None,
                sort_value: None,
            }),
        };
        let (picked, is_page) = match &mut self.pages {
            // The text of a page takes the place of its markup.
            Some(pages) if has_fields => {
                let page = picked.and_then(|picked| {
                    let text = pages.of_markup(picked.text)?;
                    Ok(json::Picked { text, ..picked })
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

    /// Why the bytes of a record are no text, where decoding them says `reason`.
    fn no_text(&self, line: &Line<'_>, reason: RejectReason) -> RejectReason {
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

    /// The reject of a record that is not complete: where nothing follows it, the file is cut off.
    fn cut_off(&self, line: &Line<'_>, reason: RejectReason) -> RejectReason {
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
struct Line<'a> {
    bytes: &'a [u8],
    /// The same, where they are known to be UTF-8.
    text: Option<&'a str>,
    /// True if a line end follows, as after every record except perhaps the last one of a file.
    ended: bool,
}

fn document(picked: json::Picked<'_>) -> RecordKind<'_> {
    let json::Picked { text, id, sort_value } = picked;
    RecordKind::document(text, id, sort_value)
}

/// Reads a file as one document into `buffer`.
fn whole_file<'b>(
    shared: &Shared,
    source: u32,
    pages: &mut Pages,
    buffer: &'b mut Vec<u8>,
) -> (u64, RecordKind<'b>) {
    let file = &shared.files[source as usize];
    let longest = Longest::of(&shared.options);
    buffer.clear();
    let rejected = |raw_len, reason| (raw_len, RecordKind::Rejected { reason });
    if let Some(reason) = &file.unreadable {
        return rejected(0, reason.clone());
    }
    if file.codec == Codec::Plain && file.bytes > longest.held().saturating_add(BOM.len() as u64) {
        return rejected(file.bytes, longest.reason(Some(file.bytes)));
    }
    let told = Arc::default();
    let (bytes, limits) = (file.bytes, Unpacking::of(&shared.options));
    let stream = match decode::open(&file.path, file.codec, bytes, limits, &told) {
        Ok(stream) => stream,
        Err(error) => {
            let reason = decode::reason(&error, Codec::Plain);
            return rejected(0, reason.losing(Loss::unread(bytes)));
        }
    };
    // A mark does not count; one byte more shows that the limit is passed.
    let most = longest.held().saturating_add(BOM.len() as u64 + 1);
    if let Err(error) = stream.take(most).read_to_end(buffer) {
        let reason = decode::reason(&error, file.codec);
        let loss = Loss {
            bytes: buffer.len() as u64,
            ..Loss::unread(told.unread(bytes, &reason))
        };
        let reason = match reason {
            RejectReason::Junk => RejectReason::JunkBehindDocument,
            reason => reason,
        };
        return rejected(loss.bytes, reason.losing(loss));
    }
    let bytes = buffer.strip_prefix(BOM).unwrap_or(buffer);
    let raw_len = bytes.len() as u64;
    if raw_len > longest.held() {
        return rejected(raw_len, longest.reason(None));
    }
    let decoded = match file.format {
        Format::Html => pages.of_bytes(buffer, hints(file.format, &shared.options).declared),
        _ => charset::decode(buffer, hints(file.format, &shared.options)).map_err(RejectReason::from),
    };
    match decoded {
        Ok((text, charset)) => {
            shared.set_charset(source, charset);
            let document = RecordKind::Document {
                id: None,
                text,
                sort_value: None,
            };
            (raw_len, document)
        }
        Err(error) => rejected(raw_len, error),
    }
}
