//! Splits a stream into blocks of whole records.
//!
//! Invariants: blocks hold whole spans, in order; concatenated with the records reported as too long, they are the
//! stream (except for the bytes that a [`Scan`] adds to close a file of which the rest is not read); the spans depend on the bytes
//! alone, not on how they arrive. At most max(`BLOCK_BYTES`, the longest record allowed) bytes are held, twice.

use std::io::{self, Read};

use twinprint_text::charset::Charset;

use super::block::{BOM, RecordBlock};
use super::loss::Loss;
use super::lost_bytes::LostBytes;
use super::record_limits::RecordLimits;
use super::reject::RejectReason;
use super::scan::{Scan, Span, SpanKind};

/// Bytes read before cutting: large enough to amortise a task, small enough to spread over cores.
pub(super) const BLOCK_BYTES: usize = 1 << 20;

/// The failure of a stream.
pub(super) struct StreamFailure {
    pub reason: RejectReason,
    /// Bytes of the file, as it is stored, from which no record was read.
    pub unread_bytes: u64,
}

/// An item that the splitter yields.
#[derive(Debug, PartialEq)]
pub(super) enum SplitItem {
    RecordBlock(RecordBlock),
    /// One reject, which may stand for the rest of the stream.
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
    block_bytes: usize,
    /// Longest record, in bytes without the line feed.
    record_limits: RecordLimits,
    /// Records that may still be yielded.
    left: u64,
    /// The charset of the file. If it is recoded, the bytes of the stream differ from those of the file.
    charset: Charset,
    /// The offset of `data` in the stream.
    start: u64,
    /// The bytes that were read and scanned but not yielded. Next, the spans in them.
    data: Vec<u8>,
    spans: Vec<Span>,
    /// The reason why nothing after the spans found can be read, until it is reported.
    fault: Option<RejectReason>,
    started: bool,
    end: StreamEnd,
    /// True once the scanner has finished, or the end of the stream is a fault.
    ended: bool,
    over: Progress,
    /// Records found that the limit does not allow.
    surplus: u64,
    /// True once the closing span of the file has been yielded.
    closed: bool,
}

/// The state of the stream.
enum StreamEnd {
    Open,
    Reached,
    /// Reading failed.
    StreamFailure(io::Error),
}

/// The spans that are still to be yielded.
#[derive(PartialEq)]
enum Progress {
    No,
    /// All but the closing bytes of the file have been yielded.
    Records,
    All,
}

impl<R: Read> Splitter<R> {
    /// Splits `stream`, of a file in `charset`, into blocks of about `block_bytes` bytes; yields at most `limit` records.
    pub(super) fn new(
        stream: R,
        scan: Box<dyn Scan>,
        charset: Charset,
        block_bytes: usize,
        record_limits: RecordLimits,
        limit: u64,
    ) -> Self {
        Self {
            stream,
            scan,
            charset,
            // The first read must contain a complete byte order mark.
            block_bytes: block_bytes.max(BOM.len()),
            record_limits,
            left: limit,
            start: 0,
            data: Vec::new(),
            spans: Vec::new(),
            fault: None,
            started: false,
            end: StreamEnd::Open,
            ended: false,
            over: if limit == 0 { Progress::All } else { Progress::No },
            surplus: 0,
            closed: false,
        }
    }

    /// The next item. `broken` translates an error of the stream.
    pub(super) fn next(&mut self, broken: impl Fn(&io::Error) -> StreamFailure) -> Option<SplitItem> {
        loop {
            match self.over {
                Progress::No => {}
                Progress::Records => return self.close(),
                Progress::All => return None,
            }
            if let Some(block_bytes) = self.take_block() {
                return Some(SplitItem::RecordBlock(block_bytes));
            }
            if let Some(reason) = self.fault.take() {
                return Some(self.give_up(reason, self.scan.open_line(), LostBytes::default(), &broken));
            }
            if self.ended {
                self.over = Progress::Records;
            } else if !matches!(self.end, StreamEnd::Open) {
                self.fault = self.fault_at_end(&broken);
            } else if self.data.len() as u64 > self.record_limits.max_bytes() {
                if self.scan.in_record() {
                    return Some(self.skip_record(broken));
                }
                self.fault = Some(self.record_limits.rejection(None));
            } else {
                self.read_more(&broken);
            }
        }
    }

    /// True if another record follows the last one that the limit allowed. Reads on until that is known; nothing is yielded after it.
    pub(super) fn leaves_records(&mut self, broken: impl Fn(&io::Error) -> StreamFailure) -> bool {
        if self.left > 0 {
            return false;
        }
        loop {
            let too_long = self.data.len() as u64 > self.record_limits.max_bytes();
            if self.surplus > 0 || self.fault.is_some() || too_long {
                return true;
            }
            if self.ended {
                return false;
            }
            if matches!(self.end, StreamEnd::Open) {
                self.read_more(&broken);
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

    /// Reads and scans more of the stream.
    fn read_more(&mut self, broken: &impl Fn(&io::Error) -> StreamFailure) {
        let mut seen = self.data.len();
        self.fill();
        if !self.started {
            self.started = true;
            if self.data.starts_with(BOM) {
                seen = BOM.len();
                self.spans.push(Span {
                    end: seen,
                    line: 1,
                    part: SpanKind::Opening,
                });
            }
        }
        self.fault = self.scan.scan(&self.data, seen, &mut self.spans).err();
        if self.fault.is_none() {
            self.fault = self.fault_at_end(broken);
        }
    }

    /// Ends the last record at the end of the stream. Returns the reason if it is not a record.
    fn fault_at_end(&mut self, broken: &impl Fn(&io::Error) -> StreamFailure) -> Option<RejectReason> {
        self.ended = !matches!(self.end, StreamEnd::Open);
        match &self.end {
            StreamEnd::Open => None,
            StreamEnd::Reached => self.scan.finish(&self.data, &mut self.spans).err(),
            StreamEnd::StreamFailure(error) => match broken(error).reason {
                // The bytes before the foreign ones are a complete stream, whose last record may lack a line end.
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
    fn take_block(&mut self) -> Option<RecordBlock> {
        let mut spans = std::mem::take(&mut self.spans);
        let (mut records, mut taken) = (0, 0);
        while let Some(span) = spans.get(taken).filter(|_| records < self.left) {
            records += u64::from(span.part == SpanKind::Record);
            taken += 1;
        }
        self.surplus = records_among(&spans.split_off(taken));
        self.closed |= spans.iter().any(|span| span.part == SpanKind::Closing);
        let end = spans.last()?.end;
        self.left -= records;
        if self.left == 0 {
            self.over = Progress::Records;
        }
        let rest = self.data.split_off(end);
        let data = std::mem::replace(&mut self.data, rest);
        let start = self.start;
        self.start += end as u64;
        Some(RecordBlock {
            data,
            spans,
            records,
            header: self.scan.header(),
            start,
            members: Vec::new(),
        })
    }

    /// Closes a file of which no more is read.
    fn close(&mut self) -> Option<SplitItem> {
        self.over = Progress::All;
        let closing = self.scan.closing(self.closed);
        if closing.is_empty() {
            return None;
        }
        let span = Span {
            end: closing.len(),
            line: self.scan.open_line(),
            part: SpanKind::Closing,
        };
        Some(SplitItem::RecordBlock(RecordBlock {
            data: closing.to_vec(),
            spans: vec![span],
            records: 0,
            header: None,
            start: self.start,
            members: Vec::new(),
        }))
    }

    /// Reads until `data` has grown by about a block, or the stream ends.
    fn fill(&mut self) {
        let held = self.data.len();
        // If a record fills the block, the block doubles, up to one byte more than a record may have.
        let most = usize::try_from(self.record_limits.max_bytes())
            .unwrap_or(usize::MAX)
            .saturating_add(1)
            .max(self.block_bytes);
        let target = held.saturating_mul(2).clamp(self.block_bytes, most).max(held + 1);
        self.read(target - held);
    }

    /// Appends `wanted` bytes to `data`; fewer when the stream is over.
    fn read(&mut self, wanted: usize) {
        if !matches!(self.end, StreamEnd::Open) {
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
            Ok(_) => self.end = StreamEnd::Reached,
            // The bytes read before the error are in `data`.
            Err(error) => self.end = StreamEnd::StreamFailure(error),
        }
    }

    /// Drops a record known to be too long and finds its end without holding it.
    fn skip_record(&mut self, broken: impl Fn(&io::Error) -> StreamFailure) -> SplitItem {
        let line = self.scan.open_line();
        let mut lost = LostBytes::default();
        lost.add(&self.data, self.charset);
        self.start += lost.bytes;
        self.data.clear();
        self.data.shrink_to(self.block_bytes);
        loop {
            self.start += self.data.len() as u64;
            self.data.clear();
            self.read(self.block_bytes);
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
                let reason = self.record_limits.rejection(Some(length));
                return self.rejected(line, length, reason);
            }
            if let Some(reason) = self.fault.take() {
                return self.give_up(reason, line, lost, &broken);
            }
            lost.add(&self.data, self.charset);
            if self.ended {
                self.over = Progress::Records;
                let reason = self.record_limits.rejection(Some(lost.bytes));
                return self.rejected(line, lost.bytes, reason);
            }
        }
    }

    /// Reads the stream to its end to count its bytes, and rejects them together with those `lost` before.
    fn give_up(
        &mut self,
        reason: RejectReason,
        line: u64,
        mut lost: LostBytes,
        broken: &impl Fn(&io::Error) -> StreamFailure,
    ) -> SplitItem {
        self.over = Progress::Records;
        loop {
            lost.add(&self.data, self.charset);
            self.data.clear();
            if !matches!(self.end, StreamEnd::Open) {
                break;
            }
            self.read(self.block_bytes);
        }
        self.ended = true;
        let unread_bytes = match &self.end {
            StreamEnd::StreamFailure(error) => broken(error).unread_bytes,
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

    fn rejected(&mut self, line: u64, raw_len: u64, reason: RejectReason) -> SplitItem {
        self.left -= 1;
        if self.left == 0 {
            self.over = Progress::Records;
        }
        SplitItem::Rejected {
            line,
            raw_len,
            reason,
        }
    }
}

/// The number of spans that are records.
fn records_among(spans: &[Span]) -> u64 {
    spans.iter().filter(|span| span.part == SpanKind::Record).count() as u64
}
