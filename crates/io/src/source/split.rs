//! Splits a stream of bytes into blocks of complete records.
//!
//! Invariants: Blocks contain complete spans, in order. All blocks together with the records that are rejected as too
//! long are the whole stream. The only other bytes are those that a [`Scan`] adds to close a file of which the rest is
//! not read. The spans depend only on the bytes of the stream, not on how they are divided into reads. At most twice
//! max(`BLOCK_BYTES`, the largest allowed record) bytes are in memory.

use std::io;

use twinprint_text::charset::Charset;

use super::block::{BOM, RecordBlock};
use super::byte_stream::ByteStream;
use super::loss::Loss;
use super::lost_bytes::LostBytes;
use super::record_limits::RecordLimits;
use super::reject::RejectReason;
use super::scan::{Scan, Span, SpanKind};

/// The number of bytes of records that one thread analyses at a time, which are read for a block: large enough to amortise the cost of a task, small enough to spread a
/// file over all cores and to stay in the cache of a core with its texts.
pub const BLOCK_BYTES: usize = 256 << 10;

/// The reason for which reading a stream failed.
pub(super) struct StreamFailure {
    pub reason: RejectReason,
    /// Number of bytes of the file on disk from which no record could be read.
    pub unread_bytes: u64,
}

/// A result of the splitter: a block of records or a reject.
#[derive(Debug, PartialEq)]
pub(super) enum SplitItem {
    RecordBlock(RecordBlock),
    /// A reject, which may stand for the rest of the stream.
    Rejected {
        line: u64,
        raw_len: u64,
        reason: RejectReason,
    },
}

/// Splits one stream into blocks of records.
pub(super) struct Splitter<R> {
    stream: R,
    scan: Box<dyn Scan>,
    /// The number of bytes to read for a block, at least 1.
    block_bytes: usize,
    /// The limits on the length of a record, without its line feed.
    record_limits: RecordLimits,
    /// The number of records that may still be yielded under the limit of records.
    left: u64,
    /// The charset of the file. If it is UTF-16, the stream has been converted to UTF-8.
    charset: Charset,
    /// The offset in the stream of the first byte of `data`.
    start: u64,
    /// The bytes that were read and scanned, but not yielded yet.
    data: Vec<u8>,
    /// The spans in `data` that were not yielded yet.
    spans: Vec<Span>,
    /// The reason why nothing after `spans` can be read. `None` once it has been yielded as a reject.
    fault: Option<RejectReason>,
    started: bool,
    end: StreamEnd,
    /// True once the scanner has processed the end of the stream, or the stream has failed.
    ended: bool,
    over: Progress,
    /// The number of records in `data` that exceed the limit of records.
    surplus: u64,
    /// True once the closing span of the file has been yielded.
    closed: bool,
}

/// The state of a stream: readable, at its end, or failed.
enum StreamEnd {
    Open,
    Reached,
    /// Reading the stream failed.
    StreamFailure(io::Error),
}

/// The part of the stream that has been yielded.
#[derive(PartialEq)]
enum Progress {
    No,
    /// Everything but the bytes that close the file.
    Records,
    All,
}

impl<R: ByteStream> Splitter<R> {
    /// Creates a splitter. `stream` comes from a file in `charset`. Blocks have about `block_bytes` bytes. At most
    /// `limit` records are yielded.
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
            // The first read must be long enough to contain a complete byte order mark.
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

    /// Returns the next block or reject. `broken` converts an error of the stream to a reject reason.
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

    /// Returns true if the stream has another record after the last one that the limit allowed. Reads the stream until
    /// that is known. Nothing can be yielded afterwards.
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

    /// Reads more bytes of the stream and scans them.
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

    /// Ends the last record if the stream has ended. Returns the reason to reject the rest, if the rest is not a valid
    /// record or the stream failed.
    fn fault_at_end(&mut self, broken: &impl Fn(&io::Error) -> StreamFailure) -> Option<RejectReason> {
        self.ended = !matches!(self.end, StreamEnd::Open);
        match &self.end {
            StreamEnd::Open => None,
            StreamEnd::Reached => self.scan.finish(&self.data, &mut self.spans).err(),
            StreamEnd::StreamFailure(error) => match broken(error).reason {
                // Bytes that are not gzip follow the last gzip member. The bytes before them are complete, so the last
                // record is ended even without a line end.
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

    /// Returns a block with all spans found so far, up to the limit of records.
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

    /// Yields the bytes that close the outputs of a file that is not read to its end, such as the bracket of a JSON
    /// array.
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

    /// Reads until `data` has grown by about a block, or until the stream ends.
    fn fill(&mut self) {
        let held = self.data.len();
        // If one record fills `data`, its size is doubled, up to one byte more than the longest allowed record.
        let most = usize::try_from(self.record_limits.max_bytes())
            .unwrap_or(usize::MAX)
            .saturating_add(1)
            .max(self.block_bytes);
        let target = held.saturating_mul(2).clamp(self.block_bytes, most).max(held + 1);
        self.read(target - held);
    }

    /// Appends `wanted` bytes to `data`, or fewer if the stream ends.
    fn read(&mut self, wanted: usize) {
        if !matches!(self.end, StreamEnd::Open) {
            return;
        }
        self.data.reserve_exact(wanted);
        match self.stream.append_to(&mut self.data, wanted as u64) {
            Ok(read) if read == wanted => {}
            Ok(_) => self.end = StreamEnd::Reached,
            // The bytes that were read before the error are in `data`.
            Err(error) => self.end = StreamEnd::StreamFailure(error),
        }
    }

    /// Discards a record that is too long, and searches for its end without storing it.
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

    /// Reads the stream to its end to count the remaining bytes. Returns a reject for these and the bytes counted in
    /// `lost`.
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

/// Returns the number of spans that are records.
fn records_among(spans: &[Span]) -> u64 {
    spans.iter().filter(|span| span.part == SpanKind::Record).count() as u64
}
