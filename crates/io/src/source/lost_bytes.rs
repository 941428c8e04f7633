//! Measures a part of a file that is read without yielding records.

use memchr::memchr_iter;
use twinprint_text::charset::Charset;

use super::charset::{is_recoded, utf16::stored_bytes};
use super::loss::Loss;

/// The size of bytes that were read without yielding records.
#[derive(Default)]
pub(super) struct LostBytes {
    /// Number of bytes of the stream. If the file is UTF-16, the stream is converted to UTF-8 and these differ from the
    /// bytes of the file.
    pub(super) bytes: u64,
    /// Number of bytes of the decompressed file.
    stored: u64,
    newlines: u64,
    /// True if the last line has no line end yet.
    open: bool,
}

impl LostBytes {
    pub(super) fn add(&mut self, data: &[u8], charset: Charset) {
        self.bytes += data.len() as u64;
        self.stored += if is_recoded(charset) {
            stored_bytes(data)
        } else {
            data.len() as u64
        };
        self.newlines += memchr_iter(b'\n', data).count() as u64;
        self.open = data.last().map_or(self.open, |&last| last != b'\n');
    }

    pub(super) fn loss(&self) -> Loss {
        Loss {
            bytes: self.stored,
            lines: self.newlines + u64::from(self.open),
            ..Loss::default()
        }
    }
}
