//! Cuts canonical texts into features, as byte ranges.

use twinprint_fingerprint::Span;

use super::Features;
use crate::script::Measure;
use crate::segment::Segmenter;
use crate::windows::{ascii_runs, islands};

/// The features of a document as byte ranges of a text, repeats included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FeatureSpans<'a> {
    /// The text that the ranges refer to: the canonical text, with or without its spaces.
    pub(crate) text: &'a str,
    pub(crate) spans: &'a [Span],
}

/// Features of a document that are windows of `width` bytes: all windows inside the given ASCII runs of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowRuns<'a> {
    pub(crate) text: &'a str,
    /// Byte ranges of the runs. Each has at least `width` bytes.
    pub(crate) runs: &'a [Span],
    pub(crate) width: usize,
}

impl WindowRuns<'_> {
    /// No windows.
    pub(crate) const NONE: Self = Self {
        text: "",
        runs: &[],
        width: 0,
    };

    /// The number of windows in all runs.
    pub(crate) fn windows(self) -> usize {
        let windows = |run: &Span| (run.end - run.start) as usize + 1 - self.width;
        self.runs.iter().map(windows).sum()
    }
}

/// Cuts canonical texts into features. Reuses its buffers for the next document.
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
    /// Cuts `canonical`, which is shorter than 4 GiB, into features.
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

    /// Cuts a text into the same features as [`cut`](Self::cut) with [`Features::CharShingles`]. Returns the windows
    /// inside long ASCII runs, and all other features.
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

/// The text from which character shingles are cut: the canonical text, or, if it is measured by characters, the
/// canonical text without spaces. `squeezed` is a reused buffer.
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

/// Appends the byte range of each character of `text` to `characters`. `text` begins at byte `offset`.
fn push_characters(text: &str, offset: u32, characters: &mut Vec<Span>) {
    characters.extend(text.char_indices().map(|(start, c)| Span {
        start: offset + start as u32,
        end: offset + (start + c.len_utf8()) as u32,
    }));
}

/// Appends the byte range of every `n` consecutive units to `spans`. If there are fewer than `n` units, appends one
/// range that covers all of them.
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
