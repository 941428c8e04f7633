//! Reads the header of a WARC record (ISO 28500; versions 0.17 to 1.1 have the same form): a line with the version,
//! named fields, and a blank line.

use std::borrow::Cow;

use super::fields::{end_of_header, fields};
use super::next_record::{MAGIC, runs_into_another};

/// The largest header that is read, in bytes.
pub(crate) const MAX_HEADER_BYTES: usize = 64 << 10;

/// The fields of a WARC header that are used here. They borrow from the bytes of the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header<'a> {
    fields: &'a [u8],
    /// The length of the header in bytes, including the blank lines before and after it.
    pub length: usize,
    /// The length of the content that the header states, in bytes.
    pub content_length: u64,
}

/// The result of reading the header at the start of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeaderStart<'a> {
    /// More bytes are needed to read the header.
    Incomplete,
    /// A complete header.
    Record(Header<'a>),
    /// The bytes do not begin a record. Contains the reason.
    Invalid(&'static str),
}

impl<'a> Header<'a> {
    /// Reads the header at the start of `bytes`. Line ends before it count as part of the header.
    pub(crate) fn read(bytes: &'a [u8]) -> HeaderStart<'a> {
        let blank = blank_before(bytes);
        let record = bytes.get(blank..).unwrap_or_default();
        let seen = record.len().min(MAGIC.len());
        if record.get(..seen) != MAGIC.get(..seen) {
            return HeaderStart::Invalid("it does not begin with WARC/ and a version");
        }
        let Some(end) = end_of_header(record) else {
            return if record.len() > MAX_HEADER_BYTES {
                HeaderStart::Invalid("its header has no end")
            } else {
                HeaderStart::Incomplete
            };
        };
        let head = record.get(..end).unwrap_or_default();
        let Some(line) = memchr::memchr(b'\n', head) else {
            return HeaderStart::Invalid("its header has no end");
        };
        if !is_version(head.get(MAGIC.len()..line).unwrap_or_default()) {
            return HeaderStart::Invalid(
                "its first line is not WARC/ and a version alone; versions before 0.17 are not read",
            );
        }
        let fields = head.get(line + 1..).unwrap_or_default();
        if runs_into_another(head) {
            return HeaderStart::Invalid("another record begins within its header");
        }
        let mut header = Self {
            fields,
            length: blank + end,
            content_length: 0,
        };
        let Some(length) = header
            .field("content-length")
            .and_then(|value| value.parse().ok())
        else {
            return HeaderStart::Invalid("its header names no Content-Length");
        };
        header.content_length = length;
        HeaderStart::Record(header)
    }

    /// Returns the value of the field with this name, ignoring case.
    pub(crate) fn field(&self, name: &str) -> Option<Cow<'a, str>> {
        fields(self.fields).find(|field| field.is(name))?.text()
    }

    /// The value of `WARC-Type`, such as `response` or `request`. Empty if the field is missing.
    pub(crate) fn record_type(&self) -> Cow<'a, str> {
        self.field("warc-type").unwrap_or_default()
    }

    /// The URI of the content, without the angle brackets that some writers put around it.
    pub(crate) fn uri(&self) -> Option<Cow<'a, str>> {
        let uri = self.field("warc-target-uri")?;
        let bare = uri.strip_prefix('<').and_then(|uri| uri.strip_suffix('>'));
        match bare.map(str::to_owned) {
            Some(bare) => Some(Cow::Owned(bare)),
            None => Some(uri),
        }
    }
}

/// Returns the number of bytes at the start of `bytes` that are line ends.
pub(crate) fn blank_before(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|&&b| b == b'\r' || b == b'\n').count()
}

/// Returns true if a line is a version number, such as 1.0 or 0.18.
fn is_version(line: &[u8]) -> bool {
    let numbers: Vec<&[u8]> = line.trim_ascii_end().split(|&b| b == b'.').collect();
    let is_number = |digits: &&[u8]| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    numbers.len() == 2 && numbers.iter().all(is_number)
}
