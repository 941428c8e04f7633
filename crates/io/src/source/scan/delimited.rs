//! Finds the rows of CSV and TSV files.
//!
//! A field that begins with a double quote ends at the next double quote that is not doubled, and may contain line
//! ends. A quote anywhere else is an ordinary character. The crate `csv` reads files in the same way, and tests compare
//! the rows with it.

use std::sync::Arc;

use memchr::{memchr, memchr_iter, memchr3};

use super::{Scan, Span, SpanKind};
use crate::source::delimited::{DelimitedFormat, Header};
use crate::source::reject::RejectReason;

/// The scanner's position in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowState {
    /// At the start of a field.
    Start,
    /// In a field without quotes, or after the closing quote of a field.
    Bare,
    /// In a quoted field.
    Quoted,
    /// After a quote in a quoted field. The quote is the closing quote unless another one follows.
    Quote,
    /// After a carriage return that ends the row.
    Return,
}

/// Scans the rows of a CSV or TSV file. The first row is the header unless the file has none. Every other row is a
/// record.
pub(super) struct RowScan {
    place: RowState,
    form: DelimitedFormat,
    /// The delimiter that was given, or that was detected in the first row. `None` before it is known.
    delimiter: Option<u8>,
    header: Option<Arc<Header>>,
    /// The number of bytes of the current row that were scanned, without its line end.
    seen: usize,
    /// The line of the current byte.
    line: u64,
    /// The line on which the current row begins.
    open_line: u64,
    /// The line of the last opening quote.
    quote_line: u64,
}

impl RowScan {
    pub(super) fn new(form: DelimitedFormat) -> Self {
        Self {
            place: RowState::Start,
            form,
            delimiter: form.given,
            header: None,
            seen: 0,
            line: 1,
            open_line: 1,
            quote_line: 1,
        }
    }

    fn is_delimiter(&self, byte: u8) -> bool {
        self.delimiter.map_or(
            byte == self.form.usual || Header::DELIMITERS.contains(&byte),
            |d| byte == d,
        )
    }

    /// Skips bytes that cannot change the state. Returns their number.
    fn skip(&mut self, bytes: &[u8]) -> usize {
        let next = match (self.place, self.delimiter) {
            (RowState::Quoted, _) => memchr(b'"', bytes),
            (RowState::Bare, Some(delimiter)) => memchr3(delimiter, b'\r', b'\n', bytes),
            _ => Some(0),
        };
        let skipped = next.unwrap_or(bytes.len());
        if self.place == RowState::Quoted {
            self.line += memchr_iter(b'\n', &bytes[..skipped]).count() as u64;
        }
        skipped
    }

    /// Ends the current row at `data[end]`. The row ends with a line end of `ending` bytes.
    fn end(
        &mut self,
        data: &[u8],
        end: usize,
        ending: usize,
        spans: &mut Vec<Span>,
    ) -> Result<(), RejectReason> {
        let part = if self.seen == 0 {
            SpanKind::Blank
        } else if self.header.is_some() {
            SpanKind::Record
        } else {
            let row = &data[end - ending - self.seen..end - ending];
            let header = Header::new(row, self.form)?;
            self.delimiter = Some(header.delimiter);
            self.header = Some(Arc::new(header));
            if self.form.headless {
                SpanKind::Record
            } else {
                SpanKind::Opening
            }
        };
        let line = self.open_line;
        (self.place, self.seen, self.open_line) = (RowState::Start, 0, self.line);
        match spans.last_mut() {
            Some(last) if part == SpanKind::Blank && last.part == SpanKind::Blank => last.end = end,
            _ => spans.push(Span { end, line, part }),
        }
        Ok(())
    }
}

impl Scan for RowScan {
    fn scan(&mut self, data: &[u8], from: usize, spans: &mut Vec<Span>) -> Result<(), RejectReason> {
        let mut at = from;
        while at < data.len() {
            let skipped = self.skip(&data[at..]);
            at += skipped;
            self.seen += skipped;
            let Some(&byte) = data.get(at) else { break };
            if self.place == RowState::Return {
                let feed = usize::from(byte == b'\n');
                at += feed;
                self.line += 1;
                self.end(data, at, feed + 1, spans)?;
                continue;
            }
            at += 1;
            match byte {
                b'\n' if self.place != RowState::Quoted => {
                    self.line += 1;
                    self.end(data, at, 1, spans)?;
                    continue;
                }
                b'\r' if self.place != RowState::Quoted => {
                    self.place = RowState::Return;
                    continue;
                }
                b'"' => {
                    self.place = match self.place {
                        RowState::Start => {
                            self.quote_line = self.line;
                            RowState::Quoted
                        }
                        RowState::Quoted => RowState::Quote,
                        RowState::Quote => RowState::Quoted,
                        other => other,
                    }
                }
                _ if self.is_delimiter(byte) => self.place = RowState::Start,
                _ => self.place = RowState::Bare,
            }
            self.seen += 1;
        }
        Ok(())
    }

    fn finish(&mut self, data: &[u8], spans: &mut Vec<Span>) -> Result<(), RejectReason> {
        match self.place {
            RowState::Quoted => Err(RejectReason::OpenQuote {
                line: self.quote_line,
            }),
            RowState::Return => {
                self.line += 1;
                self.end(data, data.len(), 1, spans)
            }
            _ if self.seen > 0 => self.end(data, data.len(), 0, spans),
            _ => Ok(()),
        }
    }

    fn open_line(&self) -> u64 {
        self.open_line
    }

    fn in_record(&self) -> bool {
        self.header.is_some()
    }

    fn header(&self) -> Option<Arc<Header>> {
        self.header.clone()
    }
}
