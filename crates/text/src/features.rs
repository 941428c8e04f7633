//! What a document's features are: words, shingles of words, shingles of characters.

use std::fmt;

use twinprint_fingerprint::Span;

use crate::script::Measure;
use crate::segment::Segmenter;
use crate::windows::{ascii_runs, islands};

/// The longest shingle allowed, in words or characters.
pub const MAX_SHINGLE: u8 = 32;

/// Distinct features below which a fingerprint rests on too few votes to be trusted. Candidates of such a short text come from the exact
/// join of shingle sets instead (see docs/quality.md for the measurement).
pub const MIN_FEATURES: u32 = 50;

/// The kind of features a profile takes from a canonical text.
///
/// A shingle of words is the stretch of canonical text from its first word to its last; where a text has fewer
/// words or characters than a shingle needs, the whole text is its one feature. A text without words has no
/// features.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Features {
    /// Words: ideographs cut by dictionary, other scripts without spaces into pairs of characters.
    #[default]
    Words,
    /// Every n words in a row (1 to [`MAX_SHINGLE`]; 0 counts as 1).
    WordShingles(u8),
    /// Every n characters in a row: of the canonical text with its single spaces, or, where the text is measured
    /// by characters, without spaces.
    CharShingles(u8),
    /// Words, and every two words in a row.
    WordsAndBigrams,
}

impl fmt::Display for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words => f.write_str("words"),
            Self::WordShingles(n) => write!(f, "words{n}"),
            Self::CharShingles(n) => write!(f, "chars{n}"),
            Self::WordsAndBigrams => f.write_str("wordpairs"),
        }
    }
}

impl Features {
    /// Reads what `Display` writes.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let count = |digits: &str| {
            let plain = !digits.starts_with(['0', '+']);
            digits
                .parse::<u8>()
                .ok()
                .filter(|n| plain && (1..=MAX_SHINGLE).contains(n))
        };
        match name {
            "words" => Some(Self::Words),
            "wordpairs" => Some(Self::WordsAndBigrams),
            _ => match (name.strip_prefix("words"), name.strip_prefix("chars")) {
                (Some(n), _) => count(n).map(Self::WordShingles),
                (_, Some(n)) => count(n).map(Self::CharShingles),
                (None, None) => None,
            },
        }
    }

    pub(crate) fn is_valid(self) -> bool {
        match self {
            Self::Words | Self::WordsAndBigrams => true,
            Self::WordShingles(n) | Self::CharShingles(n) => (1..=MAX_SHINGLE).contains(&n),
        }
    }
}

/// Byte ranges of a document's features, with buffers kept from one document to the next.
#[derive(Debug, Default)]
pub(crate) struct Cutter {
    segmenter: Segmenter,
    spans: Vec<Span>,
    words: Vec<Span>,
    runs: Vec<Span>,
    /// The canonical text without spaces.
    squeezed: String,
}

impl Cutter {
    /// The features of `canonical` (shorter than 4 GiB), repeats included: a text and the ranges in it.
    pub(crate) fn cut<'a>(
        &'a mut self,
        features: Features,
        canonical: &'a str,
        measure: Measure,
    ) -> (&'a str, &'a [Span]) {
        self.spans.clear();
        self.words.clear();
        match features {
            Features::Words => self.segmenter.words(canonical, &mut self.spans),
            Features::WordShingles(n) => {
                self.segmenter.words(canonical, &mut self.words);
                push_shingles(&self.words, n, &mut self.spans);
            }
            Features::WordsAndBigrams => {
                self.segmenter.words(canonical, &mut self.spans);
                self.words.extend_from_slice(&self.spans);
                if self.words.len() > 1 {
                    push_shingles(&self.words, 2, &mut self.spans);
                }
            }
            Features::CharShingles(n) => {
                let text = squeeze(canonical, measure, &mut self.squeezed);
                push_characters(text, 0, &mut self.words);
                push_shingles(&self.words, n, &mut self.spans);
                return (text, &self.spans);
            }
        }
        (canonical, &self.spans)
    }

    /// What [`cut`](Self::cut) gives for [`Features::CharShingles`], repeats included, in two parts: a text, long
    /// ASCII runs of it, whose windows of `n` bytes are features, and the byte ranges of all other features.
    pub(crate) fn cut_runs<'a>(
        &'a mut self,
        n: u8,
        canonical: &'a str,
        measure: Measure,
    ) -> (&'a str, &'a [Span], &'a [Span]) {
        self.spans.clear();
        let n = n.max(1);
        let text = squeeze(canonical, measure, &mut self.squeezed);
        ascii_runs(text, n.into(), &mut self.runs);
        for island in islands(&self.runs, n.into(), text.len()) {
            self.words.clear();
            let at = island.start as u32;
            push_characters(text.get(island).unwrap_or_default(), at, &mut self.words);
            push_shingles(&self.words, n, &mut self.spans);
        }
        (text, &self.runs, &self.spans)
    }
}

/// The text whose characters make shingles: without spaces where characters measure.
fn squeeze<'a>(canonical: &'a str, measure: Measure, squeezed: &'a mut String) -> &'a str {
    match measure {
        Measure::WordGrams => canonical,
        Measure::CharGrams => {
            squeezed.clear();
            squeezed.extend(canonical.split(' '));
            squeezed
        }
    }
}

/// Pushes the ranges of the characters of `text`, which is found at position `at`.
fn push_characters(text: &str, at: u32, characters: &mut Vec<Span>) {
    characters.extend(text.char_indices().map(|(start, c)| Span {
        start: at + start as u32,
        end: at + (start + c.len_utf8()) as u32,
    }));
}

/// Pushes the stretch covered by each `n` units in a row, or by all of them where there are fewer.
fn push_shingles(units: &[Span], n: u8, spans: &mut Vec<Span>) {
    let n = usize::from(n).clamp(1, units.len().max(1));
    let stretch = |window: &[Span]| match window {
        [first, .., last] => Span {
            start: first.start,
            end: last.end,
        },
        [only] => *only,
        [] => Span::default(),
    };
    spans.extend(units.windows(n).map(stretch));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn cut(features: Features, canonical: &str) -> Vec<String> {
        let mut cutter = Cutter::default();
        let (text, spans) = cutter.cut(features, canonical, Measure::of(canonical));
        spans
            .iter()
            .map(|span| text[span.start as usize..span.end as usize].to_owned())
            .collect()
    }

    #[test]
    fn the_fifteen_bigrams_of_the_cat_on_the_mat() {
        let bigrams: BTreeSet<String> = cut(Features::CharShingles(2), "the cat sat on the mat")
            .into_iter()
            .collect();
        let expected = [
            "th", "he", "e ", " c", "ca", "at", "t ", " s", "sa", " o", "on", "n ", " t", " m", "ma",
        ];
        assert_eq!(bigrams, expected.map(str::to_owned).into());
    }

    #[test]
    fn word_features() {
        assert_eq!(cut(Features::Words, "a b a"), ["a", "b", "a"]);
        assert_eq!(cut(Features::WordShingles(2), "a b a"), ["a b", "b a"]);
        assert_eq!(cut(Features::WordShingles(5), "a b a"), ["a b a"]);
        assert_eq!(
            cut(Features::WordsAndBigrams, "a b a"),
            ["a", "b", "a", "a b", "b a"]
        );
        assert_eq!(cut(Features::WordsAndBigrams, "a"), ["a"]);
        assert_eq!(
            cut(Features::WordShingles(2), "我来到北京"),
            ["我来到", "来到北京"]
        );
    }

    #[test]
    fn character_features_drop_spaces_where_characters_measure() {
        assert_eq!(cut(Features::CharShingles(3), "ab c"), ["ab ", "b c"]);
        assert_eq!(cut(Features::CharShingles(2), "中 文字"), ["中文", "文字"]);
        assert_eq!(cut(Features::CharShingles(9), "中 文字"), ["中文字"]);
    }

    #[test]
    fn a_text_without_words_has_no_features() {
        for features in [
            Features::Words,
            Features::WordShingles(3),
            Features::CharShingles(3),
            Features::WordsAndBigrams,
        ] {
            assert_eq!(cut(features, ""), [""; 0]);
        }
    }

    #[test]
    fn names_are_read_back() {
        for features in [
            Features::Words,
            Features::WordShingles(3),
            Features::CharShingles(32),
            Features::WordsAndBigrams,
        ] {
            assert_eq!(Features::from_name(&features.to_string()), Some(features));
        }
        for name in [
            "",
            "word",
            "words0",
            "words33",
            "chars",
            "chars03",
            "chars+3",
            "wordpairs2",
        ] {
            assert_eq!(Features::from_name(name), None);
        }
    }
}
