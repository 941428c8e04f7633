//! Finds the elements of a JSON array.
//!
//! The scanner only distinguishes strings and brackets. The parser checks whether an element is valid, so that an
//! invalid element is a single reject. Between two elements there must be a comma and white space. After any other
//! byte, or if the end of the array is missing, the rest of the file is rejected.

use memchr::{memchr_iter, memchr2};

use super::{Scan, Span, SpanKind};
use crate::source::json::first_fields;
use crate::source::reject::{ARRAY_CUT_OFF, RejectReason};

/// The scanner's position in the array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArrayState {
    /// Before the opening bracket of the array.
    Before,
    /// After the opening bracket of the array.
    First,
    /// Inside an element but outside of strings, at this nesting depth of brackets.
    Brackets(u64),
    /// Inside a string, at this nesting depth of brackets. The flag is true after a backslash.
    Text(u64, bool),
    /// Inside an element without brackets or quotes, such as a number.
    Bare,
    /// After an element, before the comma.
    After,
    /// After a comma, before the next element.
    Next,
    /// After the array.
    End,
}

/// Scans a JSON array. Every element of the array is a record.
pub(super) struct ArrayScan {
    place: ArrayState,
    /// The line of the current byte.
    line: u64,
    /// The line on which the open span begins.
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

    /// Starts the element whose first byte is `byte`.
    fn begin(&mut self, byte: u8) {
        self.place = match byte {
            b'{' | b'[' => ArrayState::Brackets(1),
            b'"' => ArrayState::Text(0, false),
            _ => ArrayState::Bare,
        };
    }

    /// Scans bytes of an element. Returns the number of bytes that belong to it, and true if the element ends after
    /// them.
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

    /// Scans the byte at `data[at]`, which is not part of an element.
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

    /// Ends the array at its closing bracket, which is `data[at]`.
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
            // White space after the array is reported at once, so that any amount of it needs no memory.
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

/// Describes a file that is not an array. `byte` is its first byte that is not white space, and `bytes` begin with that
/// byte.
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
