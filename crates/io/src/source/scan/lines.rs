//! Finds the lines of a file. Each line is a record.

use memchr::memchr;

use super::{Scan, Span, SpanKind};
use crate::source::reject::RejectReason;

/// Iterates over lines. Each line includes its line feed, if it has one.
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

/// Returns a line without its line feed.
#[inline]
pub(crate) fn content(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}

/// Scans lines. Every line is a record, except for lines of white space. A line of white space that exceeds the length
/// limit is a record as well, which is rejected as too long.
pub(crate) struct LineScan {
    /// The number of the current line, from 1.
    line: u64,
    max: u64,
    /// The number of bytes of the current line that were scanned, including bytes that `data` no longer contains.
    seen: usize,
    /// True if the current line consists of white space so far.
    blank: bool,
}

impl LineScan {
    pub(crate) fn new(max: u64) -> Self {
        Self {
            line: 1,
            max,
            seen: 0,
            blank: true,
        }
    }

    /// Scans more bytes of the current line, which do not include its line feed.
    fn take(&mut self, bytes: &[u8]) {
        self.blank = self.blank && bytes.iter().all(u8::is_ascii_whitespace);
        self.seen += bytes.len();
    }

    /// Ends the current line at the offset `end`.
    fn end(&mut self, end: usize, spans: &mut Vec<Span>) {
        let blank = self.blank && self.seen as u64 <= self.max;
        let (line, part) = (self.line, if blank { SpanKind::Blank } else { SpanKind::Record });
        (self.seen, self.blank) = (0, true);
        self.line += 1;
        match spans.last_mut() {
            // Adjacent blank lines are merged into one span, so that a file of blank lines needs no more memory than
            // other files.
            Some(last) if blank && last.part == SpanKind::Blank => last.end = end,
            _ => spans.push(Span { end, line, part }),
        }
    }
}

impl Scan for LineScan {
    fn scan(&mut self, data: &[u8], from: usize, spans: &mut Vec<Span>) -> Result<(), RejectReason> {
        let mut at = from;
        for line in Lines(&data[from..]) {
            at += line.len();
            let content = content(line);
            self.take(content);
            if content.len() < line.len() {
                self.end(at, spans);
            }
        }
        Ok(())
    }

    fn finish(&mut self, data: &[u8], spans: &mut Vec<Span>) -> Result<(), RejectReason> {
        if self.seen > 0 {
            self.end(data.len(), spans);
        }
        Ok(())
    }

    fn open_line(&self) -> u64 {
        self.line
    }
}
