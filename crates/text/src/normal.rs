//! Normalisation: invisible characters are removed, then come NFKC, lower case and NFC.
//!
//! The result is exactly that of applying the four steps to the whole text. For speed, runs of ASCII and of characters
//! that normalisation does not change are copied, characters that normalisation only replaces go through a table, and
//! only those ranges in which characters affect each other are normalised by `unicode-normalization`.
//!
//! Invisible characters are removed first. Otherwise a zero-width space between a letter and its accent would keep them
//! apart in the first normalisation, and a second normalisation would compose them: the result would not be stable.

use crate::chars::{Class, Classes, ascii_prefix, is_invisible, is_word, normal_form};

/// Receives a text piece by piece, in order.
pub(crate) trait Sink {
    /// Receives a run of ASCII of the original text, not yet in lower case.
    fn ascii(&mut self, run: &str);
    /// Receives a run of normalised characters that are all part of words.
    fn word(&mut self, run: &str);
    /// Receives a run of normalised characters that all separate words.
    fn gap(&mut self, run: &str);
    /// Receives one normalised character, which is part of a word or separates words.
    fn any(&mut self, c: char) {
        let mut bytes = [0; 4];
        let piece = c.encode_utf8(&mut bytes);
        if is_word(c) {
            self.word(piece);
        } else {
            self.gap(piece);
        }
    }
    /// Receives one original character whose normal form has only characters that separate words.
    fn mapped_gap(&mut self, c: char) {
        normal_form(std::iter::once(c)).for_each(|c| self.any(c));
    }
}

/// Passes the normal form of `text` to `sink`, piece by piece. Linear in the text.
pub(crate) fn walk(text: &str, sink: &mut impl Sink) {
    let classes = Classes::get();
    let mut rest = text;
    while !rest.is_empty() {
        rest = step(rest, classes, sink);
    }
}

/// Passes the normal form of the first piece of `text` to `sink`. Returns the text after the piece.
pub(crate) fn step<'t>(text: &'t str, classes: Classes, sink: &mut impl Sink) -> &'t str {
    let length = match ascii_prefix(text.as_bytes()) {
        0 => return beyond_ascii(text, classes, sink),
        length => length,
    };
    let (run, after) = text.split_at(length);
    match after.chars().next() {
        // The character after the run may act on the last character of the run, so that one is not part of the run.
        Some(c) if acts_backward(classes.of(c)) => {
            let (run, _) = run.split_at(length - 1);
            sink.ascii(run);
            joined(text.split_at(length - 1).1, classes, sink)
        }
        _ => {
            sink.ascii(run);
            after
        }
    }
}

/// Returns `true` if a character of this class must be normalised together with the one before it. This includes
/// invisible characters, because the character after an invisible one may act on the one before it.
fn acts_backward(class: Class) -> bool {
    matches!(class, Class::Joiner | Class::Stripped)
}

/// Passes on the first run of characters that all have one class. `text` starts with a character that is not ASCII.
/// Returns the text after the run.
fn beyond_ascii<'t>(text: &'t str, classes: Classes, sink: &mut impl Sink) -> &'t str {
    let mut chars = text.char_indices();
    let Some((_, first)) = chars.next() else {
        return "";
    };
    let class = classes.of(first);
    if acts_backward(class) {
        return joined(text, classes, sink);
    }
    let single = matches!(class, Class::Mapped | Class::MappedGap);
    let mut last = 0;
    let mut end = text.len();
    for (position, c) in chars {
        let next = if c.is_ascii() { Class::Gap } else { classes.of(c) };
        if acts_backward(next) {
            pass(text.split_at(last).0, class, sink);
            return joined(text.split_at(last).1, classes, sink);
        }
        if single || next != class || c.is_ascii() {
            end = position;
            break;
        }
        last = position;
    }
    let (run, after) = text.split_at(end);
    pass(run, class, sink);
    after
}

/// Passes on a run of simple characters that all have the class `class`.
fn pass(run: &str, class: Class, sink: &mut impl Sink) {
    match class {
        Class::Word => sink.word(run),
        Class::Gap => sink.gap(run),
        Class::MappedGap => run.chars().for_each(|c| sink.mapped_gap(c)),
        // The code of a full-width form of an ASCII character differs from the ASCII code by a constant. Full-width
        // forms are frequent in Chinese texts, so they do not go through the general case.
        Class::Mapped => run
            .chars()
            .for_each(|c| match u8::try_from(u32::from(c).wrapping_sub(0xFEE0)) {
                Ok(ascii) if ascii.is_ascii_graphic() => sink.any(ascii.to_ascii_lowercase().into()),
                _ => normal_form(std::iter::once(c)).for_each(|c| sink.any(c)),
            }),
        Class::Joiner | Class::Stripped => normal_form(run.chars()).for_each(|c| sink.any(c)),
    }
}

/// Normalises the first character together with the characters after it that act on it. Returns the text after these.
fn joined<'t>(text: &'t str, classes: Classes, sink: &mut impl Sink) -> &'t str {
    let end = text
        .char_indices()
        .skip(1)
        .find(|&(_, c)| !acts_backward(classes.of(c)))
        .map_or(text.len(), |(position, _)| position);
    let (piece, after) = text.split_at(end);
    normal_form(piece.chars().filter(|&c| !is_invisible(c))).for_each(|c| sink.any(c));
    after
}

/// Returns the normalised text: without invisible characters, in NFKC, lower case and NFC. Normalising twice changes
/// nothing. Linear in the text.
///
/// ```
/// assert_eq!(twinprint_text::normalise("Ｔｅａ for ②!"), "tea for 2!");
/// ```
pub fn normalise(text: &str) -> String {
    struct Whole(String);
    impl Sink for Whole {
        fn ascii(&mut self, run: &str) {
            let start = self.0.len();
            self.0.push_str(run);
            if let Some(added) = self.0.get_mut(start..) {
                added.make_ascii_lowercase();
            }
        }
        fn word(&mut self, run: &str) {
            self.0.push_str(run);
        }
        fn gap(&mut self, run: &str) {
            self.0.push_str(run);
        }
    }
    let mut whole = Whole(String::with_capacity(text.len()));
    walk(text, &mut whole);
    whole.0
}

#[cfg(test)]
mod tests;
