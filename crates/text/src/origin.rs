//! Where a stretch of a canonical text stands in the text that it was made from.
//!
//! The text is divided into atoms: shortest pieces such that the canonical text is made of each piece by itself. Most atoms are one
//! character. A base letter and its combining marks are one atom, and so are the jamo of a Hangul syllable; invisible characters belong to
//! the atom before them. One atom may give several characters (`ﬁ`, `½`), one (`e` and a combining accent), or none (a soft hyphen at the
//! start of a text).
//!
//! Invariant: cutting the text between two atoms and taking the canonical form of the piece gives the same stretch of the canonical text.

use crate::chars::{Class, Classes, is_invisible, is_starter, is_word, normal_form};

/// A boundary of a stretch, in the canonical text and in the text that it was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Characters of the canonical text before the boundary.
    pub canonical: usize,
    /// Bytes of the original text before the boundary.
    pub byte: usize,
}

/// The boundaries of several stretches, in the order in which they were asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    /// The starts; `None` where no word begins at the position or after it.
    pub starts: Vec<Option<Origin>>,
    /// The ends; `None` where no word ends at the position or before it.
    pub ends: Vec<Option<Origin>>,
}

/// Finds boundaries of stretches of `canonical(text)` in `text`. `starts` and `ends` are positions in characters of the canonical text,
/// each list ascending.
///
/// A position within what one atom gives is moved to the next atom (a start) or to the one before (an end), so that a stretch never holds
/// more than was asked for; [`Origin::canonical`] is the position after the move. Invisible characters after the last atom of a stretch
/// are left out. Linear in the text, the starts and the ends.
///
/// ```
/// let text = "The “ﬁne” print";
/// let found = twinprint_text::origin::origins(text, &[4], &[8]);
/// let (start, end) = (found.starts[0].unwrap(), found.ends[0].unwrap());
/// assert_eq!(&text[start.byte..end.byte], "ﬁne");
/// ```
pub fn origins(text: &str, starts: &[usize], ends: &[usize]) -> Origins {
    let mut found = Origins::default();
    let mut starts = starts.iter().peekable();
    let mut ends = ends.iter().peekable();
    let mut words = Words::default();
    let mut last_end = None;
    for atom in Atoms::new(text) {
        let Some((first, last)) = words.take(atom.visible()) else {
            continue;
        };
        let start = Origin {
            canonical: first,
            byte: atom.at,
        };
        while starts.next_if(|&&wanted| wanted <= first).is_some() {
            found.starts.push(Some(start));
        }
        while ends.next_if(|&&wanted| wanted <= last).is_some() {
            found.ends.push(last_end);
        }
        last_end = Some(Origin {
            canonical: last + 1,
            byte: atom.at + atom.visible_length(),
        });
    }
    found.starts.extend(starts.map(|_| None));
    found.ends.extend(ends.map(|_| last_end));
    found
}

/// Counts the characters of the canonical text.
#[derive(Default)]
struct Words {
    /// Characters so far, without a space at the end.
    count: usize,
    /// Something that is no word follows them.
    gap: bool,
}

impl Words {
    /// Takes the characters of an atom; the positions of the first and the last that belong to words.
    fn take(&mut self, visible: impl Iterator<Item = char> + Clone) -> Option<(usize, usize)> {
        let mut ends = None;
        let mut take = |c: char| {
            if !is_word(c) {
                self.gap = true;
                return;
            }
            if self.gap && self.count > 0 {
                self.count += 1;
            }
            self.gap = false;
            let at = self.count;
            self.count += 1;
            ends = Some((ends.map_or(at, |(first, _)| first), at));
        };
        match single(visible.clone()) {
            Some(c) if c.is_ascii() => take(c),
            _ => normal_form(visible).for_each(take),
        }
        ends
    }
}

fn single(mut chars: impl Iterator<Item = char>) -> Option<char> {
    let first = chars.next()?;
    chars.next().is_none().then_some(first)
}

/// A piece of a text; see the module's documentation.
#[derive(Clone, Copy)]
struct Atom<'t> {
    /// Where it begins, in bytes.
    at: usize,
    text: &'t str,
}

impl<'t> Atom<'t> {
    fn visible(self) -> impl Iterator<Item = char> + Clone + use<'t> {
        self.text.chars().filter(|&c| !is_invisible(c))
    }

    /// Its bytes up to the last visible character.
    fn visible_length(self) -> usize {
        self.text.trim_end_matches(is_invisible).len()
    }
}

/// The atoms of a text, in order.
struct Atoms<'t> {
    at: usize,
    rest: &'t str,
    classes: Classes,
}

impl<'t> Atoms<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            at: 0,
            rest: text,
            classes: Classes::get(),
        }
    }

    /// Whether a new atom begins with `c`, which follows `piece`.
    fn parts(&self, piece: &str, c: char) -> bool {
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
        let end = following.find(|&(here, c)| self.parts(text.split_at(here).0, c));
        let (text, rest) = text.split_at(end.map_or(text.len(), |(here, _)| here));
        let at = self.at;
        self.at += text.len();
        self.rest = rest;
        Some(Atom { at, text })
    }
}

/// Whether normalisation makes something else of the two together than of each by itself.
fn joins(piece: &str, c: char) -> bool {
    let visible = || piece.chars().filter(|&c| !is_invisible(c));
    let together = normal_form(visible().chain(std::iter::once(c)));
    let apart = normal_form(visible()).chain(normal_form(std::iter::once(c)));
    !together.eq(apart)
}

#[cfg(test)]
mod tests;
