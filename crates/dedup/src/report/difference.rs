//! The differences between two texts, side by side, with a little of the text around them.
//!
//! Time is linear in the common beginning of two texts, and bounded after that unless a word is very long. The
//! comparison begins shortly before the first difference and covers a few thousand words (or characters, if the pair is
//! measured by characters). An excerpt shows the first places that differ, and marks gaps.

use std::convert::Infallible;
use std::sync::LazyLock;

use similar::DiffOp;
use similar::algorithms::{Capture, Compact, Replace, myers};
use twinprint_text::Measure;

/// The largest number of words or characters that are compared of each text.
const MAX_TOKENS: usize = 3000;
/// The bytes of equal text that are compared before the first difference.
const LEAD_BYTES: usize = 300;
/// The largest number of bytes of equal text that are shown before and after a difference.
const CONTEXT_BYTES: usize = 60;
/// The largest number of bytes that are shown of one difference.
const MAX_DIFFERENCE_BYTES: usize = 300;
/// The largest number of differences that are shown of a pair.
const MAX_PLACES: usize = 6;
/// The largest number of bytes of two texts that are kept to be compared later.
const MAX_KEPT_BYTES: usize = 128 << 10;

/// The kind of a piece of an excerpt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PieceKind {
    /// Text that both texts have.
    Same,
    /// Text that only the text of this excerpt has.
    Own,
    /// A gap in place of text that is not shown.
    Gap,
}

/// A piece of an excerpt of one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ExcerptPiece {
    pub(super) kind: PieceKind,
    pub(super) text: String,
}

/// The differences between two texts, as an excerpt of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TextDifference {
    pub(super) a: Vec<ExcerptPiece>,
    pub(super) b: Vec<ExcerptPiece>,
    /// The number of places at which the compared parts of the texts differ.
    pub(super) places: usize,
    /// The number of places that the excerpts show.
    pub(super) shown: usize,
    /// True if a text continues beyond the part that was compared.
    pub(super) cut: bool,
}

/// The differences between two texts, which are compared at the first use. Until then the compared parts of the texts are kept.
pub(super) type LazyDifference = LazyLock<TextDifference, Box<dyn FnOnce() -> TextDifference + Send>>;

/// The parts of two texts that are compared.
struct ComparedParts {
    a: String,
    b: String,
    measure: Measure,
    /// True if the texts begin with text that is not compared.
    begins_later: bool,
    /// True if a text continues beyond its part.
    cut: bool,
}

impl ComparedParts {
    /// The parts of two canonical texts. Time is linear in their common beginning and bounded after that, unless a word is very
    /// long.
    fn of(a: &str, b: &str, measure: Measure) -> Self {
        let start = start(a, b);
        let (rest_a, rest_b) = (a.get(start..).unwrap_or(a), b.get(start..).unwrap_or(b));
        let part = |rest: &str| tokens(rest, measure).concat();
        let (a, b) = (part(rest_a), part(rest_b));
        Self {
            measure,
            begins_later: start > 0,
            cut: a.len() < rest_a.len() || b.len() < rest_b.len(),
            a,
            b,
        }
    }
}

impl TextDifference {
    /// Compares two canonical texts when the result is first used, because many callers never make a page. Long parts are
    /// compared at once, so that they are not kept.
    pub(super) fn later(a: &str, b: &str, measure: Measure) -> LazyDifference {
        let parts = ComparedParts::of(a, b, measure);
        let is_long = parts.a.len() + parts.b.len() > MAX_KEPT_BYTES;
        let difference: LazyDifference = LazyLock::new(Box::new(move || Self::of(&parts)));
        if is_long {
            LazyLock::force(&difference);
        }
        difference
    }

    /// Compares the parts of two texts.
    fn of(parts: &ComparedParts) -> Self {
        let (tokens_a, tokens_b) = (tokens(&parts.a, parts.measure), tokens(&parts.b, parts.measure));
        let cut = parts.cut;
        let mut ops = operations(&tokens_a, &tokens_b);
        if cut && ops.last().is_some_and(|op| !matches!(op, DiffOp::Equal { .. })) && ops.len() > 1 {
            // A difference at the end of the compared part may be equal text that continues beyond it.
            ops.pop();
        }
        let mut sides = Self {
            cut,
            ..Self::default()
        };
        if parts.begins_later {
            sides.gap();
        }
        let last = ops.len().saturating_sub(1);
        for (i, op) in ops.iter().enumerate() {
            let (a, b) = (
                concat(&tokens_a, op.old_range()),
                concat(&tokens_b, op.new_range()),
            );
            if matches!(op, DiffOp::Equal { .. }) {
                // The beginning and the end of an excerpt show as much context as its middle.
                sides.same(&a, i > 0, i < last);
                continue;
            }
            sides.places += 1;
            if sides.shown < MAX_PLACES {
                sides.shown += 1;
                own(&mut sides.a, &a);
                own(&mut sides.b, &b);
            }
        }
        if cut {
            sides.gap();
        }
        sides
    }

    /// Marks a gap in both excerpts.
    fn gap(&mut self) {
        for side in [&mut self.a, &mut self.b] {
            if side.last().is_none_or(|piece| piece.kind != PieceKind::Gap) {
                side.push(ExcerptPiece {
                    kind: PieceKind::Gap,
                    text: String::new(),
                });
            }
        }
    }

    /// Adds text that both texts have. `after` is true if the text follows a difference, `before` if a difference
    /// follows the text.
    fn same(&mut self, text: &str, after: bool, before: bool) {
        if self.shown == MAX_PLACES && !(after && self.shown == self.places) {
            return;
        }
        let before = before && self.shown < MAX_PLACES;
        let (head, tail) = (head(text, CONTEXT_BYTES), tail(text, CONTEXT_BYTES));
        let mut push = |text: &str| {
            for side in [&mut self.a, &mut self.b] {
                piece(side, PieceKind::Same, text);
            }
        };
        match (after, before) {
            (true, true) if head.len() + tail.len() >= text.len() => push(text),
            (true, true) => {
                push(head);
                self.gap();
                self.same(tail, false, true);
            }
            (true, false) => {
                push(head);
                if head.len() < text.len() {
                    self.gap();
                }
            }
            (false, _) => {
                if tail.len() < text.len() {
                    self.gap();
                    self.same(tail, false, true);
                } else {
                    push(tail);
                }
            }
        }
    }
}

/// The operations that turn `a` into `b`, by Myers' algorithm. The algorithm is called directly, because the general
/// function of the library, which chooses an algorithm at run time, would add all algorithms to the binary.
fn operations(a: &[&str], b: &[&str]) -> Vec<DiffOp> {
    let mut operations = Compact::new(Replace::new(Capture::new()), a, b);
    let Ok(()): Result<(), Infallible> = myers::diff(&mut operations, a, 0..a.len(), b, 0..b.len());
    operations.into_inner().into_inner().into_ops()
}

fn piece(side: &mut Vec<ExcerptPiece>, kind: PieceKind, text: &str) {
    if !text.is_empty() {
        side.push(ExcerptPiece {
            kind,
            text: text.to_owned(),
        });
    }
}

/// Adds text that only one side has. A long text is shortened in the middle.
fn own(side: &mut Vec<ExcerptPiece>, text: &str) {
    let (first, last) = (
        head(text, MAX_DIFFERENCE_BYTES / 2),
        tail(text, MAX_DIFFERENCE_BYTES / 2),
    );
    if first.len() + last.len() >= text.len() {
        piece(side, PieceKind::Own, text);
        return;
    }
    piece(side, PieceKind::Own, first);
    side.push(ExcerptPiece {
        kind: PieceKind::Gap,
        text: String::new(),
    });
    piece(side, PieceKind::Own, last);
}

fn concat(tokens: &[&str], range: std::ops::Range<usize>) -> String {
    tokens.get(range).unwrap_or_default().concat()
}

/// The position at which the comparison of two texts begins: the start of a word shortly before the first byte that
/// differs.
fn start(a: &str, b: &str) -> usize {
    let equal = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    if equal <= LEAD_BYTES {
        return 0;
    }
    // Up to the first difference the bytes of both texts are equal, so the word begins at this position in both.
    let near = a.floor_char_boundary(equal - LEAD_BYTES);
    let space = a.get(near..equal).and_then(|tail| tail.find(' '));
    space.map_or(near, |space| near + space + 1)
}

/// The first `bytes` bytes of a text, or a little less, so that the excerpt ends with a whole word.
fn head(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let end = text.floor_char_boundary(bytes);
    let head = text.get(..end).unwrap_or_default();
    head.rfind(' ')
        .map_or(head, |space| head.get(..=space).unwrap_or(head))
}

/// The last `bytes` bytes of a text, or a little less, so that the excerpt begins with a whole word.
fn tail(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let start = text.ceil_char_boundary(text.len() - bytes);
    let tail = text.get(start..).unwrap_or_default();
    tail.find(' ').map_or(tail, |space| {
        tail.get(space + 1..)
            .filter(|rest| !rest.is_empty())
            .unwrap_or(tail)
    })
}

/// Splits a text into words, each with the space after it. If texts are measured by characters, every letter of a
/// script without spaces is a token of its own.
fn tokens(text: &str, measure: Measure) -> Vec<&str> {
    let alone = |c: char| measure == Measure::CharGrams && c >= '\u{E00}';
    let mut tokens = Vec::new();
    let mut rest = text;
    while !rest.is_empty() && tokens.len() < MAX_TOKENS {
        let mut chars = rest.char_indices();
        let alone_first = chars.next().is_some_and(|(_, c)| alone(c));
        let mut spaced = false;
        let end = chars.find(|&(_, c)| {
            let ends = spaced || alone_first && c != ' ' || alone(c);
            spaced = c == ' ';
            ends
        });
        let (token, after) = rest.split_at(end.map_or(rest.len(), |(at, _)| at));
        tokens.push(token);
        rest = after;
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(side: &[ExcerptPiece]) -> String {
        let piece = |piece: &ExcerptPiece| match piece.kind {
            PieceKind::Same => piece.text.clone(),
            PieceKind::Own => format!("[{}]", piece.text),
            PieceKind::Gap => "…".to_owned(),
        };
        side.iter().map(piece).collect()
    }

    fn difference(a: &str, b: &str, measure: Measure) -> TextDifference {
        TextDifference::later(a, b, measure).clone()
    }

    #[test]
    fn words_and_characters_that_differ_are_marked() {
        let sides = difference("the old tram line", "the new tram line", Measure::WordGrams);
        assert_eq!(
            (shown(&sides.a).as_str(), shown(&sides.b).as_str()),
            ("the [old ]tram line", "the [new ]tram line")
        );
        let sides = difference("有轨电车线路 2024", "有轨汽车线路 2024", Measure::CharGrams);
        assert_eq!(
            (shown(&sides.a).as_str(), shown(&sides.b).as_str()),
            ("有轨[电]车线路 2024", "有轨[汽]车线路 2024")
        );
        assert_eq!((sides.places, sides.shown, sides.cut), (1, 1, false));
    }

    #[test]
    fn long_texts_are_shown_in_excerpts() {
        let words: Vec<String> = (0..40_000).map(|i| format!("w{i}")).collect();
        let a = words.join(" ");
        let mut changed = words.clone();
        for i in (20_000..22_000).step_by(100) {
            changed[i] = format!("changed{i}");
        }
        let sides = difference(&a, &changed.join(" "), Measure::WordGrams);
        assert!(sides.cut);
        assert_eq!((sides.places, sides.shown), (20, MAX_PLACES));
        let (a, b) = (shown(&sides.a), shown(&sides.b));
        assert!(a.starts_with('…') && a.ends_with('…') && a.len() < 2500, "{a}");
        assert!(
            a.contains("w19999 [w20000 ]w20001 ") && b.contains("w19999 [changed20000 ]w20001 "),
            "{a}\n{b}"
        );
        assert!(!a.contains("……"), "{a}");
    }

    #[test]
    fn text_that_moves_beyond_the_cut_is_not_a_difference() {
        let words: Vec<String> = (0..10_000).map(|i| format!("w{i} ")).collect();
        let a = words.concat();
        let b = words[500..].concat();
        let sides = difference(&a, &b, Measure::WordGrams);
        assert_eq!((sides.places, sides.cut), (1, true));
    }

    #[test]
    fn only_short_parts_wait() {
        let (short, long) = ("word ".repeat(100), "w".repeat(MAX_KEPT_BYTES));
        for (text, waits) in [(short, true), (long, false)] {
            let difference = TextDifference::later(&text, "word", Measure::WordGrams);
            assert_eq!(format!("{difference:?}").contains("<uninit>"), waits);
            assert_eq!(difference.places, 1);
        }
    }

    proptest! {
        #[test]
        fn both_sides_read_as_their_texts(a in "[ab文字é ]{0,80}", b in "[ab文字é ]{0,80}", chars: bool) {
            let measure = if chars { Measure::CharGrams } else { Measure::WordGrams };
            prop_assert_eq!(tokens(&a, measure).concat(), a.as_str());
            let sides = difference(&a, &b, measure);
            let part = |side: &[ExcerptPiece], text: &str| {
                let mut rest = text;
                for piece in side.iter().filter(|piece| piece.kind != PieceKind::Gap) {
                    let Some(at) = rest.find(&piece.text) else { return false };
                    rest = &rest[at + piece.text.len()..];
                }
                true
            };
            prop_assert!(part(&sides.a, &a) && part(&sides.b, &b), "{:?}", sides);
            prop_assert_eq!(sides.places == 0, a == b);
        }
    }
}
