//! Why a record cannot be a document: what was found, where, and the way out.

/// Why a record was rejected. Offsets and columns count bytes of the line (or of the whole file) from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RejectReason {
    /// The bytes are not UTF-8.
    #[error("byte {offset} ({byte:#04x}) is not UTF-8; convert the file (for example iconv -t UTF-8)")]
    InvalidUtf8 {
        /// Where the first bad byte stands, from 1.
        offset: u64,
        /// That byte.
        byte: u8,
    },
    /// The bytes begin with the mark of UTF-16.
    #[error("the text is UTF-16, not UTF-8; convert the file (iconv -f UTF-16 -t UTF-8)")]
    Utf16,
    /// The line does not parse as JSON.
    #[error("invalid JSON at byte {column}: {message}; a .jsonl file holds one complete object a line")]
    InvalidJson {
        /// What the parser says.
        message: String,
        /// Where, from 1.
        column: u64,
    },
    /// The line is JSON, but no object.
    #[error("the line is {found}, not an object; a .jsonl file holds one object a line")]
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
    #[error("its Content-Encoding {encoding} is not read; store responses decoded")]
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
    /// The record is longer than `--max-document`.
    #[error("{} --max-document {limit}; raise it to take such records", longer(*.bytes))]
    TooLong {
        /// Length in bytes where it is known.
        bytes: Option<u64>,
        /// The limit in bytes.
        limit: u64,
    },
    /// A compressed stream ends before its end. Everything from this record on is lost.
    #[error("the {codec} stream is cut off: nothing from here on can be read; records before it were taken")]
    Truncated {
        /// `gzip` or `zstd`.
        codec: &'static str,
    },
    /// A compressed stream is damaged. Everything from this record on is lost.
    #[error(
        "the {codec} stream is damaged ({message}): nothing from here on can be read; records before it were taken"
    )]
    Corrupt {
        /// `gzip` or `zstd`.
        codec: &'static str,
        /// What the decoder says.
        message: String,
    },
    /// The file could not be opened or read. Everything from this record on is lost.
    #[error("the file cannot be read ({message}): nothing from here on was taken")]
    Unreadable {
        /// What the system says.
        message: String,
    },
}

impl RejectReason {
    /// The kind of reason in a word or two, to count by.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::InvalidUtf8 { .. } => "invalid utf-8",
            Self::Utf16 => "utf-16",
            Self::InvalidJson { .. } => "invalid json",
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
            Self::TooLong { .. } => "too long",
            Self::Truncated { .. } => "truncated stream",
            Self::Corrupt { .. } => "damaged stream",
            Self::Unreadable { .. } => "unreadable file",
        }
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
