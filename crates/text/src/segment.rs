//! Words of a canonical text, as byte ranges in text order.
//!
//! Where spaces part words, a word is what stands between them. Within a word, each maximal run of one kind of
//! script is cut its own way, so mixed text works run by run:
//! ideographs by jieba's dictionary (maximum probability path, no hidden Markov model: faster, and decided by
//! the dictionary alone); other scripts without spaces into overlapping pairs of characters, a lone character
//! being itself; everything else stays whole.
//!
//! The dictionary is the one embedded in jieba-rs, parsed once, when the first ideograph is met.

use std::ops::Range;
use std::sync::LazyLock;

use fingerprint::Span;
use jieba_rs::Jieba;

use crate::script::Script;
use crate::spaces::split;

mod cache;

/// Name and version of the segmenter, part of every profile. The embedded dictionary cannot be reached from
/// outside, so the exact version of the crate, pinned in the manifest, stands for it.
pub(crate) const SEGMENTER: &str =
    "jieba-rs 0.11.0 embedded dictionary, no hmm; pairs in other unspaced scripts";

static JIEBA: LazyLock<Jieba> = LazyLock::new(Jieba::new);

/// Pushes the words of `canonical`, which must be shorter than 4 GiB.
pub(crate) fn words(canonical: &str, words: &mut Vec<Span>) {
    split(canonical, words, mixed_words);
}

/// Cuts words run by run, up to a word that starts with ASCII. `text` is found at position `at`. Returns how many
/// bytes are dealt with.
fn mixed_words(text: &str, at: u32, words: &mut Vec<Span>) -> usize {
    let mut start = 0;
    let mut kind = None;
    let mut chars = text.char_indices().peekable();
    while let Some((here, c)) = chars.next() {
        if c == ' ' {
            let following = chars.peek().map(|&(_, c)| c);
            cut(text, start..here, kind, at, words);
            if following.is_none_or(|c| c.is_ascii()) {
                return here;
            }
            start = here + 1;
            kind = None;
        } else {
            let script = Script::of(c);
            if kind != Some(script) {
                cut(text, start..here, kind, at, words);
                start = here;
                kind = Some(script);
            }
        }
    }
    cut(text, start..text.len(), kind, at, words);
    text.len()
}

/// Cuts one run of a script.
fn cut(text: &str, range: Range<usize>, kind: Option<Script>, at: u32, words: &mut Vec<Span>) {
    let base = at + range.start as u32;
    let run = text.get(range).unwrap_or_default();
    let span = |from: usize, to: usize| Span {
        start: base + from as u32,
        end: base + to as u32,
    };
    match kind {
        None => {}
        Some(Script::Spaced) => words.push(span(0, run.len())),
        Some(Script::Ideograph) => {
            cache::cut_with(run, by_dictionary, |from, to| words.push(span(from, to)));
        }
        Some(Script::Unspaced) => {
            let ends = run.char_indices().map(|(at, c)| at + c.len_utf8());
            let pairs = run.char_indices().map(|(at, _)| at).zip(ends.skip(1));
            let before = words.len();
            words.extend(pairs.map(|(from, to)| span(from, to)));
            if words.len() == before {
                words.push(span(0, run.len()));
            }
        }
    }
}

/// Calls `word` with the byte range of each word that jieba finds.
fn by_dictionary(run: &str, word: &mut dyn FnMut(usize, usize)) {
    for token in JIEBA.cut(run, false) {
        word(token.byte_start, token.byte_end);
    }
}

#[cfg(test)]
mod tests;
