//! A piece of the input that one task can turn into records.
//!
//! Records are held as bytes; whole files are only named and read where they are processed, so that many small files
//! are opened by all threads at once.

use std::borrow::Cow;
use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

use text::charset::{self, Charset};

use super::charset::hints;
use super::decode::{self, Unpacking};
use super::delimited::RowParser;
use super::format::{Codec, Format};
use super::json;
use super::longest::Longest;
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
    pub(crate) shared: Arc<Shared>,
    pub(crate) first_ordinal: u64,
    pub(crate) records: u64,
    pub(crate) body: Body,
}

/// What a chunk holds.
#[derive(Debug)]
pub(crate) enum Body {
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
    pub(crate) fn id_type(
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
    /// not copied.
    pub fn documents(&self, options: &SourceOptions, f: &mut impl FnMut(Record<'_>)) {
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

    /// Yields the text that each record holds whose ordinal is `wanted`, in order, with the ordinal: of a page its markup. Records that
    /// are rejected are left out. Only what is wanted is parsed, but for rows of tables.
    pub(crate) fn originals(
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
                        let bytes = parser.content(raw);
                        parser.record(bytes, None, &mut |kind, is_page| take(ordinal, kind, is_page));
                    }
                }
            }
            Body::Files(range) => {
                let mut buffer = Vec::new();
                for (ordinal, source) in (self.first_ordinal..).zip(range.clone()) {
                    if wanted(ordinal) {
                        let mut pages = Pages::as_markup();
                        let (_, kind) = whole_file(&self.shared, source, &mut pages, &mut buffer);
                        take(ordinal, kind, pages.take_met());
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
        Parser {
            fields: match (&piece.header, self.shared.files[source as usize].format) {
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
pub(crate) struct Original<'a> {
    /// Of a page its decoded markup.
    pub(crate) text: Cow<'a, str>,
    pub(crate) is_page: bool,
}

/// Turns the records of a piece into documents.
struct Parser<'o> {
    fields: Fields<'o>,
    charset: Charset,
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
            let bytes = self.content(raw);
            match span.part {
                Part::Blank => {
                    for (line, number) in Lines(raw).zip(span.line..) {
                        f(number, content(line).len() as u64, RecordKind::Blank);
                    }
                }
                Part::Record => {
                    // Records of valid text begin and end at characters, so that this is valid text.
                    let text = valid.and_then(|v| v.get(start..start + bytes.len()));
                    self.record(bytes, text, &mut |kind, _| f(span.line, bytes.len() as u64, kind));
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

    /// Whether records may be pages.
    fn has_pages(&self, options: &SourceOptions) -> bool {
        options.html || matches!(self.fields, Fields::Archive(_))
    }

    /// Yields a record, whose bytes are `text` if they are known to be UTF-8, and whether it is a page.
    fn record(&mut self, bytes: &[u8], text: Option<&str>, f: &mut impl FnMut(RecordKind<'_>, bool)) {
        let rejected = |reason| RecordKind::Rejected { reason };
        if let Err(reason) = self.longest.check(bytes.len() as u64) {
            return f(rejected(reason), false);
        }
        let document = |json::Picked { text, id, sort_value }| RecordKind::Document { id, text, sort_value };
        if let Fields::Archive(options) = self.fields {
            let pages = self.pages.get_or_insert_default();
            let picked = warc::document(bytes, options, self.longest, pages);
            return f(picked.map_or_else(rejected, document), pages.take_met());
        }
        let text = match text.map_or_else(|| self.charset.decode(bytes), |text| Ok(Cow::Borrowed(text))) {
            Ok(text) => text,
            Err(error) => return f(rejected(error.into()), false),
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
                (page, pages.take_met())
            }
            _ => (picked, false),
        };
        f(picked.map_or_else(rejected, document), is_page);
    }
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
    if file.codec == Codec::Plain && file.bytes > longest.held().saturating_add(BOM.len() as u64) {
        return rejected(file.bytes, longest.reason(Some(file.bytes)));
    }
    let stream = match decode::open(
        &file.path,
        file.codec,
        file.bytes,
        Unpacking::of(&shared.options),
        &Arc::default(),
    ) {
        Ok(stream) => stream,
        Err(error) => return rejected(0, decode::reason(&error, Codec::Plain)),
    };
    // A mark does not count; one byte more shows that the limit is passed.
    let most = longest.held().saturating_add(BOM.len() as u64 + 1);
    if let Err(error) = stream.take(most).read_to_end(buffer) {
        return rejected(buffer.len() as u64, decode::reason(&error, file.codec));
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
