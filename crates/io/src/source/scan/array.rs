//! The elements of a JSON array.
//!
//! The scanner only distinguishes strings and brackets. The parser decides if an element is well formed, so that one bad element is
//! one reject. The bytes between elements must be a comma and white space: anything else, and a
//! missing end, is a fault from there on.

use memchr::{memchr_iter, memchr2};

use super::{Scan, Span, SpanKind};
use crate::source::json::first_fields;
use crate::source::reject::{ARRAY_CUT_OFF, RejectReason};

/// The state of the scanner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArrayState {
    /// Before the array.
    Before,
    /// After its bracket.
    First,
    /// In an element, at this depth of brackets.
    Brackets(u64),
    /// In a string, at this depth of brackets; `true` after a backslash.
    Text(u64, bool),
    /// In an element without brackets or quotes, such as a number.
    Bare,
    /// After an element.
    After,
    /// After a comma.
    Next,
    /// After the array.
    End,
}

/// Scans a JSON array. Every element is a record.
pub(super) struct ArrayScan {
    place: ArrayState,
    /// The line of the current byte. Next, the line on which the open span begins.
    line: u64,
    open_line: u64,
}

impl ArrayScan {
    pub(super) fn new() -> Self {
        Self {
            place: ArrayState::Before,
            line: 1,
            open_line: 1,
        }
    }

    fn push(&mut self, end: usize, part: SpanKind, spans: &mut Vec<Span>) {
        spans.push(Span {
            end,
            line: self.open_line,
            part,
        });
        self.open_line = self.line;
    }

    /// Begins an element with its first byte.
    fn begin(&mut self, byte: u8) {
        self.place = match byte {
            b'{' | b'[' => ArrayState::Brackets(1),
            b'"' => ArrayState::Text(0, false),
            _ => ArrayState::Bare,
        };
    }

    /// Scans an element. Returns the number of bytes, and true if the element ends there.
    fn element(&mut self, bytes: &[u8]) -> (usize, bool) {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match self.place {
                ArrayState::Text(depth, true) => {
                    self.place = ArrayState::Text(depth, false);
                    at += 1;
                }
                ArrayState::Text(depth, false) => {
                    let Some(found) = memchr2(b'"', b'\\', &bytes[at..]) else {
                        return (bytes.len(), false);
                    };
                    at += found + 1;
                    if bytes[at - 1] == b'\\' {
                        self.place = ArrayState::Text(depth, true);
                    } else if depth == 0 {
                        return (at, true);
                    } else {
                        self.place = ArrayState::Brackets(depth);
                    }
                }
                ArrayState::Brackets(depth) => {
                    at += 1;
                    match byte {
                        b'"' => self.place = ArrayState::Text(depth, false),
                        b'{' | b'[' => self.place = ArrayState::Brackets(depth + 1),
                        b'}' | b']' if depth == 1 => return (at, true),
                        b'}' | b']' => self.place = ArrayState::Brackets(depth - 1),
                        _ => {}
                    }
                }
                _ if matches!(byte, b',' | b']' | b' ' | b'\t' | b'\r' | b'\n') => return (at, true),
                _ => at += 1,
            }
        }
        (at, false)
    }

    /// Takes a byte outside of elements, at `at`.
    fn outside(&mut self, data: &[u8], at: usize, spans: &mut Vec<Span>) -> Result<(), RejectReason> {
        match (self.place, data[at]) {
            (_, b' ' | b'\t' | b'\r') => {}
            (_, b'\n') => self.line += 1,
            (ArrayState::Before, b'[') => self.place = ArrayState::First,
            (ArrayState::Before, byte) => {
                self.open_line = self.line;
                return Err(RejectReason::NotAnArray {
                    found: found(byte, &data[at..]),
                });
            }
            (ArrayState::First, b']') => {
                self.push(at, SpanKind::Opening, spans);
                self.end(at, spans);
            }
            (ArrayState::After, b']') => self.end(at, spans),
            (ArrayState::After, b',') => self.place = ArrayState::Next,
            (ArrayState::After, _) => return self.broken("a comma or ] is missing before this"),
            (ArrayState::End, _) => return self.broken("there is more after the end of the array"),
            (_, b',' | b']') => return self.broken("an element is missing before a comma or ]"),
            (place, byte) => {
                let part = if place == ArrayState::First {
                    SpanKind::Opening
                } else {
                    SpanKind::Separator
                };
                self.push(at, part, spans);
                self.begin(byte);
            }
        }
        Ok(())
    }

    /// Ends the array with the bracket at `at`.
    fn end(&mut self, at: usize, spans: &mut Vec<Span>) {
        self.push(at + 1, SpanKind::Closing, spans);
        self.place = ArrayState::End;
    }

    fn broken(&mut self, message: &'static str) -> Result<(), RejectReason> {
        self.open_line = self.line;
        Err(RejectReason::BrokenArray { message })
    }

    fn in_element(&self) -> bool {
        matches!(
            self.place,
            ArrayState::Brackets(_) | ArrayState::Text(..) | ArrayState::Bare
        )
    }
}

impl Scan for ArrayScan {
    fn scan(&mut self, data: &[u8], from: usize, spans: &mut Vec<Span>) -> Result<(), RejectReason> {
        let mut at = from;
        while at < data.len() {
            if !self.in_element() {
                self.outside(data, at, spans)?;
                at += 1;
                continue;
            }
            let (taken, ended) = self.element(&data[at..]);
            self.line += memchr_iter(b'\n', &data[at..at + taken]).count() as u64;
            at += taken;
            if ended {
                self.push(at, SpanKind::Record, spans);
                self.place = ArrayState::After;
            }
        }
        if self.place == ArrayState::End {
            // White space after the array is not gathered.
            self.push(data.len(), SpanKind::Closing, spans);
        }
        Ok(())
    }

    fn finish(&mut self, _: &[u8], _: &mut Vec<Span>) -> Result<(), RejectReason> {
        match self.place {
            ArrayState::End => Ok(()),
            ArrayState::Before => Err(RejectReason::NotAnArray {
                found: "nothing".to_owned(),
            }),
            _ => Err(RejectReason::BrokenArray {
                message: ARRAY_CUT_OFF,
            }),
        }
    }

    fn open_line(&self) -> u64 {
        self.open_line
    }

    fn in_record(&self) -> bool {
        self.in_element()
    }

    fn closing(&self, closed: bool) -> &'static [u8] {
        match self.place {
            ArrayState::Before | ArrayState::First => b"[]\n",
            _ if closed => b"",
            _ => b"]\n",
        }
    }
}

/// A description of a file that begins with `byte`.
fn found(byte: u8, bytes: &[u8]) -> String {
    match byte {
        b'{' => {
            let fields = first_fields(bytes);
            if fields.is_empty() {
                "an object".to_owned()
            } else {
                format!("an object with the fields {}", fields.join(", "))
            }
        }
        b'"' => "a string".to_owned(),
        b'-' | b'0'..=b'9' => "a number".to_owned(),
        _ => "no JSON".to_owned(),
    }
}
