//! Positions in a page's markup of the characters of its extracted text.
//!
//! The text consists of pieces of the markup: visible text between tags, with character references resolved. A trace stores the pieces in
//! order, so that any character of the text can be found in the markup. White space that was inserted between pieces has no position.

use std::ops::Range;

use html5gum::{Emitter, ForwardingEmitter, State};

use super::reader::Reader;
use super::{HtmlError, Part};

/// A piece of the text and the markup that it was made from.
#[derive(Clone, Copy, Debug)]
struct MarkupRun {
    /// Offset in the text, in bytes.
    text: u32,
    /// Length in the text, in bytes.
    length: u32,
    /// Offset in the markup, in bytes.
    markup: u32,
    /// Length in the markup, in bytes.
    markup_length: u32,
    /// True if the bytes are those of the markup one for one, except for white space.
    copied: bool,
}

/// The pieces of one text, in order.
#[derive(Debug, Default)]
struct MarkupRuns(Vec<MarkupRun>);

impl MarkupRuns {
    /// The piece with the byte of the text at `offset`.
    fn find(&self, offset: usize) -> Option<&MarkupRun> {
        let after = self.0.partition_point(|piece| piece.text as usize <= offset);
        let piece = self.0.get(after.checked_sub(1)?)?;
        (offset < (piece.text + piece.length) as usize).then_some(piece)
    }

    /// Records that `appended`, at offset `text` of the text, was made of `source`, at offset `markup` of the markup. They differ in
    /// white space only.
    fn copy(&mut self, appended: &[u8], text: usize, source: &[u8], markup: usize) {
        let mut i = 0;
        for (offset, byte) in source.iter().enumerate() {
            if byte.is_ascii_whitespace() {
                continue;
            }
            while appended.get(i).is_some_and(u8::is_ascii_whitespace) {
                i += 1;
            }
            self.copy_byte((text + i) as u32, (markup + offset) as u32);
            i += 1;
        }
    }

    /// Records one byte. Extends the last piece if the distance between text and markup is the same.
    fn copy_byte(&mut self, text: u32, markup: u32) {
        match self.0.last_mut() {
            Some(last) if last.copied && text.wrapping_sub(last.text) == markup.wrapping_sub(last.markup) => {
                last.length = text - last.text + 1;
                last.markup_length = last.length;
            }
            _ => self.0.push(MarkupRun {
                text,
                length: 1,
                markup,
                markup_length: 1,
                copied: true,
            }),
        }
    }
}

/// A piece of the visible text that the extracted text contains.
#[derive(Clone, Copy, Debug)]
pub(super) struct VisibleCut {
    /// Offset in the extracted text, in bytes.
    pub(super) text: usize,
    /// Offset in the visible text, in bytes.
    pub(super) visible: usize,
}

/// The positions of a page's extracted text in its markup.
///
/// ```
/// use twinprint_text::html::Extractor;
///
/// let page = "<p>Fish &amp; chips</p>";
/// let mut extractor = Extractor::new();
/// let (extracted, trace) = extractor.extract_traced(page)?;
/// assert_eq!(extracted.text, "Fish & chips");
/// assert_eq!((trace.start(5), trace.end(6)), (Some(8), Some(13)));
/// # Ok::<(), twinprint_text::html::HtmlError>(())
/// ```
#[derive(Debug, Default)]
pub struct Trace {
    shown: MarkupRuns,
    title: MarkupRuns,
    part: Option<Part>,
    /// The pieces of the visible text that the extracted text consists of, for [`Part::Main`].
    cuts: Vec<VisibleCut>,
}

impl Trace {
    /// The byte of the markup at which the character at byte `start` of the text begins. `None` for white space between pieces, and for a
    /// character in the middle of the characters of one reference (`&fjlig;` gives two letters).
    pub fn start(&self, start: usize) -> Option<usize> {
        let (piece, offset) = self.piece(start)?;
        let within = offset - piece.text as usize;
        (piece.copied || within == 0).then(|| piece.markup as usize + within)
    }

    /// The byte of the markup after the character that ends at byte `end` of the text. `None` as for [`start`](Self::start).
    pub fn end(&self, end: usize) -> Option<usize> {
        let (piece, offset) = self.piece(end.checked_sub(1)?)?;
        let within = offset - piece.text as usize + 1;
        if piece.copied {
            return Some(piece.markup as usize + within);
        }
        (within == piece.length as usize).then(|| (piece.markup + piece.markup_length) as usize)
    }

    fn piece(&self, offset: usize) -> Option<(&MarkupRun, usize)> {
        let (pieces, offset) = match self.part? {
            Part::Title => (&self.title, offset),
            Part::Visible => (&self.shown, offset),
            Part::Main => {
                let after = self.cuts.partition_point(|cut| cut.text <= offset);
                let cut = self.cuts.get(after.checked_sub(1)?)?;
                (&self.shown, offset - cut.text + cut.visible)
            }
        };
        pieces.find(offset).map(|piece| (piece, offset))
    }

    /// Sets the part that was extracted, and its pieces.
    pub(super) fn finish(&mut self, part: Part, cuts: Vec<VisibleCut>) {
        (self.part, self.cuts) = (Some(part), cuts);
    }
}

/// Builds a page as [`Reader`] does, and its trace.
pub(super) struct Tracer<'p, 't> {
    reader: Reader<'p>,
    markup: &'t [u8],
    trace: &'t mut Trace,
    /// Number of bytes of the markup that the tokenizer has read.
    position: usize,
    /// Offset of the first byte of the markup that belongs to no token yet.
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

    /// The range in the markup of `text`, which is the next visible text, and whether it is copied without changes.
    fn source(&self, text: &[u8]) -> (Range<usize>, bool) {
        let end = self.position.min(self.markup.len());
        let mut start = self.next;
        // The second half of a line end belongs to no token.
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
        // Tags without a name belong to no token.
        if !is_reference && read.ends_with(text) {
            return (end - text.len()..end, true);
        }
        // Otherwise it is a character reference: besides references, only line ends and NUL are replaced.
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
        for (pieces, appended, offset) in [
            (&mut self.trace.shown, after.0, before.text),
            (&mut self.trace.title, after.1, before.title),
        ] {
            let blank = appended
                .iter()
                .take_while(|byte| byte.is_ascii_whitespace())
                .count();
            if blank == appended.len() {
                continue;
            }
            if copied {
                pieces.copy(appended, offset, text, source.start);
            } else {
                pieces.0.push(MarkupRun {
                    text: (offset + blank) as u32,
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
