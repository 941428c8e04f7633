//! Cuts a stream into pieces of whole lines.
//!
//! Both passes over the input (reading, and writing the kept records) use this one splitter, so that they agree on
//! what a record is. Invariants: pieces hold whole lines, in order, with their line ends; concatenated with the
//! mark dropped at the start and the lines reported as too long, they are the stream; the cuts depend on the bytes
//! alone, not on how they arrive. At most max(`PIECE`, the longest record allowed) bytes are held, twice.

use std::io::{self, Read};

use memchr::{memchr, memrchr};

use super::reject::RejectReason;

/// Bytes read before cutting: large enough to amortise a task, small enough to spread over cores.
pub(crate) const PIECE: usize = 1 << 20;
/// The UTF-8 byte order mark.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// What the splitter yields.
#[derive(Debug, PartialEq)]
pub(crate) enum Piece {
    /// Whole lines; only the last of a stream may lack its line feed.
    Lines {
        /// Line number of the first, from 1.
        first_line: u64,
        /// Records among the lines (those that are not blank).
        records: u64,
        /// The stream began with a byte order mark, which is not in `data`.
        bom: bool,
        data: Vec<u8>,
    },
    /// One record that cannot be had.
    Rejected {
        line: u64,
        raw_len: u64,
        reason: RejectReason,
    },
}

/// An iterator over lines, each with its line feed where it has one.
pub(crate) struct Lines<'a>(pub(crate) &'a [u8]);

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.0.is_empty() {
            return None;
        }
        let end = memchr(b'\n', self.0).map_or(self.0.len(), |p| p + 1);
        let (line, rest) = self.0.split_at(end);
        self.0 = rest;
        Some(line)
    }
}

/// The line without its line feed.
#[inline]
pub(crate) fn content(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}

/// Whether a line (without line feed) is a record: not blank, or too long to be looked at.
#[inline]
pub(crate) fn is_record(content: &[u8], max: u64) -> bool {
    content.len() as u64 > max || !content.iter().all(u8::is_ascii_whitespace)
}

/// The splitter over one stream.
pub(crate) struct Splitter<R> {
    stream: R,
    /// Bytes to read before cutting, at least 1.
    piece: usize,
    /// The beginning of a line whose end has not been read.
    carry: Vec<u8>,
    /// Lines yielded so far.
    lines: u64,
    /// Longest record, in bytes without the line feed.
    max: u64,
    /// Records that may still be yielded.
    left: u64,
    started: bool,
    end: End,
}

/// How a stream stands.
enum End {
    Open,
    Reached,
    /// It broke; the error is still to be reported.
    Broken(io::Error),
}

impl<R: Read> Splitter<R> {
    /// Splits `stream` into pieces of about `piece` bytes; yields at most `limit` records.
    pub(crate) fn new(stream: R, piece: usize, max: u64, limit: u64) -> Self {
        // The first reading must hold a whole mark.
        let piece = piece.max(BOM.len());
        Self {
            stream,
            piece,
            carry: Vec::new(),
            lines: 0,
            max,
            left: limit,
            started: false,
            end: End::Open,
        }
    }

    /// The next piece. `broken` says what an error of the stream means.
    pub(crate) fn next(&mut self, broken: impl Fn(&io::Error) -> RejectReason) -> Option<Piece> {
        if self.left == 0 {
            return None;
        }
        let mut data = std::mem::take(&mut self.carry);
        let mut searched = 0;
        let mut bom = false;
        loop {
            self.fill(&mut data);
            if !self.started {
                self.started = true;
                if data.starts_with(BOM) {
                    data.drain(..BOM.len());
                    bom = true;
                }
            }
            if matches!(self.end, End::Reached) {
                return (bom || !data.is_empty()).then(|| self.lines_piece(data, bom));
            }
            if let Some(last) = memrchr(b'\n', &data[searched..]) {
                self.carry = data.split_off(searched + last + 1);
                return Some(self.lines_piece(data, bom));
            }
            if let Some(error) = self.take_error() {
                return Some(self.rejected(data.len() as u64, broken(&error)));
            }
            if data.len() as u64 > self.max {
                return Some(self.skip_line(data, broken));
            }
            searched = data.len();
        }
    }

    /// Reads on until `data` has grown by a good piece, or the stream is over.
    fn fill(&mut self, data: &mut Vec<u8>) {
        // A line that fills the piece grows by doubling, but never beyond what shows that it is too long.
        let most = usize::try_from(self.max)
            .unwrap_or(usize::MAX)
            .saturating_add(1)
            .max(self.piece);
        let target = data
            .len()
            .saturating_mul(2)
            .clamp(self.piece, most)
            .max(data.len() + 1);
        self.read(data, target - data.len());
    }

    /// Appends `wanted` bytes to `data`; fewer when the stream is over.
    fn read(&mut self, data: &mut Vec<u8>, wanted: usize) {
        if !matches!(self.end, End::Open) {
            return;
        }
        data.reserve_exact(wanted);
        match self.stream.by_ref().take(wanted as u64).read_to_end(data) {
            Ok(read) if read == wanted => {}
            Ok(_) => self.end = End::Reached,
            // What came before the error has been appended.
            Err(error) => self.end = End::Broken(error),
        }
    }

    /// Drops a line known to be too long and finds its end without holding it.
    fn skip_line(&mut self, mut data: Vec<u8>, broken: impl Fn(&io::Error) -> RejectReason) -> Piece {
        let mut length = data.len() as u64;
        data.truncate(self.piece);
        data.shrink_to_fit();
        loop {
            data.clear();
            self.read(&mut data, self.piece);
            if let Some(end) = memchr(b'\n', &data) {
                length += end as u64;
                self.carry = data.split_off(end + 1);
                break;
            }
            length += data.len() as u64;
            if let Some(error) = self.take_error() {
                return self.rejected(length, broken(&error));
            }
            if matches!(self.end, End::Reached) {
                break;
            }
        }
        self.rejected(
            length,
            RejectReason::TooLong {
                bytes: Some(length),
                limit: self.max,
            },
        )
    }

    /// The error of a broken stream, once; after that the stream has ended.
    fn take_error(&mut self) -> Option<io::Error> {
        match std::mem::replace(&mut self.end, End::Reached) {
            End::Broken(error) => Some(error),
            other => {
                self.end = other;
                None
            }
        }
    }

    fn rejected(&mut self, raw_len: u64, reason: RejectReason) -> Piece {
        self.lines += 1;
        self.left -= 1;
        Piece::Rejected {
            line: self.lines,
            raw_len,
            reason,
        }
    }

    /// Counts the lines and records of a piece, and cuts it where the limit is reached.
    fn lines_piece(&mut self, mut data: Vec<u8>, bom: bool) -> Piece {
        let first_line = self.lines + 1;
        let (mut records, mut end) = (0, 0);
        for line in Lines(&data) {
            if records == self.left {
                break;
            }
            end += line.len();
            self.lines += 1;
            records += u64::from(is_record(content(line), self.max));
        }
        data.truncate(end);
        self.left -= records;
        Piece::Lines {
            first_line,
            records,
            bom,
            data,
        }
    }
}
