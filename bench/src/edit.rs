//! Seeded edits of a text: units are substituted, deleted and inserted, sentences are moved, and stretches of sentences
//! are cut and added.
//!
//! Inserted text comes from other documents of the same language, so an edited text has real words at their real
//! frequencies.

use std::ops::Range;

use fastrand::Rng;

use crate::documents::{Document, is_ideograph};

/// The amount of editing of one document.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Strength {
    /// The share of units that are edited, below 1.
    pub rate: f64,
    /// Number of sentences that are moved to another position in the text.
    pub moved: usize,
    /// Number of stretches of one to four sentences that are cut.
    pub cut: usize,
    /// Number of stretches of one to four sentences of another document that are added.
    pub added: usize,
}

/// A byte range of a document, used as a piece of an edited text.
#[derive(Clone, Debug)]
pub struct Piece<'d> {
    /// The document that the piece comes from.
    pub document: &'d Document,
    /// The byte range of the piece in its document.
    pub range: Range<u32>,
}

impl<'d> Piece<'d> {
    /// Returns the pieces of a whole document, one for each sentence.
    pub fn all(document: &'d Document) -> Vec<Self> {
        let piece = |range: &Range<u32>| Self {
            document,
            range: range.clone(),
        };
        document.sentences.iter().map(piece).collect()
    }

    fn run(document: &'d Document, rng: &mut Rng) -> Vec<Self> {
        let count = document.sentences.len();
        let start = rng.usize(..count);
        let end = count.min(start + rng.usize(1..=4));
        Self::all(document).drain(start..end).collect()
    }
}

/// Returns an edited copy of `pieces`. Inserted text comes from `pool`, which must contain at least one document, and
/// only documents with units.
pub fn edit<'d>(
    mut pieces: Vec<Piece<'d>>,
    pool: &[&'d Document],
    strength: Strength,
    rng: &mut Rng,
) -> String {
    for _ in 0..strength.cut {
        // A cut never removes the last remaining piece.
        if pieces.len() > 1 {
            let start = rng.usize(..pieces.len());
            let end = pieces.len().min(start + rng.usize(1..=4));
            if end - start < pieces.len() {
                pieces.drain(start..end);
            }
        }
    }
    for _ in 0..strength.added {
        let run = Piece::run(pool[rng.usize(..pool.len())], rng);
        let at = rng.usize(..=pieces.len());
        pieces.splice(at..at, run);
    }
    for _ in 0..strength.moved {
        if !pieces.is_empty() {
            let piece = pieces.remove(rng.usize(..pieces.len()));
            pieces.insert(rng.usize(..=pieces.len()), piece);
        }
    }
    let mut editor = Editor {
        gaps: Gaps::new(strength.rate),
        pool,
        out: String::with_capacity(pieces.iter().map(|p| p.range.len() + 16).sum()),
        left: 0,
    };
    editor.left = editor.gaps.next(rng);
    for piece in &pieces {
        // A line end separates pieces that were not adjacent, so that their words are not joined.
        if editor.out.ends_with(char::is_alphanumeric) {
            editor.out.push('\n');
        }
        editor.piece(piece, rng);
    }
    editor.out
}

/// Draws the random number of units between two edits, if each unit is edited with the same probability.
struct Gaps {
    log_kept: f64,
}

impl Gaps {
    fn new(rate: f64) -> Self {
        Self {
            log_kept: (1.0 - rate.clamp(0.0, 0.99)).ln(),
        }
    }

    fn next(&self, rng: &mut Rng) -> usize {
        if self.log_kept >= 0.0 {
            usize::MAX
        } else {
            ((1.0 - rng.f64()).ln() / self.log_kept) as usize
        }
    }
}

struct Editor<'p> {
    gaps: Gaps,
    pool: &'p [&'p Document],
    out: String,
    /// Number of units to skip before the next edit.
    left: usize,
}

impl Editor<'_> {
    fn piece(&mut self, piece: &Piece<'_>, rng: &mut Rng) {
        let text = piece.document.text.as_str();
        let units = piece.document.units_within(&piece.range);
        let (mut copied, mut next) = (piece.range.start, 0);
        while let Some(unit) = units.get(self.left.saturating_add(next)) {
            next += self.left + 1;
            self.left = self.gaps.next(rng);
            self.out.push_str(&text[copied as usize..unit.start as usize]);
            copied = unit.end;
            let old = piece.document.slice(unit);
            match rng.u8(..4) {
                // The unit is substituted.
                0 | 1 => self.push_unit(rng),
                // The unit is deleted, together with a space next to it.
                2 => {
                    if text[copied as usize..].starts_with(' ') && copied < piece.range.end {
                        copied += 1;
                    }
                }
                // A unit is inserted after this one.
                _ => {
                    self.out.push_str(old);
                    if !old.starts_with(is_ideograph) {
                        self.out.push(' ');
                    }
                    self.push_unit(rng);
                }
            }
        }
        self.left -= units.len() - next;
        self.out
            .push_str(&text[copied as usize..piece.range.end as usize]);
    }

    fn push_unit(&mut self, rng: &mut Rng) {
        let document = self.pool[rng.usize(..self.pool.len())];
        let unit = &document.units[rng.usize(..document.units.len())];
        self.out.push_str(document.slice(unit));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::Language;

    fn document(text: &str) -> Document {
        Document::new("d".into(), Language::English, text.into())
    }

    #[test]
    fn edits_of_strength_zero_copy_the_text() {
        let source = document("One two. Three four. 五六。七");
        let copy = edit(
            Piece::all(&source),
            &[&source],
            Strength::default(),
            &mut Rng::with_seed(1),
        );
        assert_eq!(copy, source.text);
    }

    #[test]
    fn the_rate_is_the_share_of_edited_units() {
        let source = document(&"a b c d e f g h. ".repeat(2000));
        let other = document("X");
        let rate = 0.1;
        let strength = Strength {
            rate,
            ..Strength::default()
        };
        let text = edit(Piece::all(&source), &[&other], strength, &mut Rng::with_seed(1));
        // Three of four edits insert a unit.
        let share = text.matches('X').count() as f64 / 16_000.0;
        assert!((share - 0.75 * rate).abs() < 0.01, "{share}");
    }

    #[test]
    fn cutting_adding_and_moving_keep_sentences_intact() {
        let source = document("A a. B b. C c. D d. E e. F f. ");
        let other = document("X x. Y y. ");
        let strength = |moved, cut, added| Strength {
            rate: 0.0,
            moved,
            cut,
            added,
        };
        for seed in 0..50 {
            let run = |s| edit(Piece::all(&source), &[&other], s, &mut Rng::with_seed(seed));
            assert!(run(strength(0, 1, 0)).len() < source.text.len());
            assert!(run(strength(0, 0, 1)).len() > source.text.len());
            let moved = run(strength(1, 0, 0));
            let mut sentences: Vec<&str> = moved.split_inclusive(". ").collect();
            sentences.sort_unstable();
            assert_eq!(sentences.concat(), source.text);
            assert!(!run(strength(0, 9, 0)).is_empty());
        }
    }
}
