//! The words of a canonical text in order, for callers that need the words themselves, such as topics of clusters.

use std::fmt;

use twinprint_fingerprint::Span;

use crate::segment::Segmenter;

/// Cuts canonical texts into words, the same words that [`Features::Words`](crate::Features::Words) takes as features.
/// Reuses its buffers; use one for each thread.
///
/// ```
/// use twinprint_text::Words;
///
/// let text = "我来到北京 the cat";
/// let mut words = Words::default();
/// let cut: Vec<&str> = words.cut(text).iter().map(|s| &text[s.start as usize..s.end as usize]).collect();
/// assert_eq!(cut, ["我", "来到", "北京", "the", "cat"]);
/// ```
#[derive(Default)]
pub struct Words {
    segmenter: Segmenter,
    spans: Vec<Span>,
}

impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Words").finish_non_exhaustive()
    }
}

impl Words {
    /// Returns the byte ranges of the words of a canonical text. Only the first 4 GiB of the text are cut. Linear.
    pub fn cut(&mut self, canonical: &str) -> &[Span] {
        self.spans.clear();
        let end = canonical.floor_char_boundary(u32::MAX as usize);
        let text = canonical.get(..end).unwrap_or_default();
        self.segmenter.words(text, &mut self.spans);
        &self.spans
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_in_order() {
        let text = "我来到北京 the cat";
        let mut words = Words::default();
        let cut: Vec<&str> = words
            .cut(text)
            .iter()
            .map(|span| &text[span.start as usize..span.end as usize])
            .collect();
        assert_eq!(cut, ["我", "来到", "北京", "the", "cat"]);
        assert!(words.cut("").is_empty());
    }
}
