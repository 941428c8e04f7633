//! Records of a WARC file, by the lengths in their headers.
//!
//! Lengths are believed as long as a record follows where they say. Where none does, the record ends where the next
//! begins, if one was met on the way, so that a wrong length costs one record. Positions are counted from the beginning
//! of the open span, since its bytes may have been dropped when it grew too long.

use memchr::memmem;

use super::{Part, Scan, Span};
use crate::source::reject::RejectReason;
use crate::source::warc::{Begun, Header, Kind, LONGEST_HEAD, LONGEST_HEADER, has_whole_head, kind};

#[cfg(test)]
mod tests;

/// What stands before and at the beginning of a record behind another.
const NEXT: &[u8] = b"\nWARC/1.";

/// Most bytes of a record's beginning that are held to tell what it is.
const MOST_HELD: usize = LONGEST_HEADER + LONGEST_HEAD + 8;
/// Records that are no documents are held whole up to here.
const HELD_OTHER: u64 = 1 << 20;

/// Finds the records.
pub(crate) struct WarcScan {
    max: u64,
    /// The number of the open record in the file, from 1.
    number: u64,
    /// Bytes of the open span seen.
    seen: u64,
    state: State,
    /// The beginning of the open record: its header, and of a response the HTTP head.
    head: Vec<u8>,
    /// The open record is too long to be held, and need not be.
    streams: bool,
    /// Where the first record begins that was met inside the content, from the beginning of the span.
    inside: Option<u64>,
    /// The last bytes looked at for [`NEXT`].
    tail: Vec<u8>,
    /// Bytes that may still be looked at again after a wrong length; beyond them the first record met is believed.
    again: u64,
}

enum State {
    /// Within a header, or before one.
    Head,
    /// Within the content; so many bytes are left.
    Content { left: u64, part: Part },
    /// Behind the content; so many line ends were met.
    End { ends: u8, part: Part },
    /// No telling where the record ends: up to the next.
    Lost,
}

impl WarcScan {
    pub(crate) fn new(max: u64) -> Self {
        Self {
            max,
            number: 1,
            seen: 0,
            state: State::Head,
            head: Vec::new(),
            streams: false,
            inside: None,
            tail: Vec::new(),
            again: max.saturating_mul(8),
        }
    }

    /// Ends the open span at `end` and begins the next record.
    fn close(&mut self, end: usize, part: Part, spans: &mut Vec<Span>) {
        spans.push(Span {
            end,
            line: self.number,
            part,
        });
        self.number += 1;
        self.seen = 0;
        self.state = State::Head;
        self.head.clear();
        self.inside = None;
        self.tail.clear();
    }

    /// Takes bytes that may belong to a header; how many it took.
    fn begin(&mut self, bytes: &[u8]) -> usize {
        let held = self.head.len();
        let room = MOST_HELD.saturating_sub(held).min(bytes.len());
        self.head.extend_from_slice(bytes.get(..room).unwrap_or_default());
        let header = match Header::read(&self.head) {
            Begun::Record(header) => header,
            Begun::Open if room > 0 => return room,
            Begun::Open | Begun::Not(_) => {
                // What was held is looked through; the rest follows.
                let held_bytes: Vec<u8> = self.head.drain(..).take(held).collect();
                self.look(&held_bytes, 0);
                self.state = State::Lost;
                return 0;
            }
        };
        let content = self.head.get(header.length..).unwrap_or_default();
        let length = header.content_length;
        let all = usize::try_from(length)
            .ok()
            .and_then(|length| content.get(..length));
        if all.is_none() && room > 0 && header.record_type() == "response" && !has_whole_head(content) {
            return room;
        }
        let part = match kind(&header, all.unwrap_or(content)) {
            Kind::Document => Part::Record,
            Kind::Other(kind) => Part::Other(Some(kind)),
        };
        let whole = (header.length as u64).saturating_add(length);
        self.streams = part != Part::Record && whole.saturating_add(4) > self.max.min(HELD_OTHER);
        // Of the content, what came with earlier bytes has been taken.
        let before = held
            .saturating_sub(header.length)
            .min(usize::try_from(length).unwrap_or(usize::MAX));
        let taken = header.length.saturating_sub(held);
        let (start, head) = (header.length, std::mem::take(&mut self.head));
        self.look(head.get(start..start + before).unwrap_or_default(), start as u64);
        let left = length - before as u64;
        self.state = if left == 0 {
            State::End { ends: 0, part }
        } else {
            State::Content { left, part }
        };
        taken
    }

    /// Looks for the beginning of another record in bytes of the open span that stand at `offset`, and follow those looked
    /// at before.
    fn look(&mut self, bytes: &[u8], offset: u64) {
        if self.inside.is_some() || bytes.is_empty() {
            return;
        }
        let held = self.tail.len();
        let joint = bytes.len().min(NEXT.len() - 1);
        self.tail
            .extend_from_slice(bytes.get(..joint).unwrap_or_default());
        let found = match memmem::find(&self.tail, NEXT) {
            Some(at) => Some(offset + at as u64 + 1 - held as u64),
            None => memmem::find(bytes, NEXT).map(|at| offset + at as u64 + 1),
        };
        self.inside = found;
        let from = bytes.len().saturating_sub(NEXT.len() - 1);
        if bytes.len() >= NEXT.len() {
            self.tail.clear();
            self.tail.extend_from_slice(bytes.get(from..).unwrap_or_default());
        } else {
            let over = self.tail.len().saturating_sub(NEXT.len() - 1);
            self.tail.drain(..over);
        }
    }

    /// Ends the open span, whose length is wrong, where another record begins inside it, and goes back there. `at` is the
    /// end of the bytes seen. None if there is no such place, or its bytes are gone.
    fn cut(&mut self, at: usize, spans: &mut Vec<Span>) -> Option<usize> {
        let back = self.seen - self.inside.take()?;
        let start = at.checked_sub(usize::try_from(back).ok()?)?;
        self.again = self.again.saturating_sub(back);
        self.close(start, Part::Record, spans);
        Some(start)
    }

    /// Goes through `data` from `at`.
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
                    self.look(bytes.get(..taken).unwrap_or_default(), self.seen);
                    self.seen += taken as u64;
                    at += taken;
                    let left = left - taken as u64;
                    self.state = if left == 0 {
                        State::End { ends: 0, part }
                    } else {
                        State::Content { left, part }
                    };
                    if self.again == 0
                        && let Some(back) = self.cut(at, spans)
                    {
                        at = back;
                    }
                }
                State::End { ends, part } => match bytes.first() {
                    Some(b'\r' | b'\n') => {
                        self.seen += 1;
                        at += 1;
                        self.state = State::End { ends: ends + 1, part };
                        if ends == 3 {
                            self.close(at, part, spans);
                        }
                    }
                    Some(b'W') if ends > 0 => self.close(at, part, spans),
                    _ => match self.cut(at, spans) {
                        Some(back) => at = back,
                        None => self.state = State::Lost,
                    },
                },
                State::Lost => {
                    self.look(bytes, self.seen);
                    self.seen += bytes.len() as u64;
                    at += bytes.len();
                    if let Some(back) = self.cut(at, spans) {
                        at = back;
                    }
                }
            }
        }
    }
}

impl Scan for WarcScan {
    fn scan(&mut self, data: &[u8], from: usize, spans: &mut Vec<Span>) -> Result<(), RejectReason> {
        self.go(data, from, spans);
        // A long record that is no document goes on as it comes, so that it is not held.
        if let State::Content {
            left,
            part: part @ Part::Other(_),
        } = self.state
            && self.streams
            && self.seen > 0
        {
            spans.push(Span {
                end: data.len(),
                line: self.number,
                part,
            });
            self.seen = 0;
            self.inside = None;
            self.tail.clear();
            self.state = State::Content {
                left,
                part: Part::Other(None),
            };
        }
        Ok(())
    }

    fn finish(&mut self, data: &[u8], spans: &mut Vec<Span>) -> Result<(), RejectReason> {
        if let State::Content {
            part: Part::Other(None),
            ..
        } = self.state
        {
            return Err(RejectReason::NotWarc {
                found: "the file ends within it",
            });
        }
        while self.seen > 0 {
            let at = data.len();
            match self.state {
                State::Content { .. } => match self.cut(at, spans) {
                    Some(back) => self.go(data, back, spans),
                    None => self.close(at, Part::Record, spans),
                },
                State::End { part, .. } => self.close(at, part, spans),
                State::Head if self.head.iter().all(|b| matches!(b, b'\r' | b'\n')) => {
                    self.close(at, Part::Other(None), spans);
                }
                State::Head | State::Lost => self.close(at, Part::Record, spans),
            }
        }
        Ok(())
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
                part: Part::Other(_),
                ..
            } | State::End {
                part: Part::Other(_),
                ..
            }
        )
    }
}
