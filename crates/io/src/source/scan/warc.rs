//! Finds the records of a WARC file by the lengths that their headers state.
//!
//! A length is accepted if another record begins at the end of the content, with or without the line ends that separate
//! records. Otherwise the length is wrong. The record then ends where another record begins inside its content, if
//! there is one, so that only one record is rejected. Positions are counted from the beginning of the open span (the
//! current record), because its bytes may have been dropped when it grew too long.

use super::{Scan, Span, SpanKind};
use crate::source::reject::RejectReason;
use crate::source::warc::{
    Header, HeaderStart, MAX_BEGINNING_BYTES, MAX_HEADER_BYTES, MAX_KIND_BYTES, NextRecord, UNDECIDED_BYTES,
    WarcKind, begins_record, blank_before, kind,
};

#[cfg(test)]
mod tests;

/// The largest number of bytes at the start of a record that are stored to decide its kind.
const MAX_HEAD_BYTES: usize = MAX_HEADER_BYTES + MAX_KIND_BYTES + 8;
/// The size up to which records that are not documents are kept in memory. They are kept because a wrong length may be
/// detected at their end.
const MAX_OTHER_BYTES: u64 = 1 << 20;
/// The largest number of line ends after a record that belong to the record.
const MAX_LINE_ENDS: u8 = 4;

/// Scans the records of a web archive.
pub(super) struct WarcScan {
    max: u64,
    any_status: bool,
    /// The number of the current record in the file, from 1.
    number: u64,
    /// The number of bytes of the open span that were scanned.
    seen: u64,
    state: State,
    /// The beginning of the current record: its header, and as much of its content as is needed to decide its kind.
    head: Vec<u8>,
    /// The first offset in the open span at which another record can begin.
    content: u64,
    next: NextRecord,
    /// The offset in the open span of the first record that begins inside the content of the current record.
    inside: Option<u64>,
    /// The number of bytes after the current record that are too few to decide whether they begin the next one. They
    /// are not counted in `seen`.
    waiting: usize,
    /// The number of bytes that may still be scanned twice because of wrong lengths. Once it is 0, a record ends at the
    /// first record found inside it.
    again: u64,
}

enum State {
    /// In a header or before one.
    Head,
    /// In the content, of which `left` bytes follow.
    Content { left: u64, part: SpanKind },
    /// After the content. `ends` is the number of line ends so far.
    End { ends: u8, part: SpanKind },
    /// The length of the record is wrong or unknown. It ends where the next record begins.
    Lost,
}

impl WarcScan {
    /// Creates a scanner for records of at most `max` bytes. If `any_status` is true, responses of any HTTP status are
    /// documents.
    pub(super) fn new(max: u64, any_status: bool) -> Self {
        Self {
            max,
            any_status,
            number: 1,
            seen: 0,
            state: State::Head,
            head: Vec::new(),
            content: 0,
            next: NextRecord::behind(b'\n'),
            inside: None,
            waiting: 0,
            again: max.saturating_mul(8),
        }
    }

    /// Ends the open span at the offset `end` and begins the next record. The span has `length` bytes.
    fn close(&mut self, end: usize, length: u64, part: SpanKind, spans: &mut Vec<Span>) {
        if length > 0 {
            spans.push(Span {
                end,
                line: self.number,
                part,
            });
        }
        self.number += 1;
        self.seen = 0;
        self.state = State::Head;
        self.head.clear();
        self.content = 0;
        self.inside = None;
    }

    /// Scans bytes that may belong to a header. Returns the number of bytes that do.
    fn begin(&mut self, bytes: &[u8]) -> usize {
        let held = self.head.len();
        let room = MAX_HEAD_BYTES.saturating_sub(held).min(bytes.len());
        self.head.extend_from_slice(bytes.get(..room).unwrap_or_default());
        let header = match Header::read(&self.head) {
            HeaderStart::Record(header) => header,
            HeaderStart::Incomplete if room > 0 => return room,
            HeaderStart::Incomplete | HeaderStart::Invalid(_) => {
                self.lose(held);
                return 0;
            }
        };
        let content = self.head.get(header.length..).unwrap_or_default();
        let length = header.content_length;
        let all = usize::try_from(length)
            .ok()
            .and_then(|length| content.get(..length));
        let whole = all.is_some() || room == 0;
        let part = match kind(&header, all.unwrap_or(content), whole, self.any_status) {
            None => return room,
            Some(WarcKind::Document) => SpanKind::Record,
            Some(WarcKind::Other(kind)) => SpanKind::Other(Some(kind)),
        };
        // The part of the content that arrived in earlier calls has already been counted as scanned.
        let before = held
            .saturating_sub(header.length)
            .min(usize::try_from(length).unwrap_or(usize::MAX));
        let taken = header.length.saturating_sub(held);
        let end = header.length + before;
        self.content = header.length as u64;
        self.next = NextRecord::behind(b'\n');
        let head = std::mem::take(&mut self.head);
        self.search_record(head.get(..end).unwrap_or_default(), 0);
        let left = length - before as u64;
        self.state = if left == 0 {
            State::End { ends: 0, part }
        } else {
            State::Content { left, part }
        };
        taken
    }

    /// Gives up the current record, because its header is invalid. Searches the first `taken` bytes of `head` for
    /// another record. Bytes after them are searched when they arrive.
    fn lose(&mut self, taken: usize) {
        let (content, before) = match Header::read(&self.head) {
            HeaderStart::Record(header) => (header.length, b'\n'),
            // Another record can begin anywhere after the first byte of this one.
            HeaderStart::Incomplete | HeaderStart::Invalid(_) => (blank_before(&self.head) + 1, b' '),
        };
        self.content = content as u64;
        self.next = NextRecord::behind(before);
        let head = std::mem::take(&mut self.head);
        self.search_record(head.get(..taken).unwrap_or_default(), 0);
        self.state = State::Lost;
    }

    /// Searches bytes of the open span for the beginning of another record. `offset` is their position in the span.
    fn search_record(&mut self, bytes: &[u8], offset: u64) {
        let own = usize::try_from(self.content.saturating_sub(offset)).unwrap_or(usize::MAX);
        let bytes = bytes.get(own..).unwrap_or_default();
        if self.inside.is_none() && !bytes.is_empty() {
            let found = self.next.find(bytes);
            self.inside = found.map(|at| (offset + own as u64).saturating_add_signed(at as i64));
        }
    }

    /// Ends the open span, whose length is wrong, at the record that was found inside it. Returns the offset of that
    /// record in the data, or `None` if no record was found or its bytes are no longer in memory. `at` is the end of
    /// the bytes scanned.
    fn cut(&mut self, at: usize, spans: &mut Vec<Span>) -> Option<usize> {
        let inside = self.inside.take()?;
        self.next = NextRecord::behind(b' ');
        let back = self.seen - inside;
        let start = at.checked_sub(usize::try_from(back).ok()?)?;
        self.again = self.again.saturating_sub(back);
        self.close(start, inside, SpanKind::Record, spans);
        Some(start)
    }

    /// The size up to which a record that is not a document is kept in memory, in bytes.
    fn held_other(&self) -> u64 {
        let room = u64::from(MAX_LINE_ENDS) + UNDECIDED_BYTES as u64;
        self.max.min(MAX_OTHER_BYTES).saturating_sub(room)
    }

    /// Returns true if another record begins inside the open span, so near to its beginning that it is found regardless
    /// of how the input is divided into reads.
    fn begins_early(&self) -> bool {
        let known = |at: u64| at + MAX_BEGINNING_BYTES as u64 <= self.held_other();
        self.inside.is_some_and(known)
    }

    /// Scans `data` from the offset `at` on.
    fn go(&mut self, data: &[u8], mut at: usize, spans: &mut Vec<Span>) {
        while let Some(bytes) = data.get(at..).filter(|bytes| !bytes.is_empty()) {
            match self.state {
                State::Head => {
                    let taken = self.begin(bytes);
                    self.seen += taken as u64;
                    at += taken;
                }
                State::Content { left, part } => {
                    let taken = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                    self.search_record(bytes.get(..taken).unwrap_or_default(), self.seen);
                    self.seen += taken as u64;
                    at += taken;
                    let left = left - taken as u64;
                    self.state = if left == 0 {
                        State::End { ends: 0, part }
                    } else {
                        State::Content { left, part }
                    };
                    // If another record begins inside a record that is too long to be kept in memory, the stated length
                    // of the outer record is assumed to be wrong.
                    let too_long = match part {
                        SpanKind::Record => self.seen > self.max,
                        SpanKind::Other(Some(_)) => self.seen > self.held_other() && self.begins_early(),
                        _ => false,
                    };
                    if (too_long || self.again == 0)
                        && let Some(back) = self.cut(at, spans)
                    {
                        at = back;
                    }
                }
                State::End { ends, part } => {
                    if let Some(end @ (b'\r' | b'\n')) = bytes.first() {
                        self.search_record(&[*end], self.seen);
                        self.seen += 1;
                        at += 1;
                        self.state = State::End { ends: ends + 1, part };
                        if ends + 1 == MAX_LINE_ENDS {
                            self.close(at, self.seen, part, spans);
                        }
                        continue;
                    }
                    match begins_record(bytes) {
                        Some(false) => match self.cut(at, spans) {
                            Some(back) => at = back,
                            None => self.state = State::Lost,
                        },
                        // Bytes that do not yet show whether they begin a record are kept only if the record before
                        // them fits into memory with them.
                        None if self.seen + UNDECIDED_BYTES as u64 <= self.max => {
                            self.waiting = bytes.len();
                            return;
                        }
                        Some(true) | None => self.close(at, self.seen, part, spans),
                    }
                }
                State::Lost => {
                    self.search_record(bytes, self.seen);
                    self.seen += bytes.len() as u64;
                    at += bytes.len();
                    if let Some(back) = self.cut(at, spans) {
                        at = back;
                    }
                }
            }
        }
    }

    /// If the current record is not a document and is too long to be kept in memory, yields the part read so far as a
    /// span.
    fn stream(&mut self, end: usize, spans: &mut Vec<Span>) {
        let held = self.held_other();
        if let State::Content { part, .. } | State::End { part, .. } = &mut self.state
            && let SpanKind::Other(kind) = part
            && self.seen > if kind.is_some() { held } else { 0 }
        {
            spans.push(Span {
                end,
                line: self.number,
                part: *part,
            });
            *part = SpanKind::Other(None);
            self.seen = 0;
            self.content = 0;
            self.inside = None;
            self.next = NextRecord::behind(b' ');
        }
    }
}

impl Scan for WarcScan {
    fn scan(&mut self, data: &[u8], from: usize, spans: &mut Vec<Span>) -> Result<(), RejectReason> {
        let waited = std::mem::take(&mut self.waiting);
        self.go(data, from.saturating_sub(waited), spans);
        self.stream(data.len() - self.waiting, spans);
        Ok(())
    }

    fn finish(&mut self, data: &[u8], spans: &mut Vec<Span>) -> Result<(), RejectReason> {
        if let State::Content {
            part: SpanKind::Other(None),
            ..
        } = self.state
        {
            return Err(RejectReason::NotWarc {
                found: "the file ends within it",
            });
        }
        let at = data.len();
        loop {
            if let (State::End { part, .. }, 1..) = (&self.state, self.waiting) {
                // The file ends within the bytes that might have been the beginning of another record.
                let end = at - std::mem::take(&mut self.waiting);
                self.close(end, self.seen, *part, spans);
                self.go(data, end, spans);
            }
            if self.seen == 0 {
                return Ok(());
            }
            match self.state {
                State::Content { .. } | State::Lost => match self.cut(at, spans) {
                    Some(back) => self.go(data, back, spans),
                    None => self.close(at, self.seen, SpanKind::Record, spans),
                },
                State::End { part, .. } => self.close(at, self.seen, part, spans),
                State::Head if self.head.iter().all(|b| matches!(b, b'\r' | b'\n')) => {
                    self.close(at, self.seen, SpanKind::Other(None), spans);
                }
                State::Head => self.lose(self.head.len()),
            }
        }
    }

    fn open_line(&self) -> u64 {
        self.number
    }

    fn has_lines(&self) -> bool {
        false
    }

    fn in_record(&self) -> bool {
        !matches!(
            self.state,
            State::Content {
                part: SpanKind::Other(_),
                ..
            } | State::End {
                part: SpanKind::Other(_),
                ..
            }
        )
    }
}
