//! Where the text of a page stands in its markup.
//!
//! The text is made of pieces of the markup: what is shown between tags, with character references resolved. A trace holds the pieces in
//! order, so that any character of the text can be found again. White space that was put between pieces has no place.

use std::ops::Range;

use html5gum::{Emitter, ForwardingEmitter, State};

use super::reader::Reader;
use super::{HtmlError, Part};

/// A stretch of the text and of the markup that it was made from.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Bytes of the text before it, and in it.
    text: u32,
    length: u32,
    /// Bytes of the markup before it, and in it.
    markup: u32,
    markup_length: u32,
    /// The bytes are those of the markup, one for one, but for white space.
    copied: bool,
}

/// The pieces of one text, in order.
#[derive(Debug, Default)]
struct Pieces(Vec<Piece>);

impl Pieces {
    /// The piece that holds the byte of the text at `at`.
    fn of(&self, at: usize) -> Option<&Piece> {
        let after = self.0.partition_point(|piece| piece.text as usize <= at);
        let piece = self.0.get(after.checked_sub(1)?)?;
        (at < (piece.text + piece.length) as usize).then_some(piece)
    }

    /// Notes that `appended`, which begins at `at` in the text, was made of `source`, which begins at `start` in the markup. Both are
    /// the same but for white space.
    fn copy(&mut self, appended: &[u8], at: usize, source: &[u8], start: usize) {
        let mut i = 0;
        for (here, byte) in source.iter().enumerate() {
            if byte.is_ascii_whitespace() {
                continue;
            }
            while appended.get(i).is_some_and(u8::is_ascii_whitespace) {
                i += 1;
            }
            self.copy_byte((at + i) as u32, (start + here) as u32);
            i += 1;
        }
    }

    /// Lengthens the last piece where the distance between text and markup is still the same.
    fn copy_byte(&mut self, text: u32, markup: u32) {
        match self.0.last_mut() {
            Some(last) if last.copied && text.wrapping_sub(last.text) == markup.wrapping_sub(last.markup) => {
                last.length = text - last.text + 1;
                last.markup_length = last.length;
            }
            _ => self.0.push(Piece {
                text,
                length: 1,
                markup,
                markup_length: 1,
                copied: true,
            }),
        }
    }
}

/// Where the text of a page stands in its markup.
#[derive(Debug, Default)]
pub struct Trace {
    shown: Pieces,
    title: Pieces,
    part: Option<Part>,
    /// The stretches of the shown text that make up the text, where it is a part of it: bytes before each in both.
    cuts: Vec<(usize, usize)>,
}

impl Trace {
    /// The byte of the markup at which the character begins that stands at byte `at` of the text. `None` for white space between pieces,
    /// and for a character in the middle of what one reference gives (`&fjlig;` gives two letters).
    pub fn start(&self, at: usize) -> Option<usize> {
        let (piece, at) = self.piece(at)?;
        let within = at - piece.text as usize;
        (piece.copied || within == 0).then(|| piece.markup as usize + within)
    }

    /// The byte of the markup after the character that ends at byte `end` of the text. `None` as for [`start`](Self::start).
    pub fn end(&self, end: usize) -> Option<usize> {
        let (piece, at) = self.piece(end.checked_sub(1)?)?;
        let within = at - piece.text as usize + 1;
        if piece.copied {
            return Some(piece.markup as usize + within);
        }
        (within == piece.length as usize).then(|| (piece.markup + piece.markup_length) as usize)
    }

    fn piece(&self, at: usize) -> Option<(&Piece, usize)> {
        let (pieces, at) = match self.part? {
            Part::Title => (&self.title, at),
            Part::Visible => (&self.shown, at),
            Part::Main => {
                let after = self.cuts.partition_point(|cut| cut.0 <= at);
                let &(text, shown) = self.cuts.get(after.checked_sub(1)?)?;
                (&self.shown, at - text + shown)
            }
        };
        pieces.of(at).map(|piece| (piece, at))
    }

    /// Says which text was taken, and of which stretches it is made.
    pub(super) fn finish(&mut self, part: Part, cuts: Vec<(usize, usize)>) {
        (self.part, self.cuts) = (Some(part), cuts);
    }
}

/// Feeds a page as [`Reader`] does, and traces it.
pub(super) struct Tracer<'p, 't> {
    reader: Reader<'p>,
    markup: &'t [u8],
    trace: &'t mut Trace,
    /// Bytes of the markup that the tokenizer has read.
    position: usize,
    /// Where the first byte stands that no token has accounted for.
    next: usize,
}

impl<'p, 't> Tracer<'p, 't> {
    pub(super) fn new(reader: Reader<'p>, markup: &'t str, trace: &'t mut Trace) -> Self {
        Self {
            reader,
            markup: markup.as_bytes(),
            trace,
            position: 0,
            next: 0,
        }
    }

    /// Where `text`, which is shown next, stands in the markup, and whether it stands there as it is.
    fn source(&self, text: &[u8]) -> (Range<usize>, bool) {
        let end = self.position.min(self.markup.len());
        let mut start = self.next;
        // No token accounts for the second half of a line end.
        if start < end
            && self
                .markup
                .get(..=start)
                .is_some_and(|read| read.ends_with(b"\r\n"))
        {
            start += 1;
        }
        let read = self.markup.get(start..end).unwrap_or_default();
        let is_reference = read.starts_with(b"&") && read.len() > text.len();
        if !is_reference && read.starts_with(text) {
            return (start..start + text.len(), true);
        }
        // No token accounts for tags without a name.
        if !is_reference && read.ends_with(text) {
            return (end - text.len()..end, true);
        }
        // Nothing else is replaced but line ends and NUL.
        let ampersand = read.iter().rposition(|&byte| byte == b'&').unwrap_or(0);
        (start + ampersand..end, false)
    }
}

impl ForwardingEmitter for Tracer<'_, '_> {
    type Token = HtmlError;

    fn inner(&mut self) -> &mut impl Emitter<Token = HtmlError> {
        &mut self.reader
    }

    fn move_position(&mut self, offset: isize) {
        self.position = self.position.saturating_add_signed(offset);
    }

    fn emit_string(&mut self, text: &[u8]) {
        let before = self.reader.lengths();
        self.reader.emit_string(text);
        let (source, copied) = self.source(text);
        let after = self.reader.appended(before);
        for (pieces, appended, at) in [
            (&mut self.trace.shown, after.0, before.0),
            (&mut self.trace.title, after.1, before.1),
        ] {
            let blank = appended
                .iter()
                .take_while(|byte| byte.is_ascii_whitespace())
                .count();
            if blank == appended.len() {
                continue;
            }
            if copied {
                pieces.copy(appended, at, text, source.start);
            } else {
                pieces.0.push(Piece {
                    text: (at + blank) as u32,
                    length: (appended.len() - blank) as u32,
                    markup: source.start as u32,
                    markup_length: source.len() as u32,
                    copied: false,
                });
            }
        }
        self.next = source.end;
    }

    fn emit_current_tag(&mut self) -> Option<State> {
        self.next = self.position;
        self.reader.emit_current_tag()
    }

    fn emit_current_comment(&mut self) {
        self.next = self.position;
        self.reader.emit_current_comment();
    }

    fn emit_current_doctype(&mut self) {
        self.next = self.position;
        self.reader.emit_current_doctype();
    }
}

#[cfg(test)]
mod tests;
