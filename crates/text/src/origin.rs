//! Positions in an original text of the parts of its canonical text.
//!
//! The text is divided into atoms: the shortest pieces that are normalised independently of each other. Most atoms are one
//! character. A base letter and its combining marks are one atom, and so are the jamo of a Hangul syllable; invisible characters belong to
//! the atom before them. One atom may give several characters (`ﬁ`, `½`), one (`e` and a combining accent), or none (a soft hyphen at the
//! start of a text).
//!
//! Invariant: the canonical form of a piece between two boundaries of atoms is the same as the corresponding part of the canonical text.

use crate::chars::{Class, Classes, is_invisible, is_starter, is_word, normal_form};

/// A boundary, in the canonical text and in the original text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Characters of the canonical text before the boundary.
    pub canonical: usize,
    /// Bytes of the original text before the boundary.
    pub byte: usize,
}

/// The boundaries that [`origins`] found, in the order of the requested positions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    /// The starts; `None` if no word begins at the position or after it.
    pub starts: Vec<Option<Origin>>,
    /// The ends; `None` if no word ends at the position or before it.
    pub ends: Vec<Option<Origin>>,
}

/// Finds the boundaries of parts of `canonical(text)` in `text`. `starts` and `ends` are positions in characters of the canonical text,
/// each list ascending.
///
/// A start inside the characters of one atom is moved to the next atom, and an end to the atom before, so that a part never has more than
/// was asked for. [`Origin::canonical`] is the position after the move. Invisible characters after the last atom of a part are left out. Linear in the text, the starts and the ends.
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

/// Counts the characters of the canonical text.
#[derive(Default)]
struct CanonicalCounter {
    /// Number of characters so far, without a space at the end.
    count: usize,
    /// True if characters that belong to no word follow them.
    gap: bool,
}

impl CanonicalCounter {
    /// Counts the characters of an atom. Returns the positions of the first and the last one that belong to words.
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

/// An atom of a text; see the module's documentation.
#[derive(Clone, Copy)]
struct Atom<'t> {
    /// The byte at which it begins.
    start: usize,
    text: &'t str,
}

impl<'t> Atom<'t> {
    fn visible(self) -> impl Iterator<Item = char> + Clone + use<'t> {
        self.text.chars().filter(|&c| !is_invisible(c))
    }

    /// The number of bytes up to the end of the last visible character.
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

    /// Returns `true` if a new atom begins with `c`, which follows `piece`.
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

/// Returns `true` if the normal form of the two together differs from that of each by itself.
fn joins(piece: &str, c: char) -> bool {
    let visible = || piece.chars().filter(|&c| !is_invisible(c));
    let together = normal_form(visible().chain(std::iter::once(c)));
    let apart = normal_form(visible()).chain(normal_form(std::iter::once(c)));
    !together.eq(apart)
}

#[cfg(test)]
mod tests;
