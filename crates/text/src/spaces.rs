//! Splits a canonical text into words at its spaces.
//!
//! The spaces of 64 bytes are found at a time, as a mask. Words with characters other than ASCII are passed to the caller,
//! which cuts them further.

use twinprint_fingerprint::Span;
use twinprint_fingerprint::kernel::{ByteKinds, byte_kinds};

const BLOCK: u32 = ByteKinds::BLOCK_BYTES as u32;

/// The characters of a word that is not ASCII.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WordKind {
    /// Only ideographs from U+4E00 to U+9FFF.
    Ideographs,
    /// Any characters.
    Mixed,
}

/// Splits texts into words. Reuses its buffer.
#[derive(Debug, Default)]
pub(crate) struct Splitter {
    blocks: Vec<ByteKinds>,
}

/// The part of a word in the blocks before the current one.
#[derive(Default)]
struct OpenWord {
    /// The byte at which the word begins.
    start: u32,
    has_high: bool,
    /// True if it has characters other than ideographs from U+4E00 to U+9FFF.
    has_others: bool,
    /// The bytes at the beginning of the next block that belong to the last ideograph, as a mask.
    carried: u64,
}

impl Splitter {
    /// Appends the words of `canonical` to `words`, in text order. `canonical` must be shorter than 4 GiB, with single spaces and
    /// none at its ends.
    ///
    /// `other` is called for a word with a character that is not ASCII. Its arguments are the word, its kind, the byte offset
    /// of the word, and the list of words, to which it appends the words that it finds.
    pub(crate) fn split(
        &mut self,
        canonical: &str,
        words: &mut Vec<Span>,
        mut other: impl FnMut(&str, WordKind, u32, &mut Vec<Span>),
    ) {
        if canonical.is_empty() {
            return;
        }
        let mut word = OpenWord::default();
        for part in (0..=canonical.len()).step_by(ByteKinds::MAX_BYTES) {
            byte_kinds(canonical, part, &mut self.blocks);
            for (block, base) in self.blocks.iter().zip((part as u32..).step_by(BLOCK as usize)) {
                if block.high == 0 && !word.has_high {
                    split_ascii(block.spaces, base, &mut word, words);
                } else {
                    split_mixed(canonical, *block, base, &mut word, words, &mut other);
                }
            }
        }
    }
}

/// Appends the words that end at the spaces of a block, which begins at byte `base`, and passes those that are not ASCII to
/// `other`; see [`Splitter::split`]. `word` is the word that is open before the block, and becomes the one that is open after
/// it.
#[inline]
fn split_mixed(
    canonical: &str,
    block: ByteKinds,
    base: u32,
    word: &mut OpenWord,
    words: &mut Vec<Span>,
    other: &mut impl FnMut(&str, WordKind, u32, &mut Vec<Span>),
) {
    let ideographs = block.ideographs;
    let others = !(word.carried | ideographs | ideographs << 1 | ideographs << 2);
    let carried = ideographs >> 62 | ideographs >> 63;
    let (mut spaces, mut unread) = (block.spaces, u64::MAX);
    while spaces != 0 {
        let bit = spaces.trailing_zeros();
        let before_space = unread & ((1 << bit) - 1);
        word.has_high |= block.high & before_space != 0;
        word.has_others |= others & before_space != 0;
        let (start, end) = (word.start, base + bit);
        if word.has_high {
            let kind = if word.has_others {
                WordKind::Mixed
            } else {
                WordKind::Ideographs
            };
            let text = canonical.get(start as usize..end as usize).unwrap_or_default();
            other(text, kind, start, words);
        } else if start < end {
            words.push(Span { start, end });
        }
        *word = OpenWord {
            start: end.wrapping_add(1),
            ..OpenWord::default()
        };
        spaces &= spaces - 1;
        unread = (u64::MAX << bit) << 1;
    }
    word.has_high |= block.high & unread != 0;
    word.has_others |= others & unread != 0;
    word.carried = carried;
}

/// Appends the words of ASCII that end at the spaces of a block, which begins at byte `base`. `word` is the word that is open
/// before the block, and becomes the one that is open after it.
fn split_ascii(spaces: u64, base: u32, word: &mut OpenWord, words: &mut Vec<Span>) {
    let count = spaces.count_ones() as usize;
    let (mut rest, mut start) = (spaces, word.start);
    let mut next = || {
        let end = base.wrapping_add(rest.trailing_zeros());
        let span = Span { start, end };
        start = end.wrapping_add(1);
        rest &= rest.wrapping_sub(1);
        span
    };
    // Four words are written at a time, so that the CPU has fewer loop lengths to predict. Those beyond the last are dropped.
    let end = words.len() + count;
    for _ in 0..count.div_ceil(4) {
        words.extend_from_slice(&[next(), next(), next(), next()]);
    }
    words.truncate(end);
    if count > 0 {
        word.start = base.wrapping_add(u64::BITS - spaces.leading_zeros());
    }
    // A word of ASCII that continues in the next block has characters other than ideographs.
    word.has_others = word.start.wrapping_sub(base) != BLOCK;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::canonical::canonical;
    use crate::test_text::{any_text, plain_text};

    proptest! {
        #[test]
        fn splits_at_every_space(
            text in prop_oneof![any_text(), plain_text(), "[a-z ]{0,60}", "[a-z 中文é一鿿㐀]{0,90}"],
            repeats in prop_oneof![1usize..5, 300usize..400],
        ) {
            let canonical = canonical(&text.repeat(repeats));
            let is_ideograph = |c: char| ('\u{4E00}'..='\u{9FFF}').contains(&c);
            let mut spans = Vec::new();
            Splitter::default().split(&canonical, &mut spans, |word, kind, position, words| {
                assert!(!word.is_ascii());
                assert_eq!(kind == WordKind::Ideographs, word.chars().all(is_ideograph), "{word}");
                words.push(Span { start: position, end: position + word.len() as u32 });
            });
            let words: Vec<&str> = spans.iter().map(|s| &canonical[s.start as usize..s.end as usize]).collect();
            let expected: Vec<&str> = canonical.split(' ').filter(|word| !word.is_empty()).collect();
            prop_assert_eq!(words, expected);
        }
    }
}
