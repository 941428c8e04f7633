//! Reasons to reject a record: the fault, its position, and how to fix it.

mod kind;
mod message;
mod setting;
mod wording;

use twinprint_text::charset::{Charset, Undecodable};

pub use self::message::RejectMessage;
pub use self::setting::Setting;
use self::wording::{columns_there, fields, fields_there, longer, readable};
use super::codec_check::OtherCodec;
use super::loss::Loss;

/// The message of [`RejectReason::BrokenArray`] if nothing else is wrong with the array.
pub(super) const ARRAY_CUT_OFF: &str = "the file ends within the array";

/// The reason why a record is rejected. Offsets and columns count bytes of the record (or of the whole file) from 1.
///
/// The message has a fix if there is one. [`RejectReason::setting`] is the setting that the fix is about.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RejectReason {
    /// The bytes are not UTF-8.
    #[error("byte {offset} ({byte:#04x}) is not UTF-8; if the file is in another charset, name that charset")]
    InvalidUtf8 {
        /// The position of the first bad byte, from 1.
        offset: u64,
        /// The value of that byte.
        byte: u8,
    },
    /// The bytes are not valid in the assumed charset.
    #[error("byte {offset} ({byte:#04x}) is not {charset}; name the charset of the file")]
    Undecodable {
        /// The charset.
        charset: Charset,
        /// The position of the first byte of the first bad character, from 1.
        offset: u64,
        /// Its first byte.
        byte: u8,
    },
    /// UTF-16 with a unit that is one half of a pair, without the other half.
    #[error(
        "the unit at byte {offset} ({unit:#06x}) is one half of a {charset} pair (a lone surrogate); write U+FFFD in its place"
    )]
    LoneUnit {
        /// The charset of the file.
        charset: Charset,
        /// The number of the unit's first byte, from 1.
        offset: u64,
        /// The unit.
        unit: u16,
    },
    /// UTF-16 with an odd number of bytes.
    #[error(
        "the {charset} file ends in the middle of a character: byte {offset} is the first of two bytes, and the second is missing"
    )]
    OddByte {
        /// The charset of the file.
        charset: Charset,
        /// The number of the byte, from 1.
        offset: u64,
    },
    /// The records of the file cannot be separated in its charset.
    #[error(
        "the records of a .{extension} file in {charset} cannot be separated; convert it to UTF-8 (iconv -f {charset} -t UTF-8)"
    )]
    NotCuttable {
        /// The charset of the file.
        charset: Charset,
        /// The extension of its format.
        extension: &'static str,
    },
    /// The record does not parse as JSON.
    #[error(
        "invalid JSON at byte {column}: {message}; a .jsonl file holds one complete object per line, a .json file an array of objects"
    )]
    InvalidJson {
        /// The message of the parser.
        message: String,
        /// The position, from 1.
        column: u64,
    },
    /// The record is JSON except for an escape that does not encode a character.
    #[error(
        "the \\u escape that ends at byte {column} is one half of a pair (a lone surrogate); write both halves, or \\ufffd in its place"
    )]
    LoneSurrogate {
        /// The position of its end, from 1.
        column: u64,
    },
    /// The record is JSON, but not an object.
    #[error("the record is {found}, not an object with a field for the text")]
    NotAnObject {
        /// The type found, with its article.
        found: &'static str,
    },
    /// The record does not have the field of the text ([`SourceOptions::text_key`](super::SourceOptions::text_key)).
    #[error("no field {key:?}; {}", fields_there(.present))]
    FieldMissing {
        /// The field asked for.
        key: String,
        /// The first fields of the object, in its order.
        present: Vec<String>,
    },
    /// The field of the text is null.
    #[error("field {key:?} is null, so the record has no text")]
    FieldNull {
        /// The field asked for.
        key: String,
    },
    /// The field of the text is not a string.
    #[error("field {key:?} is {found}, not a string; name the field that holds the text")]
    FieldNotText {
        /// The field asked for.
        key: String,
        /// The type found, with its article.
        found: &'static str,
    },
    /// A page beyond a limit of the reader of markup.
    #[cfg(feature = "html")]
    #[error("{0}; extract its text first, or leave it out")]
    Page(twinprint_text::html::HtmlError),
    /// A page, in a build that does not read HTML.
    #[cfg(not(feature = "html"))]
    #[error("the record is an HTML page, which this build of twinprint does not read (feature html)")]
    NoMarkup,
    /// Bytes of a web archive that are not a record.
    #[error("this is not a WARC record: {found}; reading continues at the next record")]
    NotWarc {
        /// The fault.
        found: &'static str,
    },
    /// A record of a web archive that does not have the length it says.
    #[error(
        "Content-Length says {said} bytes, but there are {there}; the record is cut off, or its length is wrong"
    )]
    ContentLength {
        /// Bytes as the header says.
        said: u64,
        /// Bytes up to the next record or the end of the file.
        there: u64,
    },
    /// A response whose body is compressed in a way that is not supported.
    #[error(
        "its Content-Encoding {encoding} is not supported; store responses decoded (gzip, deflate, br and zstd are supported)"
    )]
    ContentEncoding {
        /// The encoding named.
        encoding: String,
    },
    /// A response whose body cannot be decoded.
    #[error("its body cannot be decoded ({message})")]
    Body {
        /// The message of the decoder.
        message: String,
    },
    /// A file that should hold an array of JSON objects holds something else.
    #[error(
        "the file should hold an array of objects, but it holds {found}; take the array out of it (such as jq .data), or name the format jsonl if it has one object per line"
    )]
    NotAnArray {
        /// A description of its first value.
        found: String,
    },
    /// An array of JSON objects that cannot be read further.
    #[error("the JSON array cannot be read further: {message}")]
    BrokenArray {
        /// The fault.
        message: &'static str,
    },
    /// A quote that is never closed.
    #[error(
        "the quote opened on line {line} is never closed; double a quote that belongs to the text, or put the field in quotes"
    )]
    OpenQuote {
        /// The line of the quote, from 1.
        line: u64,
    },
    /// A header with more columns than any table has.
    #[error("the header has more than {limit} columns; name the delimiter if it is another")]
    TooManyColumns {
        /// The maximum number of columns taken.
        limit: usize,
    },
    /// A row with more or fewer fields than the header.
    #[error("the row has {} fields where the header has {expected}; put fields that hold the delimiter in quotes, or name the delimiter", fields(*.found, *.expected))]
    RowWidth {
        /// Fields of the row; one more than the header's means any larger number.
        found: usize,
        /// Fields of the header.
        expected: usize,
    },
    /// The table does not have the column of the text.
    #[error("no column {key:?}; {}", columns_there(.present))]
    ColumnMissing {
        /// The column asked for.
        key: String,
        /// The first columns.
        present: Vec<String>,
    },
    /// The column of the text does not hold strings.
    #[error("column {key:?} is {found}, not a string; name the column that holds the text")]
    ColumnNotText {
        /// The column asked for.
        key: String,
        /// Its type.
        found: String,
    },
    /// A file is not a table of the format that its name states.
    #[error("not a readable {format} file: {message}")]
    NotATable {
        /// The format's name.
        format: &'static str,
        /// The fault.
        message: String,
    },
    /// Rows of a table cannot be decoded.
    #[error("the {format} file is damaged here: {message}")]
    DamagedTable {
        /// The format's name.
        format: &'static str,
        /// The fault.
        message: String,
    },
    /// No fingerprint can be made of the field's value.
    #[error("{message}")]
    NoFingerprint {
        /// The reason.
        message: String,
    },
    /// The text has no features, and such texts are not wanted.
    #[error("the text has no words: it is empty, or holds punctuation or stop words alone")]
    EmptyText,
    /// The record cannot be added to the collection.
    #[error("the collection cannot take the record ({why}); {fix}")]
    NotForCollection {
        /// The reason why the collection refuses it.
        why: String,
        /// The fix.
        fix: &'static str,
        /// The setting that the fix is about.
        setting: Option<Setting>,
    },
    /// The record is longer than [`SourceOptions::max_document`](super::SourceOptions::max_document).
    #[error("{} the limit of {limit} bytes; raise the limit to take such records", longer(*.bytes))]
    TooLong {
        /// Length in bytes if it is known.
        bytes: Option<u64>,
        /// The limit in bytes.
        limit: u64,
    },
    /// The record is longer than the available memory allows. A run with a limit of memory ends with this error.
    #[error("{} the {limit} bytes that fit into the memory limit; leave the record out, or raise the memory limit", longer(*.bytes))]
    BeyondMemory {
        /// Length in bytes if it is known.
        bytes: Option<u64>,
        /// The longest record that memory allows, in bytes.
        limit: u64,
    },
    /// The file has another codec than its name states.
    #[error("{0}")]
    OtherCodec(OtherCodec),
    /// A compressed stream is cut off.
    #[error("the {codec} stream is cut off: the file ends before the stream does")]
    Truncated {
        /// The codec.
        codec: &'static str,
    },
    /// A compressed stream is damaged.
    #[error(
        "the {codec} stream is damaged ({message}); nothing from here on can be decompressed, and earlier records \
         of the file may be wrong"
    )]
    Corrupt {
        /// The codec.
        codec: &'static str,
        /// The message of the decoder.
        message: String,
    },
    /// Other bytes follow the last member of a gzip stream.
    #[error("the gzip stream ends here, and bytes that are not gzip follow; everything before them was read")]
    Junk,
    /// Other bytes follow the last member of a gzip stream whose text is one document.
    #[error(
        "bytes that are not gzip follow the gzip stream, so the document may be incomplete; if it is complete, remove these bytes"
    )]
    JunkBehindDocument,
    /// A compressed file decompresses to more than its size allows.
    #[error(
        "the file decompresses to more than {bytes} bytes and to more than {ratio} times its size; raise that ratio if this is intended"
    )]
    Swells {
        /// The largest decompressed size in bytes.
        bytes: u64,
        /// The largest ratio of the decompressed size to the size of the file, above 1 GiB.
        ratio: u64,
    },
    /// The file could not be opened or read.
    #[error("the file cannot be read ({message}){}", readable(.message))]
    Unreadable {
        /// The message of the operating system.
        message: String,
    },
    /// A folder could not be listed, and whatever is in it is not read.
    #[error("the directory cannot be listed ({message}); make it readable (chmod u+rx), or leave it out")]
    Unlisted {
        /// The message of the operating system.
        message: String,
    },
    /// More than this record is lost: the rest of the file, or rows of a table.
    #[error("{cause}; not read from here on: {loss}")]
    Lost {
        /// The reason.
        cause: Box<Self>,
        /// The size of the part that is lost.
        loss: Loss,
    },
}

impl RejectReason {
    /// The reason to reject a part of a file, of the size `loss`.
    #[must_use]
    pub fn losing(self, loss: Loss) -> Self {
        match self {
            lost @ Self::Lost { .. } => lost,
            cause => Self::Lost {
                cause: Box::new(cause),
                loss,
            },
        }
    }

    /// The reason without the size of the part that is lost.
    pub fn cause(&self) -> &Self {
        match self {
            Self::Lost { cause, .. } => cause,
            cause => cause,
        }
    }

    /// The size of the part of the file that is lost, if more than this record is.
    pub fn loss(&self) -> Option<Loss> {
        match self {
            Self::Lost { loss, .. } => Some(*loss),
            _ => None,
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
