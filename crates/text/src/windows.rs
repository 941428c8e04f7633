//! The parts of a text in which windows of n characters are windows of n bytes.
//!
//! A text consists of long ASCII runs and the islands between them. A window of n characters is inside one run, or
//! touches exactly one island: runs have at least n bytes, so no window reaches two islands. So the windows of the runs, and
//! those of the islands with n − 1 characters of the runs on either side, are the windows of the text, each once.

use std::ops::Range;

use twinprint_fingerprint::Span;

/// Shortest run in bytes: shorter ones are not worth separate handling.
const MIN_RUN: usize = 64;

/// Bytes checked for ASCII at a time.
const CHUNK: usize = 32;

/// Replaces `runs` by the ASCII runs of `text` (shorter than 4 GiB) that have at least `MIN_RUN` bytes and `n`, in
/// text order. Linear.
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

/// The number of leading ASCII bytes.
fn ascii_prefix(bytes: &[u8]) -> usize {
    let (chunks, _) = bytes.as_chunks::<CHUNK>();
    let whole = CHUNK * chunks.iter().take_while(|chunk| chunk.is_ascii()).count();
    whole
        + bytes
            .iter()
            .skip(whole)
            .take_while(|byte| byte.is_ascii())
            .count()
}

/// The byte ranges of the windows that are in no run. `runs` are those of [`ascii_runs`] for the same `n`,
/// at least 1, in a text of `length` bytes.
pub(crate) fn islands(runs: &[Span], n: usize, length: usize) -> impl Iterator<Item = Range<usize>> {
    let starts = std::iter::once(0).chain(runs.iter().map(|run| run.end as usize));
    let ends = runs.iter().map(|run| run.start as usize).chain([length]);
    let islands = starts.zip(ends).filter(|(start, end)| start < end);
    islands.map(move |(start, end)| {
        // A run has at least n bytes, so only the beginning and the end of the text can clip the range.
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
