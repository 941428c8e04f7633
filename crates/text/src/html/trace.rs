//! Maps positions in the extracted text of a page to positions in its markup.
//!
//! The extracted text consists of pieces of the markup: visible text between tags, with character references replaced.
//! A trace stores the pieces in order, so the position of any character in the markup can be found. White space that
//! was inserted between two pieces has no position.

use std::ops::Range;

use html5gum::{Emitter, ForwardingEmitter, State};

use super::reader::Reader;
use super::{HtmlError, Part};

/// A piece of the text, and the range of the markup that it comes from.
#[derive(Clone, Copy, Debug)]
struct MarkupRun {
    /// Offset of the piece in the text, in bytes.
    text: u32,
    /// Length of the piece in the text, in bytes.
    length: u32,
    /// Offset of the piece in the markup, in bytes.
    markup: u32,
    /// Length of the piece in the markup, in bytes.
    markup_length: u32,
    /// True if the bytes of the text and of the markup are the same, except for white space. False for a character
    /// reference.
    copied: bool,
}

/// The pieces of the visible text or of the title, in order.
#[derive(Debug, Default)]
struct MarkupRuns(Vec<MarkupRun>);

impl MarkupRuns {
    /// The piece that contains the byte at `offset` of the text.
    fn find(&self, offset: usize) -> Option<&MarkupRun> {
        let after = self.0.partition_point(|piece| piece.text as usize <= offset);
        let piece = self.0.get(after.checked_sub(1)?)?;
        (offset < (piece.text + piece.length) as usize).then_some(piece)
    }

    /// Records that `appended`, which begins at byte `text` of the text, comes from `source`, which begins at byte
    /// `markup` of the markup. The two differ in white space only.
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

    /// Records that the byte at offset `text` of the text comes from offset `markup` of the markup. Extends the last
    /// piece if its distance between text and markup is the same.
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

/// A range of the visible text that is part of the extracted text. It ends where the next range begins in the extracted
/// text.
#[derive(Clone, Copy, Debug)]
pub(super) struct VisibleCut {
    /// Offset of the range in the extracted text, in bytes.
    pub(super) text: usize,
    /// Offset of the range in the visible text, in bytes.
    pub(super) visible: usize,
}

/// Maps offsets in the extracted text of a page to offsets in its markup.
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
    /// If the extracted text is [`Part::Main`]: the ranges of the visible text that it consists of.
    cuts: Vec<VisibleCut>,
}

impl Trace {
    /// Maps the start offset of a character in the text to its start offset in the markup. `None` for white space
    /// between pieces. Also `None` for a character that is not the first of those that one reference stands for
    /// (`&fjlig;` gives two letters).
    pub fn start(&self, start: usize) -> Option<usize> {
        let (piece, offset) = self.piece(start)?;
        let within = offset - piece.text as usize;
        (piece.copied || within == 0).then(|| piece.markup as usize + within)
    }

    /// Maps the end offset of a character in the text to its end offset in the markup. `None` for white space between
    /// pieces, and for a character that is not the last of those that one reference stands for.
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

    /// Sets the part of the page that was extracted, and the ranges of the visible text that it consists of.
    pub(super) fn finish(&mut self, part: Part, cuts: Vec<VisibleCut>) {
        (self.part, self.cuts) = (Some(part), cuts);
    }
}

/// Builds a page as [`Reader`] does, and also the trace of its text.
pub(super) struct Tracer<'p, 't> {
    reader: Reader<'p>,
    markup: &'t [u8],
    trace: &'t mut Trace,
    /// Number of bytes of the markup that the tokenizer has read.
    position: usize,
    /// Offset of the first byte of the markup after the tokens that have been processed.
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

    /// Finds the range of the markup that `text` comes from. `text` is the next piece of visible text. The flag is true
    /// if the bytes of both are the same, and false for a character reference.
    fn source(&self, text: &[u8]) -> (Range<usize>, bool) {
        let end = self.position.min(self.markup.len());
        let mut start = self.next;
        // The LF of a CRLF belongs to no token, so it is skipped.
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
        // The tokenizer drops tags without a name, such as `</>`, so `text` may follow one of them.
        if !is_reference && read.ends_with(text) {
            return (end - text.len()..end, true);
        }
        // Otherwise `text` replaces a character reference: besides references, the tokenizer replaces only line ends
        // and NUL.
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
