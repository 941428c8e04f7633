//! Splits a canonical text into words at its spaces.
//!
//! Runs of ASCII are processed 64 bytes at a time. Words with other characters are passed to the caller, which cuts
//! them further.

use twinprint_fingerprint::Span;

/// Appends the words of `canonical` to `words`, in text order. `canonical` must be shorter than 4 GiB.
///
/// `mixed` is called for a word with a character that is not ASCII. Its arguments are the text from this word on, the
/// byte offset of the word, and the list of words. It appends the words that it finds and returns the number of bytes
/// that it has read, up to a space or to the end of the text. It may read several words.
pub(crate) fn split(
    canonical: &str,
    words: &mut Vec<Span>,
    mut mixed: impl FnMut(&str, u32, &mut Vec<Span>) -> usize,
) {
    let bytes = canonical.as_bytes();
    let mut position = 0;
    while let Some(rest) = bytes.get(position..).filter(|rest| !rest.is_empty()) {
        let ascii = ascii_prefix(rest);
        if ascii == rest.len() {
            split_ascii(rest, position, words);
            return;
        }
        let (before, _) = rest.split_at(ascii);
        if let Some(space) = before.iter().rposition(|&b| b == b' ') {
            split_ascii(before.split_at(space).0, position, words);
            position += space + 1;
        }
        position += mixed(
            canonical.get(position..).unwrap_or_default(),
            position as u32,
            words,
        ) + 1;
    }
}

/// The number of ASCII bytes before the first byte that is not ASCII.
pub(crate) fn ascii_prefix(bytes: &[u8]) -> usize {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let (chunks, _) = bytes.as_chunks::<32>();
    let mut length = chunks.iter().take_while(|chunk| chunk.is_ascii()).count() * 32;
    let (eights, tail) = bytes.get(length..).unwrap_or_default().as_chunks::<8>();
    for eight in eights {
        let beyond = u64::from_le_bytes(*eight) & HIGH;
        if beyond != 0 {
            return length + beyond.trailing_zeros() as usize / 8;
        }
        length += 8;
    }
    length + tail.iter().position(|&b| b >= 0x80).unwrap_or(tail.len())
}

/// Appends the words of `bytes`, which are ASCII and begin at byte `offset` of the text.
fn split_ascii(bytes: &[u8], offset: usize, words: &mut Vec<Span>) {
    let (chunks, tail) = bytes.as_chunks::<64>();
    let mut start = offset as u32;
    let mut base = start;
    for chunk in chunks {
        let mut spaces = spaces(chunk);
        for _ in 0..spaces.count_ones() {
            let space = base + spaces.trailing_zeros();
            words.push(Span { start, end: space });
            start = space + 1;
            spaces &= spaces - 1;
        }
        base += 64;
    }
    for &b in tail {
        if b == b' ' {
            words.push(Span { start, end: base });
            start = base + 1;
        }
        base += 1;
    }
    if start < base {
        words.push(Span { start, end: base });
    }
}

/// A mask of the spaces in an ASCII chunk: bit i is set if byte i is a space.
fn spaces(chunk: &[u8; 64]) -> u64 {
    const LOW: u64 = 0x7F7F_7F7F_7F7F_7F7F;
    /// A factor that gathers the low bits of eight bytes: in the product, bit i of the top byte is the low bit of byte
    /// i.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let (eights, _) = chunk.as_chunks::<8>();
    eights.iter().rev().fold(0, |mask, eight| {
        let differs = u64::from_le_bytes(*eight) ^ u64::from_le_bytes([b' '; 8]);
        // `differs` is 0 for a space and 1 to 0x7F for any other ASCII byte. Adding 0x7F sets the high bit of each byte
        // that is not a space, without a carry into the next byte.
        let found = (!(differs + LOW) & !LOW) >> 7;
        mask << 8 | found.wrapping_mul(GATHER) >> 56
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::canonical::canonical;
    use crate::test_text::{any_text, plain_text};

    proptest! {
        #[test]
        fn splits_at_every_space(text in prop_oneof![any_text(), plain_text(), "[a-z ]{0,60}"]) {
            let canonical = canonical(&text);
            let mut spans = Vec::new();
            split(&canonical, &mut spans, |rest, position, words| {
                let end = rest.find(' ').unwrap_or(rest.len());
                words.push(Span { start: position, end: position + end as u32 });
                end
            });
            let words: Vec<&str> = spans.iter().map(|s| &canonical[s.start as usize..s.end as usize]).collect();
            let expected: Vec<&str> = canonical.split(' ').filter(|word| !word.is_empty()).collect();
            prop_assert_eq!(words, expected);
        }
    }
}
