//! cppjieba's `MixSegment`: stretches between separators, the likeliest words of each by the dictionary, and lone characters in a row again by
//! the hidden Markov model, where ASCII is taken by rules of its own.

use std::ops::Range;

use super::hmm::Trellis;
use super::{Cppjieba, Dictionaries};
use crate::segment::dictionary::Path;

/// What parts a text first; each is a word of its own.
const SEPARATORS: [char; 5] = [' ', '\t', '\n', '，', '。'];

#[derive(Debug, Default)]
pub(super) struct Buffers {
    characters: Vec<char>,
    path: Path,
    trellis: Trellis,
}

/// Calls `word` with the place of each word of a text and its length in characters; in a row they are the text.
pub(super) fn cut(
    dictionaries: &Dictionaries,
    text: &str,
    buffers: &mut Buffers,
    mut word: impl FnMut(Range<usize>, usize),
) {
    let mut end = 0;
    // Takes characters off the text.
    let mut take = |characters: &[char]| {
        let start = end;
        end += characters.iter().map(|c| c.len_utf8()).sum::<usize>();
        word(start..end, characters.len());
    };
    for stretch in text.split_inclusive(SEPARATORS) {
        let (stretch, separator) = match stretch.char_indices().next_back() {
            Some((at, c)) if SEPARATORS.contains(&c) => (stretch.get(..at).unwrap_or_default(), Some(c)),
            _ => (stretch, None),
        };
        cut_stretch(dictionaries, stretch, buffers, &mut take);
        if let Some(separator) = separator {
            take(&[separator]);
        }
    }
}

/// Cuts what is between two separators.
fn cut_stretch(
    dictionaries: &Dictionaries,
    stretch: &str,
    buffers: &mut Buffers,
    take: &mut impl FnMut(&[char]),
) {
    let Buffers {
        characters,
        path,
        trellis,
    } = buffers;
    characters.clear();
    characters.extend(stretch.chars());
    dictionaries
        .words
        .find::<Cppjieba>(characters.iter().copied(), path);
    let mut rest = characters.as_slice();
    // Lone characters that stand before the rest.
    let mut alone = 0;
    for length in path.lengths() {
        if length == 1 {
            alone += 1;
            continue;
        }
        let (lone, later) = rest.split_at_checked(alone).unwrap_or_default();
        cut_lone(dictionaries, lone, trellis, take);
        let (word, later) = later.split_at_checked(length).unwrap_or_default();
        take(word);
        (rest, alone) = (later, 0);
    }
    cut_lone(dictionaries, rest, trellis, take);
}

/// Cuts lone characters in a row: ASCII by the rules for names and numbers, the others between by the model.
fn cut_lone(
    dictionaries: &Dictionaries,
    lone: &[char],
    trellis: &mut Trellis,
    take: &mut impl FnMut(&[char]),
) {
    let mut rest = lone;
    while let Some(first) = rest.first() {
        let (mut word, later) = rest.split_at(if first.is_ascii() {
            ascii_word(rest)
        } else {
            leading(rest, |c| !c.is_ascii())
        });
        rest = later;
        if first.is_ascii() {
            take(word);
            continue;
        }
        let whole = word;
        dictionaries.hmm.cut(whole, trellis, |length| {
            let (this, later) = word.split_at_checked(length).unwrap_or_default();
            take(this);
            word = later;
        });
    }
}

/// The length of a name, which begins with a letter, of a number, which may have points, or of one other character.
fn ascii_word(rest: &[char]) -> usize {
    match rest.first() {
        Some(c) if c.is_ascii_alphabetic() => leading(rest, |c| c.is_ascii_alphanumeric()),
        Some(c) if c.is_ascii_digit() => leading(rest, |c| c.is_ascii_digit() || c == '.'),
        _ => 1,
    }
}

fn leading(characters: &[char], belongs: impl Fn(char) -> bool) -> usize {
    characters.iter().take_while(|&&c| belongs(c)).count()
}
