//! Splits a text into ranges in which every window of n characters is also a window of n bytes, and the ranges between
//! them.
//!
//! A text consists of long runs of ASCII and the islands between them. Each window of n characters is either inside one
//! run or touches exactly one island: a run has at least n bytes, so no window touches two islands. Therefore the
//! windows inside the runs, and the windows in each island extended by n − 1 characters on either side, are together
//! all windows of the text, each once.

use std::ops::Range;

use twinprint_fingerprint::Span;

use crate::chars::ascii_prefix;

/// The minimum length of a run in bytes. Shorter runs are not faster than the general case.
const MIN_RUN: usize = 64;

/// Replaces the content of `runs` by the ASCII runs of `text` that have at least `n` and at least [`MIN_RUN`] bytes, in
/// text order. `text` is shorter than 4 GiB. Linear.
pub(crate) fn ascii_runs(text: &str, n: usize, runs: &mut Vec<Span>) {
    runs.clear();
    let bytes = text.as_bytes();
    let mut position = 0;
    while position < bytes.len() {
        let rest = bytes.get(position..).unwrap_or_default();
        let length = ascii_prefix(rest);
        if length >= n.max(MIN_RUN) {
            runs.push(Span {
                start: position as u32,
                end: (position + length) as u32,
            });
        }
        let others = rest.iter().skip(length);
        position += length + others.take_while(|b| !b.is_ascii()).count();
    }
}

/// The byte ranges whose windows of n characters are not inside a run. `runs` is the result of [`ascii_runs`] for the
/// same `n`, at least 1, and a text of `length` bytes.
pub(crate) fn islands(runs: &[Span], n: usize, length: usize) -> impl Iterator<Item = Range<usize>> {
    let starts = std::iter::once(0).chain(runs.iter().map(|run| run.end as usize));
    let ends = runs.iter().map(|run| run.start as usize).chain([length]);
    let islands = starts.zip(ends).filter(|(start, end)| start < end);
    islands.map(move |(start, end)| {
        // A run has at least `n` bytes, so the range exceeds neither run; only the start and the end of the text can
        // cut it short.
        start.saturating_sub(n - 1)..(end + n - 1).min(length)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::test_text::{mostly_ascii, plain_text};

    proptest! {
        #[test]
        fn every_window_is_found_once(text in prop_oneof![mostly_ascii(), plain_text()], n in 1usize..12) {
            let ends = text.char_indices().map(|(position, _)| position).chain([text.len()]);
            let ends: Vec<usize> = ends.collect();
            let mut expected: Vec<_> = ends.windows(n + 1).map(|window| (window[0], window[n])).collect();
            expected.sort_unstable();

            let mut runs = Vec::new();
            ascii_runs(&text, n, &mut runs);
            let mut found = Vec::new();
            for run in &runs {
                let run = run.start as usize..run.end as usize;
                prop_assert!(text[run.clone()].is_ascii() && run.len() >= n.max(MIN_RUN));
                found.extend((run.start..=run.end - n).map(|position| (position, position + n)));
            }
            for island in islands(&runs, n, text.len()) {
                let ends: Vec<usize> = ends.iter().copied().filter(|position| island.start <= *position && *position <= island.end).collect();
                found.extend(ends.windows(n + 1).map(|window| (window[0], window[n])));
            }
            found.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn runs_are_maximal() {
        let run = "a".repeat(100);
        let text = format!("中{run}é{run}bc");
        let mut runs = Vec::new();
        ascii_runs(&text, 4, &mut runs);
        assert_eq!(runs, [Span { start: 3, end: 103 }, Span { start: 105, end: 207 }]);
        let found: Vec<_> = islands(&runs, 4, text.len()).collect();
        assert_eq!(found, [0..6, 100..108]);
        ascii_runs(&text, 101, &mut runs);
        assert_eq!(runs, [Span { start: 105, end: 207 }]);
    }
}
