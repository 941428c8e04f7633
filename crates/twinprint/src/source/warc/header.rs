//! The header of a WARC record (ISO 28500, versions 1.0 and 1.1): a line with the version, named fields, a blank line.

use httparse::{EMPTY_HEADER, Status, parse_headers};

/// Most bytes of a header.
pub(crate) const LONGEST_HEADER: usize = 64 << 10;
/// Most fields of a header.
const FIELDS: usize = 64;
/// What every record begins with.
pub(crate) const MAGIC: &[u8] = b"WARC/";

/// The fields of one record that matter here, borrowing from its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header<'a> {
    fields: &'a [u8],
    /// Bytes of the header, blank lines before and after included.
    pub(crate) length: usize,
    /// Bytes that follow, as the header says.
    pub(crate) content_length: u64,
}

/// What the beginning of a record came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begun<'a> {
    /// The header is not all there yet.
    Open,
    /// It is a record.
    Record(Header<'a>),
    /// It is none: why.
    Not(&'static str),
}

impl<'a> Header<'a> {
    /// Reads the header at the start of `bytes`. Line feeds before it belong to it.
    pub(crate) fn read(bytes: &'a [u8]) -> Begun<'a> {
        let blank = bytes.iter().take_while(|&&b| b == b'\r' || b == b'\n').count();
        let record = bytes.get(blank..).unwrap_or_default();
        let seen = record.len().min(MAGIC.len());
        if record.get(..seen) != MAGIC.get(..seen) {
            return Begun::Not("it does not begin with WARC/ and a version");
        }
        let Some(end) = end_of_lines(record) else {
            return if record.len() > LONGEST_HEADER {
                Begun::Not("its header has no end")
            } else {
                Begun::Open
            };
        };
        let head = record.get(..end).unwrap_or_default();
        let Some(line) = memchr::memchr(b'\n', head) else {
            return Begun::Not("its header has no end");
        };
        let fields = head.get(line + 1..).unwrap_or_default();
        let mut header = Self {
            fields,
            length: blank + end,
            content_length: 0,
        };
        let Some(length) = header
            .field("content-length")
            .and_then(|value| value.parse().ok())
        else {
            return Begun::Not("its header names no Content-Length");
        };
        header.content_length = length;
        Begun::Record(header)
    }

    /// The value of a named field; names are compared without regard to case.
    pub(crate) fn field(&self, name: &str) -> Option<&'a str> {
        let mut headers = [EMPTY_HEADER; FIELDS];
        let Ok(Status::Complete((_, headers))) = parse_headers(self.fields, &mut headers) else {
            return None;
        };
        let found = headers
            .iter()
            .find(|header| header.name.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(found.value).ok().map(str::trim)
    }

    /// `response`, `request` and so on; empty where it is missing.
    pub(crate) fn record_type(&self) -> &'a str {
        self.field("warc-type").unwrap_or_default()
    }

    /// The address of the content, without the angle brackets that some writers put around it.
    pub(crate) fn uri(&self) -> Option<&'a str> {
        let uri = self.field("warc-target-uri")?;
        Some(
            uri.strip_prefix('<')
                .and_then(|uri| uri.strip_suffix('>'))
                .unwrap_or(uri),
        )
    }
}

/// Where the first blank line of `bytes` ends.
pub(crate) fn end_of_lines(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(feed) = memchr::memchr(b'\n', bytes.get(at..)?) {
        at += feed + 1;
        match bytes.get(at..)? {
            [b'\n', ..] => return Some(at + 1),
            [b'\r', b'\n', ..] => return Some(at + 2),
            _ => {}
        }
    }
    None
}
