//! Cuts a stream into pieces of whole records.
//!
//! Invariants: pieces hold whole spans, in order; concatenated with the records reported as too long, they are the
//! stream (but for what a [`Scan`] adds to close a file that was broken off); the spans depend on the bytes alone, not
//! on how they arrive. At most max(`PIECE`, the longest record allowed) bytes are held, twice.

use std::io::{self, Read};
use std::sync::Arc;

use memchr::memchr_iter;

use super::decode::{self, Member};
use super::delimited::Header;
use super::longest::Longest;
use super::reject::{RejectReason, Rest};
use super::scan::{Part, Scan, Span};

/// Bytes read before cutting: large enough to amortise a task, small enough to spread over cores.
pub(crate) const PIECE: usize = 1 << 20;
/// The UTF-8 byte order mark.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// Whole spans, and their bytes.
#[derive(Debug, PartialEq)]
pub(crate) struct Piece {
    pub(crate) data: Vec<u8>,
    /// Never empty; the last one ends with `data`.
    pub(crate) spans: Vec<Span>,
    /// How many of them are records.
    pub(crate) records: u64,
    /// What the records stand under, in a format that has it.
    pub(crate) header: Option<Arc<Header>>,
    /// Where it begins in the stream.
    pub(crate) start: u64,
    /// Members of gzip that were told while it was read: among them those that end in it, if they were not told before.
    pub(crate) members: Vec<Member>,
}

impl Piece {
    /// The spans with their bytes.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (Span, &[u8])> {
        let mut start = 0;
        self.spans.iter().map(move |&span| {
            let bytes = &self.data[start..span.end];
            start = span.end;
            (span, bytes)
        })
    }
}

/// What the splitter yields.
#[derive(Debug, PartialEq)]
pub(crate) enum Cut {
    Piece(Piece),
    /// One record that cannot be had.
    Rejected {
        line: u64,
        raw_len: u64,
        reason: RejectReason,
    },
}

/// The splitter over one stream.
pub(crate) struct Splitter<R> {
    stream: R,
    scan: Box<dyn Scan>,
    /// Bytes to read before cutting, at least 1.
    piece: usize,
    /// Longest record, in bytes without the line feed.
    longest: Longest,
    /// Records that may still be yielded.
    left: u64,
    /// Where `data` begins in the stream.
    start: u64,
    /// What was read, scanned and not yet yielded, and the spans in it.
    data: Vec<u8>,
    spans: Vec<Span>,
    /// Why nothing after the spans found can be had; still to be reported.
    fault: Option<RejectReason>,
    /// A part of the stream that is damaged, behind the spans found; still to be reported.
    damaged: Option<Damaged>,
    started: bool,
    end: End,
    /// The end of the stream was told to the scanner, or is a fault.
    ended: bool,
    over: Over,
    /// Whether what closes the file has been yielded.
    closed: bool,
}

/// How a stream stands.
enum End {
    Open,
    Reached,
    /// It broke.
    Broken(io::Error),
}

/// A damaged part of a stream that continues behind it.
struct Damaged {
    line: u64,
    /// Bytes of the stream that are dropped.
    bytes: u64,
    reason: RejectReason,
}

/// Whether there is more to yield.
#[derive(PartialEq)]
enum Over {
    No,
    /// Only what closes the file.
    Records,
    All,
}

impl<R: Read> Splitter<R> {
    /// Splits `stream` into pieces of about `piece` bytes; yields at most `limit` records.
    pub(crate) fn new(stream: R, scan: Box<dyn Scan>, piece: usize, longest: Longest, limit: u64) -> Self {
        Self {
            stream,
            scan,
            // The first reading must hold a whole mark.
            piece: piece.max(BOM.len()),
            longest,
            left: limit,
            start: 0,
            data: Vec::new(),
            spans: Vec::new(),
            fault: None,
            damaged: None,
            started: false,
            end: End::Open,
            ended: false,
            over: if limit == 0 { Over::All } else { Over::No },
            closed: false,
        }
    }

    /// The next cut. `broken` says what an error of the stream means.
    pub(crate) fn next(&mut self, broken: impl Fn(&io::Error) -> RejectReason) -> Option<Cut> {
        loop {
            match self.over {
                Over::No => {}
                Over::Records => return self.close(),
                Over::All => return None,
            }
            if let Some(piece) = self.take_piece() {
                return Some(Cut::Piece(piece));
            }
            if let Some(damaged) = self.damaged.take() {
                self.start += damaged.bytes;
                return Some(self.rejected(damaged.line, damaged.bytes, damaged.reason));
            }
            if let Some(mut reason) = self.fault.take() {
                self.over = Over::Records;
                let mut bytes = self.data.len() as u64;
                if let Some(rest) = reason.rest_mut() {
                    *rest = self.rest();
                    bytes = rest.bytes;
                }
                return Some(self.rejected(self.scan.open_line(), bytes, reason));
            }
            if self.ended {
                self.over = Over::Records;
            } else if !matches!(self.end, End::Open) {
                self.fault = self.fault_at_end(&broken);
            } else if self.data.len() as u64 > self.longest.held() {
                if self.scan.in_record() {
                    return Some(self.skip_record(broken));
                }
                self.fault = Some(self.longest.reason(None));
            } else {
                self.go_on(&broken);
            }
        }
    }

    /// Reads and scans on.
    fn go_on(&mut self, broken: &impl Fn(&io::Error) -> RejectReason) {
        let mut seen = self.data.len();
        self.fill();
        if !self.started {
            self.started = true;
            if self.data.starts_with(BOM) {
                seen = BOM.len();
                self.spans.push(Span {
                    end: seen,
                    line: 1,
                    part: Part::Opening,
                });
            }
        }
        self.scan_from(seen, broken);
        if self.fault.is_none() && self.damaged.is_none() {
            self.fault = self.fault_at_end(broken);
        }
    }

    /// Scans the bytes from `seen` on. If they end with a damaged part behind which the stream goes on, its record is taken out.
    fn scan_from(&mut self, seen: usize, broken: &impl Fn(&io::Error) -> RejectReason) {
        let damage = match &self.end {
            End::Broken(error) => {
                decode::damaged_member(error).map(|part| (part.unpacked_start, broken(error)))
            }
            End::Open | End::Reached => None,
        };
        let Some((start, reason)) = damage else {
            self.fault = self.scan.scan(&self.data, seen, &mut self.spans).err();
            return;
        };
        self.end = End::Open;
        let read = self.data.len();
        let is_begun = start < self.start;
        let start = usize::try_from(start.saturating_sub(self.start)).map_or(read, |start| start.min(read));
        let mut from = seen;
        if seen <= start {
            self.fault = self.scan.scan(&self.data[..start], seen, &mut self.spans).err();
            self.scan.end_here(start, &mut self.spans);
            from = start;
        }
        let before = self.spans.len();
        if self.fault.is_none() {
            self.fault = self.scan.scan(&self.data, from, &mut self.spans).err();
        }
        let mut end = self.spans.last().map_or(0, |span| span.end);
        let mut line = self.scan.open_line();
        let begins = !is_begun && before.checked_sub(1).map_or(0, |last| self.spans[last].end) == start;
        match &self.spans[before..] {
            // The damaged part is one record, which is whole but for what checks it.
            [only] if begins && end == read && only.part != Part::Other(None) => {
                line = only.line;
                self.spans.truncate(before);
                end = start;
            }
            _ => self.scan.forget(),
        }
        self.data.truncate(end);
        self.damaged = Some(Damaged {
            line,
            bytes: (read - end) as u64,
            reason,
        });
    }

    /// Ends the last record of a stream that is over; why there is none.
    fn fault_at_end(&mut self, broken: &impl Fn(&io::Error) -> RejectReason) -> Option<RejectReason> {
        self.ended = !matches!(self.end, End::Open);
        match &self.end {
            End::Open => None,
            End::Reached => self.scan.finish(&self.data, &mut self.spans).err(),
            End::Broken(error) => Some(broken(error)),
        }
    }

    /// Everything up to the last span found, and no more records than the limit allows.
    fn take_piece(&mut self) -> Option<Piece> {
        let mut spans = std::mem::take(&mut self.spans);
        let (mut records, mut taken) = (0, 0);
        while let Some(span) = spans.get(taken).filter(|_| records < self.left) {
            records += u64::from(span.part == Part::Record);
            taken += 1;
        }
        spans.truncate(taken);
        self.closed |= spans.iter().any(|span| span.part == Part::Closing);
        let end = spans.last()?.end;
        self.left -= records;
        if self.left == 0 {
            self.over = Over::Records;
        }
        let rest = self.data.split_off(end);
        let data = std::mem::replace(&mut self.data, rest);
        let start = self.start;
        self.start += end as u64;
        Some(Piece {
            data,
            spans,
            records,
            header: self.scan.header(),
            start,
            members: Vec::new(),
        })
    }

    /// Closes a file of which no more is read.
    fn close(&mut self) -> Option<Cut> {
        self.over = Over::All;
        let closing = self.scan.closing(self.closed);
        if closing.is_empty() {
            return None;
        }
        let span = Span {
            end: closing.len(),
            line: self.scan.open_line(),
            part: Part::Closing,
        };
        Some(Cut::Piece(Piece {
            data: closing.to_vec(),
            spans: vec![span],
            records: 0,
            header: None,
            start: self.start,
            members: Vec::new(),
        }))
    }

    /// Reads on until `data` has grown by a good piece, or the stream is over.
    fn fill(&mut self) {
        let held = self.data.len();
        // A record that fills the piece grows by doubling, but never beyond what shows that it is too long.
        let most = usize::try_from(self.longest.held())
            .unwrap_or(usize::MAX)
            .saturating_add(1)
            .max(self.piece);
        let target = held.saturating_mul(2).clamp(self.piece, most).max(held + 1);
        self.read(target - held);
    }

    /// Appends `wanted` bytes to `data`; fewer when the stream is over.
    fn read(&mut self, wanted: usize) {
        if !matches!(self.end, End::Open) {
            return;
        }
        self.data.reserve_exact(wanted);
        match self
            .stream
            .by_ref()
            .take(wanted as u64)
            .read_to_end(&mut self.data)
        {
            Ok(read) if read == wanted => {}
            Ok(_) => self.end = End::Reached,
            // What came before the error has been appended.
            Err(error) => self.end = End::Broken(error),
        }
    }

    /// Drops a record known to be too long and finds its end without holding it.
    fn skip_record(&mut self, broken: impl Fn(&io::Error) -> RejectReason) -> Cut {
        let line = self.scan.open_line();
        let mut lost = Lost::default();
        lost.add(&self.data);
        self.start += lost.bytes;
        self.data.clear();
        self.data.shrink_to(self.piece);
        loop {
            self.start += self.data.len() as u64;
            self.data.clear();
            self.read(self.piece);
            self.scan_from(0, &broken);
            if let Some(damaged) = self.damaged.take_if(|_| self.spans.is_empty()) {
                // The record is a part of what is damaged.
                self.start += damaged.bytes;
                return self.rejected(line, lost.bytes + damaged.bytes, damaged.reason);
            }
            if self.spans.is_empty() && self.fault.is_none() {
                self.fault = self.fault_at_end(&broken);
            }
            if let Some(end) = self.spans.first().map(|span| span.end) {
                let length = lost.bytes + super::scan::content(&self.data[..end]).len() as u64;
                self.data.drain(..end);
                self.start += end as u64;
                self.spans.remove(0);
                for span in &mut self.spans {
                    span.end -= end;
                }
                let reason = self.longest.reason(Some(length));
                return self.rejected(line, length, reason);
            }
            lost.add(&self.data);
            if let Some(mut reason) = self.fault.take() {
                self.over = Over::Records;
                if let Some(rest) = reason.rest_mut() {
                    *rest = lost.rest();
                }
                return self.rejected(line, lost.bytes, reason);
            }
            if self.ended {
                self.over = Over::Records;
                let reason = self.longest.reason(Some(lost.bytes));
                return self.rejected(line, lost.bytes, reason);
            }
        }
    }

    /// Reads the stream to its end; how much of it was not yielded.
    fn rest(&mut self) -> Rest {
        let mut lost = Lost::default();
        loop {
            lost.add(&self.data);
            if !matches!(self.end, End::Open) {
                break;
            }
            self.data.clear();
            self.read(self.piece);
        }
        self.data.clear();
        lost.rest()
    }

    fn rejected(&mut self, line: u64, raw_len: u64, reason: RejectReason) -> Cut {
        self.left -= 1;
        if self.left == 0 {
            self.over = Over::Records;
        }
        Cut::Rejected {
            line,
            raw_len,
            reason,
        }
    }
}

/// What was read and is not yielded.
#[derive(Default)]
struct Lost {
    bytes: u64,
    newlines: u64,
    /// A line is begun.
    open: bool,
}

impl Lost {
    fn add(&mut self, data: &[u8]) {
        self.bytes += data.len() as u64;
        self.newlines += memchr_iter(b'\n', data).count() as u64;
        self.open = data.last().map_or(self.open, |&last| last != b'\n');
    }

    fn rest(&self) -> Rest {
        Rest {
            bytes: self.bytes,
            lines: self.newlines + u64::from(self.open),
        }
    }
}
