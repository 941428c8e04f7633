//! cppjieba's `MixSegment`. A text is split at separators. The text between two separators is cut into its most likely
//! words by the dictionary. Runs of single characters between these words are cut again: ASCII by rules for names and
//! numbers, other characters by the hidden Markov model.

use std::ops::Range;

use super::hmm::Trellis;
use super::{Cppjieba, Dictionaries};
use crate::segment::dictionary::Path;

/// The characters at which a text is split first. Each separator is a word by itself.
const SEPARATORS: [char; 5] = [' ', '\t', '\n', '，', '。'];

#[derive(Debug, Default)]
pub(super) struct Buffers {
    characters: Vec<char>,
    path: Path,
    trellis: Trellis,
}

/// Cuts a text into words and calls `word` for each, with its byte range and its length in characters. The words joined
/// are the text.
pub(super) fn cut(
    dictionaries: &Dictionaries,
    text: &str,
    buffers: &mut Buffers,
    mut word: impl FnMut(Range<usize>, usize),
) {
    let mut end = 0;
    // Calls `word` for the next word of the text, which consists of `characters`.
    let mut take = |characters: &[char]| {
        let start = end;
        end += characters.iter().map(|c| c.len_utf8()).sum::<usize>();
        word(start..end, characters.len());
    };
    for part in text.split_inclusive(SEPARATORS) {
        let (part, separator) = match part.char_indices().next_back() {
            Some((offset, c)) if SEPARATORS.contains(&c) => (part.get(..offset).unwrap_or_default(), Some(c)),
            _ => (part, None),
        };
        cut_part(dictionaries, part, buffers, &mut take);
        if let Some(separator) = separator {
            take(&[separator]);
        }
    }
}

/// Cuts `part`, the text between two separators, into words.
fn cut_part(dictionaries: &Dictionaries, part: &str, buffers: &mut Buffers, take: &mut impl FnMut(&[char])) {
    let Buffers {
        characters,
        path,
        trellis,
    } = buffers;
    characters.clear();
    characters.extend(part.chars());
    dictionaries
        .words
        .find::<Cppjieba>(characters.iter().copied(), path);
    let mut rest = characters.as_slice();
    // Number of characters at the beginning of `rest` that the dictionary cut as words of one character.
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

/// Cuts a run of single characters into words: ASCII by rules for names and numbers, other characters by the hidden
/// Markov model.
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

/// The length of the first word of a run of ASCII. A word is a name, which begins with a letter; a number, which may
/// contain points; or one other character.
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
