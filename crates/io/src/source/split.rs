//! Cuts a stream into pieces of whole records.
//!
//! Invariants: pieces hold whole spans, in order; concatenated with the records reported as too long, they are the
//! stream (but for what a [`Scan`] adds to close a file that was broken off); the spans depend on the bytes alone, not
//! on how they arrive. At most max(`PIECE`, the longest record allowed) bytes are held, twice.

use std::io::{self, Read};
use std::sync::Arc;

use memchr::memchr_iter;
use twinprint_text::charset::Charset;

use super::charset::{is_recoded, utf16::stored_bytes};
use super::decode::Member;
use super::delimited::Header;
use super::longest::Longest;
use super::loss::Loss;
use super::reject::RejectReason;
use super::scan::{Part, Scan, Span};

/// Bytes read before cutting: large enough to amortise a task, small enough to spread over cores.
pub(super) const PIECE: usize = 1 << 20;
/// The UTF-8 byte order mark.
pub const BOM: &[u8] = b"\xef\xbb\xbf";

/// Whole spans, and their bytes.
#[derive(Debug, PartialEq)]
pub struct Piece {
    pub data: Vec<u8>,
    /// Never empty; the last one ends with `data`.
    pub spans: Vec<Span>,
    /// How many of them are records.
    pub records: u64,
    /// What the records stand under, in a format that has it.
    pub header: Option<Arc<Header>>,
    /// Where it begins in the stream.
    pub start: u64,
    /// Members of gzip that were told while it was read: among them those that end in it, if they were not told before.
    pub members: Vec<Member>,
}

impl Piece {
    /// The spans with their bytes.
    pub fn parts(&self) -> impl Iterator<Item = (Span, &[u8])> {
        let mut start = 0;
        self.spans.iter().map(move |&span| {
            let bytes = &self.data[start..span.end];
            start = span.end;
            (span, bytes)
        })
    }
}

/// The meaning of an error of a stream.
pub(super) struct Broken {
    pub reason: RejectReason,
    /// Bytes of the file, as it is stored, that gave nothing.
    pub unread_bytes: u64,
}

/// What the splitter yields.
#[derive(Debug, PartialEq)]
pub(super) enum Cut {
    Piece(Piece),
    /// One record that cannot be had.
    Rejected {
        line: u64,
        raw_len: u64,
        reason: RejectReason,
    },
}

/// The splitter over one stream.
pub(super) struct Splitter<R> {
    stream: R,
    scan: Box<dyn Scan>,
    /// Bytes to read before cutting, at least 1.
    piece: usize,
    /// Longest record, in bytes without the line feed.
    longest: Longest,
    /// Records that may still be yielded.
    left: u64,
    /// The charset of the file. Where the stream is recoded from it, its bytes are not those of the file.
    charset: Charset,
    /// Where `data` begins in the stream.
    start: u64,
    /// What was read, scanned and not yet yielded, and the spans in it.
    data: Vec<u8>,
    spans: Vec<Span>,
    /// Why nothing after the spans found can be had; still to be reported.
    fault: Option<RejectReason>,
    started: bool,
    end: End,
    /// The end of the stream was told to the scanner, or is a fault.
    ended: bool,
    over: Over,
    /// Records found that the limit does not allow.
    surplus: u64,
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

/// Whether there is more to yield.
#[derive(PartialEq)]
enum Over {
    No,
    /// Only what closes the file.
    Records,
    All,
}

impl<R: Read> Splitter<R> {
    /// Splits `stream`, of a file in `charset`, into pieces of about `piece` bytes; yields at most `limit` records.
    pub(super) fn new(
        stream: R,
        scan: Box<dyn Scan>,
        charset: Charset,
        piece: usize,
        longest: Longest,
        limit: u64,
    ) -> Self {
        Self {
            stream,
            scan,
            charset,
            // The first reading must hold a whole mark.
            piece: piece.max(BOM.len()),
            longest,
            left: limit,
            start: 0,
            data: Vec::new(),
            spans: Vec::new(),
            fault: None,
            started: false,
            end: End::Open,
            ended: false,
            over: if limit == 0 { Over::All } else { Over::No },
            surplus: 0,
            closed: false,
        }
    }

    /// The next cut. `broken` says what an error of the stream means.
    pub(super) fn next(&mut self, broken: impl Fn(&io::Error) -> Broken) -> Option<Cut> {
        loop {
            match self.over {
                Over::No => {}
                Over::Records => return self.close(),
                Over::All => return None,
            }
            if let Some(piece) = self.take_piece() {
                return Some(Cut::Piece(piece));
            }
            if let Some(reason) = self.fault.take() {
                return Some(self.give_up(reason, self.scan.open_line(), Lost::default(), &broken));
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

    /// True if another record follows the last one that the limit allowed. Reads on until that is known; nothing is yielded after it.
    pub(super) fn leaves_records(&mut self, broken: impl Fn(&io::Error) -> Broken) -> bool {
        if self.left > 0 {
            return false;
        }
        loop {
            let too_long = self.data.len() as u64 > self.longest.held();
            if self.surplus > 0 || self.fault.is_some() || too_long {
                return true;
            }
            if self.ended {
                return false;
            }
            if matches!(self.end, End::Open) {
                self.go_on(&broken);
            } else {
                self.fault = self.fault_at_end(&broken);
            }
            self.surplus = records_among(&self.spans);
            if let Some(last) = self.spans.last() {
                self.data.drain(..last.end);
                self.spans.clear();
            }
        }
    }

    /// Reads and scans on.
    fn go_on(&mut self, broken: &impl Fn(&io::Error) -> Broken) {
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
        self.fault = self.scan.scan(&self.data, seen, &mut self.spans).err();
        if self.fault.is_none() {
            self.fault = self.fault_at_end(broken);
        }
    }

    /// Ends the last record of a stream that is over; why there is none.
    fn fault_at_end(&mut self, broken: &impl Fn(&io::Error) -> Broken) -> Option<RejectReason> {
        self.ended = !matches!(self.end, End::Open);
        match &self.end {
            End::Open => None,
            End::Reached => self.scan.finish(&self.data, &mut self.spans).err(),
            End::Broken(error) => match broken(error).reason {
                // The bytes before it are a whole stream, whose last record may lack a line end.
                junk @ RejectReason::Junk => Some(
                    self.scan
                        .finish(&self.data, &mut self.spans)
                        .err()
                        .unwrap_or(junk),
                ),
                reason => Some(reason),
            },
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
        self.surplus = records_among(&spans.split_off(taken));
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
    fn skip_record(&mut self, broken: impl Fn(&io::Error) -> Broken) -> Cut {
        let line = self.scan.open_line();
        let mut lost = Lost::default();
        lost.add(&self.data, self.charset);
        self.start += lost.bytes;
        self.data.clear();
        self.data.shrink_to(self.piece);
        loop {
            self.start += self.data.len() as u64;
            self.data.clear();
            self.read(self.piece);
            self.fault = self.scan.scan(&self.data, 0, &mut self.spans).err();
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
            if let Some(reason) = self.fault.take() {
                return self.give_up(reason, line, lost, &broken);
            }
            lost.add(&self.data, self.charset);
            if self.ended {
                self.over = Over::Records;
                let reason = self.longest.reason(Some(lost.bytes));
                return self.rejected(line, lost.bytes, reason);
            }
        }
    }

    /// Reads the stream to its end, to count it, and rejects it with what was `lost` of it before.
    fn give_up(
        &mut self,
        reason: RejectReason,
        line: u64,
        mut lost: Lost,
        broken: &impl Fn(&io::Error) -> Broken,
    ) -> Cut {
        self.over = Over::Records;
        loop {
            lost.add(&self.data, self.charset);
            self.data.clear();
            if !matches!(self.end, End::Open) {
                break;
            }
            self.read(self.piece);
        }
        self.ended = true;
        let unread_bytes = match &self.end {
            End::Broken(error) => broken(error).unread_bytes,
            _ => 0,
        };
        let mut loss = Loss {
            unread_bytes,
            ..lost.loss()
        };
        if !self.scan.has_lines() {
            loss.lines = 0;
        }
        self.rejected(line, lost.bytes, reason.losing(loss))
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

/// The number of spans that are records.
fn records_among(spans: &[Span]) -> u64 {
    spans.iter().filter(|span| span.part == Part::Record).count() as u64
}

/// Bytes that were read and are not yielded.
#[derive(Default)]
struct Lost {
    /// Of the stream, which may be recoded.
    bytes: u64,
    /// Of the file, unpacked.
    stored: u64,
    newlines: u64,
    /// A line is begun.
    open: bool,
}

impl Lost {
    fn add(&mut self, data: &[u8], charset: Charset) {
        self.bytes += data.len() as u64;
        self.stored += if is_recoded(charset) {
            stored_bytes(data)
        } else {
            data.len() as u64
        };
        self.newlines += memchr_iter(b'\n', data).count() as u64;
        self.open = data.last().map_or(self.open, |&last| last != b'\n');
    }

    fn loss(&self) -> Loss {
        Loss {
            bytes: self.stored,
            lines: self.newlines + u64::from(self.open),
            ..Loss::default()
        }
    }
}
