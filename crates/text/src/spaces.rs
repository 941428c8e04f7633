//! Finding what stands between the spaces of a canonical text.
//!
//! Stretches of ASCII are split eight bytes at a time; only words that hold another character are handed to
//! the caller, who knows how to cut them further.

use fingerprint::Span;

/// Pushes the words of `canonical`, which must be shorter than 4 GiB, in text order.
///
/// A word with a character beyond ASCII is left to `mixed`: it gets the text from that word on and the word's
/// position, pushes what it makes of the word, or of several, and returns how many bytes it has dealt with: up to a
/// space or to the end of the text.
pub(crate) fn split(
    canonical: &str,
    words: &mut Vec<Span>,
    mut mixed: impl FnMut(&str, u32, &mut Vec<Span>) -> usize,
) {
    let bytes = canonical.as_bytes();
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let ascii = ascii_prefix(rest);
        if ascii == rest.len() {
            split_ascii(rest, at, words);
            return;
        }
        let (before, _) = rest.split_at(ascii);
        if let Some(space) = before.iter().rposition(|&b| b == b' ') {
            split_ascii(before.split_at(space).0, at, words);
            at += space + 1;
        }
        at += mixed(canonical.get(at..).unwrap_or_default(), at as u32, words) + 1;
    }
}

/// The length of the leading run of ASCII.
pub(crate) fn ascii_prefix(bytes: &[u8]) -> usize {
    let (chunks, _) = bytes.as_chunks::<16>();
    let whole = chunks
        .iter()
        .take_while(|chunk| chunk.iter().fold(0, |all, b| all | b) < 0x80)
        .count()
        * 16;
    let tail = bytes.get(whole..).unwrap_or_default();
    whole + tail.iter().position(|&b| b >= 0x80).unwrap_or(tail.len())
}

/// Pushes what stands between the spaces of ASCII `bytes`, found at position `at`.
fn split_ascii(bytes: &[u8], at: usize, words: &mut Vec<Span>) {
    const LOW: u64 = 0x7F7F_7F7F_7F7F_7F7F;
    let (chunks, tail) = bytes.as_chunks::<8>();
    let mut start = at as u32;
    let mut base = start;
    for chunk in chunks {
        let differs = u64::from_le_bytes(*chunk) ^ u64::from_le_bytes([b' '; 8]);
        // In ASCII the sum's high bit is clear just where the byte is a space.
        let mut spaces = !(differs + LOW) & !LOW;
        while spaces != 0 {
            let space = base + spaces.trailing_zeros() / 8;
            words.push(Span { start, end: space });
            start = space + 1;
            spaces &= spaces - 1;
        }
        base += 8;
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
            split(&canonical, &mut spans, |rest, at, words| {
                let end = rest.find(' ').unwrap_or(rest.len());
                words.push(Span { start: at, end: at + end as u32 });
                end
            });
            let words: Vec<&str> = spans.iter().map(|s| &canonical[s.start as usize..s.end as usize]).collect();
            let expected: Vec<&str> = canonical.split(' ').filter(|word| !word.is_empty()).collect();
            prop_assert_eq!(words, expected);
        }
    }
}
