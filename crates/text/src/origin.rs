//! Maps positions in a canonical text to positions in the original text.
//!
//! The original text is divided into atoms: the shortest pieces that can be normalised independently of each other.
//! Most atoms are one character. A base letter with its combining marks is one atom, and so are the jamo of a Hangul
//! syllable. Invisible characters belong to the atom before them. The normal form of an atom may have several
//! characters (`ﬁ`, `½`), one (`e` and a combining accent), or none (a soft hyphen at the start of a text).
//!
//! Invariant: if the original text is cut between two atoms, the canonical text of each piece is the corresponding part
//! of the canonical text of the whole.

use crate::chars::{Class, Classes, is_invisible, is_starter, is_word, normal_form};

/// A position between two atoms, in the canonical text and in the original text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Position in the canonical text, in characters.
    pub canonical: usize,
    /// Position in the original text, in bytes.
    pub byte: usize,
}

/// The result of [`origins`]: one entry for each requested position, in the same order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    /// The requested starts; `None` if no word begins at or after the position.
    pub starts: Vec<Option<Origin>>,
    /// The requested ends; `None` if no word ends at or before the position.
    pub ends: Vec<Option<Origin>>,
}

/// Maps ranges of `canonical(text)` to ranges of `text`. `starts` and `ends` are the starts and the ends of the ranges,
/// in characters of the canonical text; each list is ascending.
///
/// If an atom gives several characters, a start within these is moved to the next atom, and an end to the end of the
/// atom before. A range is thus never larger than requested; [`Origin::canonical`] is the position after the move. A
/// range does not include invisible characters after its last visible one. Linear in the text, the starts and the ends.
///
/// ```
/// let text = "The “ﬁne” print";
/// let found = twinprint_text::origin::origins(text, &[4], &[8]);
/// let (start, end) = (found.starts[0].ok_or("no start")?, found.ends[0].ok_or("no end")?);
/// assert_eq!(&text[start.byte..end.byte], "ﬁne");
/// # Ok::<(), &str>(())
/// ```
pub fn origins(text: &str, starts: &[usize], ends: &[usize]) -> Origins {
    let mut found = Origins::default();
    let mut starts = starts.iter().peekable();
    let mut ends = ends.iter().peekable();
    let mut counter = CanonicalCounter::default();
    let mut last_end = None;
    for atom in Atoms::new(text) {
        let Some((first, last)) = counter.count(atom.visible()) else {
            continue;
        };
        let start = Origin {
            canonical: first,
            byte: atom.start,
        };
        while starts.next_if(|&&wanted| wanted <= first).is_some() {
            found.starts.push(Some(start));
        }
        while ends.next_if(|&&wanted| wanted <= last).is_some() {
            found.ends.push(last_end);
        }
        last_end = Some(Origin {
            canonical: last + 1,
            byte: atom.start + atom.visible_length(),
        });
    }
    found.starts.extend(starts.map(|_| None));
    found.ends.extend(ends.map(|_| last_end));
    found
}

/// Counts the characters that the canonical text has so far, from the characters of the original text.
#[derive(Default)]
struct CanonicalCounter {
    /// Number of characters of the canonical text so far, without a space at its end.
    count: usize,
    /// True if characters that separate words have been read after the last word.
    gap: bool,
}

impl CanonicalCounter {
    /// Counts the characters of the next atom. Returns the positions, in the canonical text, of its first and last
    /// character that are part of words; `None` if it has no such character.
    fn count(&mut self, visible: impl Iterator<Item = char> + Clone) -> Option<(usize, usize)> {
        let mut bounds = None;
        let mut count = |c: char| {
            if !is_word(c) {
                self.gap = true;
                return;
            }
            if self.gap && self.count > 0 {
                self.count += 1;
            }
            self.gap = false;
            let position = self.count;
            self.count += 1;
            bounds = Some((bounds.map_or(position, |(first, _)| first), position));
        };
        match single(visible.clone()) {
            Some(c) if c.is_ascii() => count(c),
            _ => normal_form(visible).for_each(count),
        }
        bounds
    }
}

fn single(mut chars: impl Iterator<Item = char>) -> Option<char> {
    let first = chars.next()?;
    chars.next().is_none().then_some(first)
}

/// An atom: one of the shortest pieces of a text that can be normalised independently.
#[derive(Clone, Copy)]
struct Atom<'t> {
    /// Byte offset of the atom in the text.
    start: usize,
    text: &'t str,
}

impl<'t> Atom<'t> {
    fn visible(self) -> impl Iterator<Item = char> + Clone + use<'t> {
        self.text.chars().filter(|&c| !is_invisible(c))
    }

    /// The number of bytes up to the end of the last visible character of the atom.
    fn visible_length(self) -> usize {
        self.text.trim_end_matches(is_invisible).len()
    }
}

/// The atoms of a text, in order.
struct Atoms<'t> {
    position: usize,
    rest: &'t str,
    classes: Classes,
}

impl<'t> Atoms<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            position: 0,
            rest: text,
            classes: Classes::get(),
        }
    }

    /// Returns `true` if a new atom begins with `c`. `piece` is the part of the current atom before `c`.
    fn separates(&self, piece: &str, c: char) -> bool {
        if c.is_ascii() {
            return true;
        }
        match self.classes.of(c) {
            Class::Stripped => false,
            Class::Joiner => is_starter(c) && !joins(piece, c),
            Class::Word | Class::Gap | Class::MappedGap | Class::Mapped => true,
        }
    }
}

impl<'t> Iterator for Atoms<'t> {
    type Item = Atom<'t>;

    fn next(&mut self) -> Option<Atom<'t>> {
        let text = self.rest;
        if text.is_empty() {
            return None;
        }
        let mut following = text.char_indices().skip(1);
        let end = following.find(|&(end, c)| self.separates(text.split_at(end).0, c));
        let (text, rest) = text.split_at(end.map_or(text.len(), |(end, _)| end));
        let start = self.position;
        self.position += text.len();
        self.rest = rest;
        Some(Atom { start, text })
    }
}

/// Returns `true` if `piece` and `c` must be normalised together: their joint normal form differs from the two separate
/// normal forms joined.
fn joins(piece: &str, c: char) -> bool {
    let visible = || piece.chars().filter(|&c| !is_invisible(c));
    let together = normal_form(visible().chain(std::iter::once(c)));
    let apart = normal_form(visible()).chain(normal_form(std::iter::once(c)));
    !together.eq(apart)
}

#[cfg(test)]
mod tests;
