//! Words of a canonical text, as byte ranges in text order.
//!
//! Where spaces part words, a word is what stands between them. Within a word, each maximal run of one kind of
//! script is cut its own way, so mixed text works run by run:
//! ideographs by jieba's dictionary (maximum probability path, no hidden Markov model: faster, and decided by
//! the dictionary alone); other scripts without spaces into overlapping pairs of characters, a lone character
//! being itself; everything else stays whole.
//!
//! The dictionary is that of jieba-rs, in `dictionary/`; `build.rs` makes the table of it that is compiled in.

use std::ops::Range;

use twinprint_fingerprint::Span;

use crate::script::Script;
use crate::spaces::split;

mod cache;
pub(crate) mod dictionary;

use cache::{Cache, Place};
use dictionary::{JIEBA, JiebaRs, Path};

/// Name and version of the segmenter, part of every profile: the crate whose dictionary and cuts these are.
pub(crate) const SEGMENTER: &str =
    "jieba-rs 0.11.0 embedded dictionary, no hmm; pairs in other unspaced scripts";

/// Runs between a look at a run's place in the cache and the call for it.
const AHEAD: usize = 16;

/// Cuts texts into words; keeps its buffers, and how runs of ideographs were cut.
#[derive(Debug, Default)]
pub(crate) struct Segmenter {
    /// Words, and runs of ideographs whole.
    pieces: Vec<Span>,
    runs: Vec<Run>,
    cache: Cache,
    path: Path,
}

/// A run of at least two ideographs.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// Its index among the pieces.
    piece: u32,
    place: Place,
}

impl Segmenter {
    /// Pushes the words of `canonical`, which must be shorter than 4 GiB.
    pub(crate) fn words(&mut self, canonical: &str, words: &mut Vec<Span>) {
        self.pieces.clear();
        self.runs.clear();
        let runs = &mut self.runs;
        split(canonical, &mut self.pieces, |text, at, pieces| {
            mixed_words(text, at, pieces, runs)
        });
        for run in self.runs.iter().take(AHEAD) {
            self.cache.fetch(run.place);
        }
        let mut done = 0;
        for (i, run) in self.runs.iter().enumerate() {
            if let Some(later) = self.runs.get(i + AHEAD) {
                self.cache.fetch(later.place);
            }
            // The runs' pieces ascend, and each was pushed.
            let (before, from) = self.pieces.split_at(run.piece as usize);
            words.extend_from_slice(before.get(done..).unwrap_or_default());
            done = run.piece as usize + 1;
            let Some(&Span { start, end }) = from.first() else {
                break;
            };
            let text = canonical.get(start as usize..end as usize).unwrap_or_default();
            self.cache.cut_with(
                text,
                run.place,
                |run, word| by_dictionary(run, &mut self.path, word),
                |from, to| {
                    words.push(Span {
                        start: start + from as u32,
                        end: start + to as u32,
                    });
                },
            );
        }
        words.extend_from_slice(self.pieces.get(done..).unwrap_or_default());
    }
}

/// Cuts words into runs of scripts and these into pieces, up to a word that starts with ASCII. `text` is found at position `at`. Returns
/// how many bytes are dealt with.
fn mixed_words(text: &str, at: u32, pieces: &mut Vec<Span>, runs: &mut Vec<Run>) -> usize {
    let mut start = 0;
    let mut kind = None;
    let mut here = 0;
    while let Some((c, after)) = split_first(text, here) {
        if c == ' ' {
            cut(text, start..here, kind, at, pieces, runs);
            if after.first().is_none_or(u8::is_ascii) {
                return here;
            }
            start = here + 1;
            kind = None;
        } else {
            let script = Script::of(c);
            if kind != Some(script) {
                cut(text, start..here, kind, at, pieces, runs);
                start = here;
                kind = Some(script);
            }
            if script == Script::Ideograph {
                here += common_ideographs(after);
            }
        }
        here += c.len_utf8();
    }
    cut(text, start..text.len(), kind, at, pieces, runs);
    text.len()
}

/// The character at a position, and the bytes after it.
fn split_first(text: &str, at: usize) -> Option<(char, &[u8])> {
    let mut chars = text.get(at..)?.chars();
    Some((chars.next()?, chars.as_str().as_bytes()))
}

/// The length in bytes of the leading run of ideographs from U+4E00 to U+9FFF, found by the first bytes of each.
fn common_ideographs(bytes: &[u8]) -> usize {
    let (threes, _) = bytes.as_chunks::<3>();
    let ideographs = threes
        .iter()
        .take_while(|&&[first, second, _]| matches!(first, 0xE5..=0xE9) || first == 0xE4 && second >= 0xB8);
    ideographs.count() * 3
}

/// Cuts one run of a script; one of ideographs is left whole and noted.
fn cut(
    text: &str,
    range: Range<usize>,
    kind: Option<Script>,
    at: u32,
    pieces: &mut Vec<Span>,
    runs: &mut Vec<Run>,
) {
    let base = at + range.start as u32;
    let run = text.get(range).unwrap_or_default();
    let span = |from: usize, to: usize| Span {
        start: base + from as u32,
        end: base + to as u32,
    };
    match kind {
        None => {}
        Some(Script::Spaced) => pieces.push(span(0, run.len())),
        Some(Script::Ideograph) => {
            // A lone ideograph, of four bytes at most, is a word.
            if run.len() > 4 {
                runs.push(Run {
                    piece: pieces.len() as u32,
                    place: Cache::place(run),
                });
            }
            pieces.push(span(0, run.len()));
        }
        Some(Script::Unspaced) => {
            let ends = run.char_indices().map(|(at, c)| at + c.len_utf8());
            let pairs = run.char_indices().map(|(at, _)| at).zip(ends.skip(1));
            let before = pieces.len();
            pieces.extend(pairs.map(|(from, to)| span(from, to)));
            if pieces.len() == before {
                pieces.push(span(0, run.len()));
            }
        }
    }
}

/// Calls `word` with the byte range of each word that jieba finds.
fn by_dictionary(run: &str, path: &mut Path, word: &mut dyn FnMut(usize, usize)) {
    JIEBA.find::<JiebaRs>(run.chars(), path);
    let mut chars = run.char_indices();
    let mut from = 0;
    for length in path.lengths() {
        let last = chars.nth(length - 1);
        let to = last.map_or(run.len(), |(at, c)| at + c.len_utf8());
        word(from, to);
        from = to;
    }
}

#[cfg(test)]
mod tests;
