//! Byte ranges of the features of a canonical text.

use twinprint_fingerprint::Span;

use super::Features;
use crate::script::Measure;
use crate::segment::Segmenter;
use crate::windows::{ascii_runs, islands};

/// Features of a document, repeats included: byte ranges of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FeatureSpans<'a> {
    /// The canonical text, or the canonical text without spaces.
    pub(crate) text: &'a str,
    pub(crate) spans: &'a [Span],
}

/// Features of a document that are all windows of `width` bytes of ASCII runs of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowRuns<'a> {
    pub(crate) text: &'a str,
    /// Byte ranges, none shorter than `width`.
    pub(crate) runs: &'a [Span],
    pub(crate) width: usize,
}

impl WindowRuns<'_> {
    /// The number of windows.
    pub(crate) fn windows(self) -> usize {
        let windows = |run: &Span| (run.end - run.start) as usize + 1 - self.width;
        self.runs.iter().map(windows).sum()
    }
}

/// Cuts canonical texts into features. Keeps its buffers from one document to the next.
#[derive(Debug, Default)]
pub(crate) struct FeatureCutter {
    segmenter: Segmenter,
    spans: Vec<Span>,
    words: Vec<Span>,
    runs: Vec<Span>,
    /// The canonical text without spaces.
    squeezed: String,
}

impl FeatureCutter {
    /// The features of `canonical`, which is shorter than 4 GiB.
    pub(crate) fn cut<'a>(
        &'a mut self,
        features: Features,
        canonical: &'a str,
        measure: Measure,
    ) -> FeatureSpans<'a> {
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
                return FeatureSpans {
                    text,
                    spans: &self.spans,
                };
            }
        }
        FeatureSpans {
            text: canonical,
            spans: &self.spans,
        }
    }

    /// The features that [`cut`](Self::cut) gives for [`Features::CharShingles`], in two parts: the windows of long
    /// ASCII runs, and all other features.
    pub(crate) fn cut_runs<'a>(
        &'a mut self,
        n: u8,
        canonical: &'a str,
        measure: Measure,
    ) -> (WindowRuns<'a>, FeatureSpans<'a>) {
        self.spans.clear();
        let n = n.max(1);
        let text = squeeze(canonical, measure, &mut self.squeezed);
        ascii_runs(text, n.into(), &mut self.runs);
        for island in islands(&self.runs, n.into(), text.len()) {
            self.words.clear();
            let offset = island.start as u32;
            push_characters(text.get(island).unwrap_or_default(), offset, &mut self.words);
            push_shingles(&self.words, n, &mut self.spans);
        }
        let runs = WindowRuns {
            text,
            runs: &self.runs,
            width: n.into(),
        };
        let others = FeatureSpans {
            text,
            spans: &self.spans,
        };
        (runs, others)
    }
}

/// The text whose characters make shingles: the canonical text, without spaces if it is measured by characters.
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

/// Pushes the ranges of the characters of `text`, which begins at byte `offset`.
fn push_characters(text: &str, offset: u32, characters: &mut Vec<Span>) {
    characters.extend(text.char_indices().map(|(start, c)| Span {
        start: offset + start as u32,
        end: offset + (start + c.len_utf8()) as u32,
    }));
}

/// Pushes the range of each `n` consecutive units, or the range of all units if there are fewer.
fn push_shingles(units: &[Span], n: u8, spans: &mut Vec<Span>) {
    let n = usize::from(n).clamp(1, units.len().max(1));
    let range = |window: &[Span]| match window {
        [first, .., last] => Span {
            start: first.start,
            end: last.end,
        },
        [only] => *only,
        [] => Span::default(),
    };
    spans.extend(units.windows(n).map(range));
}

#[cfg(test)]
mod tests;
