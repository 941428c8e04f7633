//! The words, title and host of a document, by which its story is chosen and named. Used by streams over files and by
//! collections.

use std::collections::HashMap;

use twinprint_cluster::stories::{MAX_OPENING_WORDS, SENTENCE_BREAK, StoryWord, WordRole};
use twinprint_fingerprint::Span;

use super::role::role;

/// The largest number of words that are counted in a document, from its beginning.
const MAX_COUNTED_WORDS: usize = 4096;
/// The length of the longest title, in characters. A longer title is cut.
const MAX_TITLE_CHARS: usize = 160;

/// A distinct word of a text: its first occurrence in the canonical text, its role, and its number of occurrences.
#[derive(Debug)]
struct CountedWord {
    span: Span,
    role: WordRole,
    occurrences: u32,
}

/// The distinct words of a canonical text, as ranges of that text.
#[derive(Debug, Default)]
pub struct WordCounts {
    words: Vec<CountedWord>,
    opening: Vec<u32>,
}

impl WordCounts {
    /// Returns the distinct words in the order of their first occurrence. `canonical` must be the text in which they
    /// were counted.
    pub fn of<'t>(&'t self, canonical: &'t str) -> impl Iterator<Item = StoryWord<'t>> {
        let word = |word: &CountedWord| StoryWord {
            text: slice(canonical, word.span),
            role: word.role,
            occurrences: word.occurrences,
        };
        self.words.iter().map(word)
    }

    /// The beginning of the text, as indexes into the distinct words. [`SENTENCE_BREAK`] stands between sentences.
    pub fn opening(&self) -> &[u32] {
        &self.opening
    }

    /// Counts the first 4,096 words of a canonical text. `spans` are the ranges of all its words, in order.
    pub fn count(canonical: &str, spans: &[Span]) -> Self {
        let mut indexes: HashMap<&str, u32> = HashMap::new();
        let mut counts = Self::default();
        let mut end = 0;
        for &span in spans.iter().take(MAX_COUNTED_WORDS) {
            let word = slice(canonical, span);
            let next = counts.words.len() as u32;
            let index = *indexes.entry(word).or_insert(next);
            if index == next {
                counts.words.push(CountedWord {
                    span,
                    role: role(word),
                    occurrences: 0,
                });
            }
            if let Some(counted) = counts.words.get_mut(index as usize) {
                counted.occurrences += 1;
            }
            if counts.opening.len() < MAX_OPENING_WORDS {
                // Canonical Chinese text has a space between two words only where a sentence or clause ended.
                let has_gap = span.start > end && end > 0;
                if has_gap && word.chars().next().is_some_and(|c| c >= '\u{2E80}') {
                    counts.opening.push(SENTENCE_BREAK);
                }
                counts.opening.push(index);
            }
            end = span.end;
        }
        counts.opening.truncate(MAX_OPENING_WORDS);
        counts
    }
}

fn slice(text: &str, span: Span) -> &str {
    text.get(span.start as usize..span.end as usize)
        .unwrap_or_default()
}

/// Returns the host of a URL in lower case, such as `example.org` for `https://user@Example.org:8080/path`.
pub fn host(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let end = host.find(':').unwrap_or(host.len());
    host.get(..end).unwrap_or_default().to_lowercase()
}

/// Returns the given title, or the first line of the text that is not empty. Cuts the title to 160 characters.
pub fn title(given: Option<&str>, text: &str) -> String {
    let given = given.map(str::trim).filter(|title| !title.is_empty());
    let first = || text.lines().map(str::trim).find(|line| !line.is_empty());
    let title = given.or_else(first).unwrap_or_default();
    let mut words = title.split_whitespace();
    let mut short = words.next().unwrap_or_default().to_owned();
    for word in words {
        short.push(' ');
        short.push_str(word);
        if short.len() > 4 * MAX_TITLE_CHARS {
            break;
        }
    }
    match short.char_indices().nth(MAX_TITLE_CHARS) {
        Some((end, _)) => format!("{}…", short.get(..end).unwrap_or_default().trim_end()),
        None => short,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_in_addresses() {
        for (url, expected) in [
            ("https://user@Example.org:8080/a?b", "example.org"),
            ("example.org/a", "example.org"),
            ("", ""),
        ] {
            assert_eq!(host(url), expected);
        }
    }

    #[test]
    fn long_titles_are_cut() {
        assert_eq!(
            title(None, &"x".repeat(9999)).chars().count(),
            MAX_TITLE_CHARS + 1
        );
    }
}
