//! Words of a canonical text, as byte ranges in text order.
//!
//! Spaces separate words. A word in this sense may contain several scripts, so it is first cut into maximal runs of one
//! kind of script. Each run is then cut by the rule of its script. Ideographs are cut by jieba's dictionary along the
//! path of maximum probability. (jieba's hidden Markov model is not used, so the segmentation is faster and depends on
//! the dictionary alone.) Other scripts without spaces are cut into overlapping pairs of characters; a run of one
//! character is a word. All other runs are words as a whole.
//!
//! The dictionary in `dictionary/` is the one of jieba-rs. `build.rs` converts it into a trie, which is compiled into
//! the library.

use twinprint_fingerprint::Span;

use crate::script::{Script, may_be_unspaced};
use crate::spaces::{Splitter, WordKind};

mod cache;
pub(crate) mod dictionary;

use cache::{BucketRef, Run, SegmentationCache};
use dictionary::{JIEBA, JiebaRs, Path};

/// Name and version of the segmenter, which every profile contains: the jieba-rs release whose dictionary and
/// segmentation this module reproduces.
pub(crate) const SEGMENTER: &str =
    "jieba-rs 0.11.0 embedded dictionary, no hmm; pairs in other unspaced scripts";

/// Number of runs between the prefetch of a run's cache bucket and its use.
const PREFETCH_DISTANCE: usize = 16;

/// Cuts texts into words. Reuses its buffers, and caches the words of runs of ideographs.
#[derive(Debug, Default)]
pub(crate) struct Segmenter {
    splitter: Splitter,
    /// Words, and runs of ideographs that are not cut yet.
    pieces: Vec<Span>,
    runs: Vec<IdeographRun>,
    cache: SegmentationCache,
    path: Path,
}

/// A run of at least two ideographs, which is to be cut by the dictionary.
#[derive(Clone, Copy, Debug)]
struct IdeographRun {
    /// Index of the run in `pieces`.
    piece: u32,
    bucket: BucketRef,
}

impl Segmenter {
    /// Appends the words of `canonical` to `words`. `canonical` must be shorter than 4 GiB.
    pub(crate) fn words(&mut self, canonical: &str, words: &mut Vec<Span>) {
        self.pieces.clear();
        self.runs.clear();
        let runs = &mut self.runs;
        let pieces = &mut self.pieces;
        self.splitter
            .split(canonical, pieces, |word, kind, start, pieces| {
                let end = start + word.len() as u32;
                let span = Span { start, end };
                match kind {
                    WordKind::Ideographs => cut(canonical, span, Some(Script::Ideograph), pieces, runs),
                    // The characters of most words with accents need not be decoded.
                    WordKind::Mixed if !may_be_unspaced(word) => pieces.push(span),
                    WordKind::Mixed => mixed_word(canonical, span, pieces, runs),
                }
            });
        if self.runs.is_empty() && words.is_empty() {
            // All pieces are words.
            std::mem::swap(words, &mut self.pieces);
            return;
        }
        for run in self.runs.iter().take(PREFETCH_DISTANCE) {
            self.cache.prefetch(run.bucket);
        }
        let mut done = 0;
        for (i, run) in self.runs.iter().enumerate() {
            if let Some(later) = self.runs.get(i + PREFETCH_DISTANCE) {
                self.cache.prefetch(later.bucket);
            }
            // In bounds: `cut` pushed a piece for each run, and the runs are in the order of their pieces.
            let (before, from) = self.pieces.split_at(run.piece as usize);
            words.extend_from_slice(before.get(done..).unwrap_or_default());
            done = run.piece as usize + 1;
            let Some(&span) = from.first() else {
                break;
            };
            let start = span.start;
            self.cache.cut_with(
                Run::new(canonical, span),
                run.bucket,
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

/// Cuts a word of the canonical text into runs of one script, and the runs into pieces.
fn mixed_word(canonical: &str, word: Span, pieces: &mut Vec<Span>, runs: &mut Vec<IdeographRun>) {
    let text = canonical.get(..word.end as usize).unwrap_or_default();
    let mut run = Span {
        start: word.start,
        end: word.start,
    };
    let mut run_script = None;
    while let Some((c, after)) = split_first(text, run.end as usize) {
        let script = Script::of(c);
        if run_script != Some(script) {
            cut(canonical, run, run_script, pieces, runs);
            run.start = run.end;
            run_script = Some(script);
        }
        if script == Script::Ideograph {
            run.end += common_ideographs(after) as u32;
        }
        run.end += c.len_utf8() as u32;
    }
    cut(canonical, run, run_script, pieces, runs);
}

/// The character at byte `position`, and the bytes after this character.
fn split_first(text: &str, position: usize) -> Option<(char, &[u8])> {
    let mut chars = text.get(position..)?.chars();
    Some((chars.next()?, chars.as_str().as_bytes()))
}

/// The length in bytes of the run of ideographs from U+4E00 to U+9FFF at the start of `bytes`. The first two bytes of a
/// character suffice to recognise them.
fn common_ideographs(bytes: &[u8]) -> usize {
    let (threes, _) = bytes.as_chunks::<3>();
    let ideographs = threes
        .iter()
        .take_while(|&&[first, second, _]| matches!(first, 0xE5..=0xE9) || first == 0xE4 && second >= 0xB8);
    ideographs.count() * 3
}

/// Cuts one run of a script into pieces. A run of several ideographs becomes one piece and is added to `runs`, to be
/// cut later.
fn cut(
    canonical: &str,
    span: Span,
    script: Option<Script>,
    pieces: &mut Vec<Span>,
    runs: &mut Vec<IdeographRun>,
) {
    match script {
        None => {}
        Some(Script::Spaced) => pieces.push(span),
        Some(Script::Ideograph) => {
            // A run of at most four bytes is a single ideograph, which is a word.
            if span.end - span.start > 4 {
                runs.push(IdeographRun {
                    piece: pieces.len() as u32,
                    bucket: SegmentationCache::bucket(Run::new(canonical, span)),
                });
            }
            pieces.push(span);
        }
        Some(Script::Unspaced) => {
            let run = Run::new(canonical, span).as_str();
            let ends = run.char_indices().map(|(start, c)| start + c.len_utf8());
            let pairs = run.char_indices().map(|(start, _)| start).zip(ends.skip(1));
            let before = pieces.len();
            pieces.extend(pairs.map(|(from, to)| Span {
                start: span.start + from as u32,
                end: span.start + to as u32,
            }));
            if pieces.len() == before {
                pieces.push(span);
            }
        }
    }
}

/// Calls `word` with the start and end byte of each word that jieba finds.
fn by_dictionary(run: &str, path: &mut Path, word: &mut dyn FnMut(usize, usize)) {
    JIEBA.find::<JiebaRs>(run.chars(), path);
    // Ideographs have three bytes or four, and nearly all have three.
    let bytes = path.len() * 3;
    let mut chars = run.char_indices();
    let mut from = 0;
    for length in path.lengths() {
        let to = if bytes == run.len() {
            from + length * 3
        } else {
            let last = chars.nth(length - 1);
            last.map_or(run.len(), |(start, c)| start + c.len_utf8())
        };
        word(from, to);
        from = to;
    }
}

#[cfg(test)]
mod tests;
