//! Why a record cannot be a document: what was found, where, and the way out.

use std::fmt;

use text::charset::{Charset, Undecodable};

use crate::number::counted;

/// Why a record was rejected. Offsets and columns count bytes of the record (or of the whole file) from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RejectReason {
    /// The bytes are not UTF-8.
    #[error(
        "byte {offset} ({byte:#04x}) is not UTF-8; if the file is in another charset, name it with --charset"
    )]
    InvalidUtf8 {
        /// Where the first bad byte stands, from 1.
        offset: u64,
        /// That byte.
        byte: u8,
    },
    /// The bytes are not of the charset they were taken for.
    #[error("byte {offset} ({byte:#04x}) is not {charset}; name the charset of the file with --charset")]
    Undecodable {
        /// The charset.
        charset: Charset,
        /// Where the first bad character begins, from 1.
        offset: u64,
        /// Its first byte.
        byte: u8,
    },
    /// The record does not parse as JSON.
    #[error(
        "invalid JSON at byte {column}: {message}; a .jsonl file holds one complete object a line, a .json file an array of objects"
    )]
    InvalidJson {
        /// What the parser says.
        message: String,
        /// Where, from 1.
        column: u64,
    },
    /// The record is JSON but for an escape that stands for no character.
    #[error(
        "the \\u escape up to byte {column} is one half of a pair (a lone surrogate), which is no character; write both halves, or \\ufffd in its place"
    )]
    LoneSurrogate {
        /// Where it ends, from 1.
        column: u64,
    },
    /// The record is JSON, but no object.
    #[error("the record is {found}, not an object with a field for the text")]
    NotAnObject {
        /// The type found, with its article.
        found: &'static str,
    },
    /// The field named by `--text-key` is not there.
    #[error("no field {key:?}; {}", fields_there(.present))]
    FieldMissing {
        /// The field asked for.
        key: String,
        /// The first fields of the object, in its order.
        present: Vec<String>,
    },
    /// The field named by `--text-key` is null.
    #[error("field {key:?} is null, so that there is no text")]
    FieldNull {
        /// The field asked for.
        key: String,
    },
    /// The field named by `--text-key` is no string.
    #[error("field {key:?} is {found}, not a string; name the field that holds the text with --text-key")]
    FieldNotText {
        /// The field asked for.
        key: String,
        /// The type found, with its article.
        found: &'static str,
    },
    /// A page beyond a limit of the reader of markup.
    #[cfg(feature = "html")]
    #[error("{0}; extract its text first, or leave it out")]
    Page(text::html::HtmlError),
    /// A page, in a build that reads none.
    #[cfg(not(feature = "html"))]
    #[error("it is an HTML page, and this build of twinprint reads none (feature html)")]
    NoMarkup,
    /// Bytes of a web archive that are no record.
    #[error("this is no WARC record: {found}; reading goes on at the next record")]
    NotWarc {
        /// What is wrong.
        found: &'static str,
    },
    /// A record of a web archive that does not have the length it says.
    #[error(
        "Content-Length says {said} bytes and there are {there}: the record is cut off, or its length is wrong"
    )]
    ContentLength {
        /// Bytes as the header says.
        said: u64,
        /// Bytes up to the next record or the end of the file.
        there: u64,
    },
    /// A response whose body is packed in a way that is not read.
    #[error(
        "its Content-Encoding {encoding} is not read; store responses decoded (gzip, deflate, br and zstd are read)"
    )]
    ContentEncoding {
        /// The encoding named.
        encoding: String,
    },
    /// A response whose body cannot be unpacked.
    #[error("its body cannot be unpacked ({message})")]
    Body {
        /// What the decoder says.
        message: String,
    },
    /// A file that should hold an array of JSON objects holds something else.
    #[error(
        "the file holds {found}, not an array of objects; take the array out of it (such as jq .data), or pass --format jsonl if it has one object a line"
    )]
    NotAnArray {
        /// What it begins with.
        found: String,
    },
    /// An array of JSON objects that cannot be read on.
    #[error("the array is broken: {message}; nothing from here on was taken ({rest})")]
    BrokenArray {
        /// What is wrong.
        message: &'static str,
        /// What was lost.
        rest: Rest,
    },
    /// A quote that is never closed. Everything from this row on is lost.
    #[error(
        "the quote opened on line {line} is never closed; double a quote that belongs to the text, or put the field in quotes; nothing from this row on was taken ({rest})"
    )]
    OpenQuote {
        /// The line of the quote, from 1.
        line: u64,
        /// What was lost.
        rest: Rest,
    },
    /// A header with more columns than any table has. Nothing of the file is taken.
    #[error("the header has more than {limit} columns; name the delimiter with --delimiter if it is another")]
    TooManyColumns {
        /// The most columns taken.
        limit: usize,
    },
    /// A row with more or fewer fields than the header.
    #[error("the row has {} fields where the header has {expected}; put fields that hold the delimiter in quotes, or name the delimiter with --delimiter", fields(*.found, *.expected))]
    RowWidth {
        /// Fields of the row; one more than the header's stands for any number above.
        found: usize,
        /// Fields of the header.
        expected: usize,
    },
    /// The table has no column of the name given by `--text-key`. No row of the file is taken.
    #[error("no column {key:?}; there are {}; name the one that holds the text with --text-key. No row of the file was taken", .present.join(", "))]
    ColumnMissing {
        /// The column asked for.
        key: String,
        /// The first columns.
        present: Vec<String>,
    },
    /// The column named by `--text-key` holds no strings. No row of the file is taken.
    #[error(
        "column {key:?} is {found}, not a string; name the column that holds the text with --text-key. No row of the file was taken"
    )]
    ColumnNotText {
        /// The column asked for.
        key: String,
        /// Its type.
        found: String,
    },
    /// A file is not the table it is named as. No row of it is taken.
    #[error("not a readable {format} file: {message}. No row of it was taken")]
    NotATable {
        /// The format's name.
        format: &'static str,
        /// What is wrong.
        message: String,
    },
    /// Rows of a table cannot be decoded.
    #[error("the {format} file is damaged here: {message}")]
    DamagedTable {
        /// The format's name.
        format: &'static str,
        /// What is wrong.
        message: String,
    },
    /// The text has no features, and such texts are not wanted.
    #[error("the text has no words: it is empty, or holds punctuation or stop words alone")]
    EmptyText,
    /// The record is longer than `--max-document`.
    #[error("{} --max-document {limit}; raise it to take such records", longer(*.bytes))]
    TooLong {
        /// Length in bytes where it is known.
        bytes: Option<u64>,
        /// The limit in bytes.
        limit: u64,
    },
    /// The record is longer than there is memory for. A run with a limit of memory ends with it.
    #[error("{} {limit} bytes, the longest that the memory allowed is enough for", longer(*.bytes))]
    BeyondMemory {
        /// Length in bytes where it is known.
        bytes: Option<u64>,
        /// The longest record that there is memory for, in bytes.
        limit: u64,
    },
    /// A compressed stream ends before its end. Everything from this record on is lost.
    #[error("the {codec} stream is cut off: nothing from here on can be read; records before it were taken")]
    Truncated {
        /// The codec.
        codec: &'static str,
    },
    /// A compressed stream is damaged. Everything from this record on is lost.
    #[error(
        "the {codec} stream is damaged ({message}): nothing from here on can be read; records before it were taken"
    )]
    Corrupt {
        /// The codec.
        codec: &'static str,
        /// What the decoder says.
        message: String,
    },
    /// A member of gzip in a web archive that is damaged. Reading continues at the next member.
    #[error(
        "the gzip member at byte {at} of the file is damaged ({message}): {bytes} bytes up to the next record were not taken; reading continues there"
    )]
    DamagedMember {
        /// Where the member begins in the file, from 1.
        at: u64,
        /// Bytes of the file up to the next member that holds a record.
        bytes: u64,
        /// What the decoder says.
        message: String,
    },
    /// Other bytes follow the last member of a gzip stream.
    #[error(
        "the gzip stream ends here, but the file goes on with something else, which was not taken; all that was packed before it was"
    )]
    Junk,
    /// A packed file unpacks to more than its size lets expect. Everything from this record on is lost.
    #[error(
        "the file unpacks to more than {bytes} bytes, beyond {ratio} times its size: nothing from here on was taken; raise --max-ratio if it is meant to"
    )]
    Swells {
        /// What it may unpack to.
        bytes: u64,
        /// The most for each byte of the file, above 1 GiB.
        ratio: u64,
    },
    /// The file could not be opened or read. Everything from this record on is lost.
    #[error("the file cannot be read ({message}): nothing from here on was taken")]
    Unreadable {
        /// What the system says.
        message: String,
    },
}

/// How much of a file was not taken: from the beginning of the record at fault to the end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rest {
    /// Bytes.
    pub bytes: u64,
    /// Lines, begun ones included.
    pub lines: u64,
}

impl fmt::Display for Rest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bytes, lines) = (counted(self.bytes, "byte"), counted(self.lines, "line"));
        write!(f, "{bytes} on {lines}")
    }
}

impl RejectReason {
    /// Where the rest of a file is lost and can be told: how much of it.
    pub(crate) fn rest_mut(&mut self) -> Option<&mut Rest> {
        match self {
            Self::BrokenArray { rest, .. } | Self::OpenQuote { rest, .. } => Some(rest),
            _ => None,
        }
    }

    /// The kind of reason in a word or two, to count by.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::InvalidUtf8 { .. } => "invalid utf-8",
            Self::Undecodable { .. } => "not of its charset",
            Self::InvalidJson { .. } => "invalid json",
            Self::LoneSurrogate { .. } => "lone surrogate",
            Self::NotAnObject { .. } => "not an object",
            Self::FieldMissing { .. } => "field missing",
            Self::FieldNull { .. } => "field null",
            Self::FieldNotText { .. } => "field not text",
            #[cfg(feature = "html")]
            Self::Page(_) => "page beyond limits",
            #[cfg(not(feature = "html"))]
            Self::NoMarkup => "page",
            Self::NotWarc { .. } => "no warc record",
            Self::ContentLength { .. } => "wrong content-length",
            Self::ContentEncoding { .. } => "content-encoding",
            Self::Body { .. } => "damaged body",
            Self::NotAnArray { .. } => "not an array",
            Self::BrokenArray { .. } => "broken array",
            Self::OpenQuote { .. } => "open quote",
            Self::TooManyColumns { .. } => "too many columns",
            Self::RowWidth { .. } => "other number of fields",
            Self::ColumnMissing { .. } => "column missing",
            Self::ColumnNotText { .. } => "column not text",
            Self::NotATable { .. } => "not a table",
            Self::DamagedTable { .. } => "damaged table",
            Self::EmptyText => "empty text",
            Self::TooLong { .. } => "too long",
            Self::BeyondMemory { .. } => "beyond memory",
            Self::Truncated { .. } => "truncated stream",
            Self::Corrupt { .. } => "damaged stream",
            Self::DamagedMember { .. } => "damaged member",
            Self::Junk => "junk after the stream",
            Self::Swells { .. } => "unpacks too far",
            Self::Unreadable { .. } => "unreadable file",
        }
    }
}

impl From<Undecodable> for RejectReason {
    fn from(error: Undecodable) -> Self {
        let Undecodable {
            charset,
            offset,
            byte,
        } = error;
        if charset == Charset::UTF_8 {
            Self::InvalidUtf8 { offset, byte }
        } else {
            Self::Undecodable {
                charset,
                offset,
                byte,
            }
        }
    }
}

fn fields(found: usize, expected: usize) -> String {
    if found > expected {
        format!("more than {expected}")
    } else {
        found.to_string()
    }
}

fn fields_there(present: &[String]) -> String {
    if present.is_empty() {
        "the object is empty".to_owned()
    } else {
        format!(
            "there are {}; name the one that holds the text with --text-key",
            present.join(", ")
        )
    }
}

fn longer(bytes: Option<u64>) -> String {
    match bytes {
        Some(bytes) => format!("the record has {bytes} bytes, more than"),
        None => "the record is longer than".to_owned(),
    }
}
