//! The size of a part of a stream that is read without yielding records.

use memchr::memchr_iter;
use twinprint_text::charset::Charset;

use super::charset::{is_recoded, utf16::stored_bytes};
use super::loss::Loss;

/// Bytes that were read but not yielded.
#[derive(Default)]
pub(super) struct LostBytes {
    /// Bytes of the stream, which may be recoded.
    pub(super) bytes: u64,
    /// Bytes of the unpacked file.
    stored: u64,
    newlines: u64,
    /// True if the last line has not ended.
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
