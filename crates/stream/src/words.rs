//! What of a document's words its story is found by, and what it is called: the same for a stream of files and for a collection.

use std::collections::HashMap;

use twinprint_cluster::stories::{MAX_OPENING_WORDS, SENTENCE_BREAK, StoryWord, WordRole};
use twinprint_fingerprint::Span;

use super::role::role;

/// Words that make a document's vector, counted from its beginning.
const COUNTED: usize = 4096;
/// Characters of a title.
const TITLE: usize = 160;

/// Distinct words as ranges of the canonical text.
#[derive(Debug, Default)]
pub struct WordCounts {
    words: Vec<(Span, WordRole, u32)>,
    opening: Vec<u32>,
}

impl WordCounts {
    /// Distinct words of the canonical text they were counted in, their roles, and how often each occurs.
    pub fn of<'t>(&'t self, canonical: &'t str) -> impl Iterator<Item = StoryWord<'t>> {
        let word = |&(span, role, occurrences): &(Span, WordRole, u32)| StoryWord {
            text: slice(canonical, span),
            role,
            occurrences,
        };
        self.words.iter().map(word)
    }

    /// How the text begins: places among the words, and breaks.
    pub fn opening(&self) -> &[u32] {
        &self.opening
    }

    /// Counts the words, the first of them in order of occurrence.
    pub fn count(canonical: &str, spans: &[Span]) -> Self {
        let mut places: HashMap<&str, u32> = HashMap::new();
        let mut counts = Self::default();
        let mut end = 0;
        for &span in spans.iter().take(COUNTED) {
            let word = slice(canonical, span);
            let next = counts.words.len() as u32;
            let place = *places.entry(word).or_insert(next);
            if place == next {
                counts.words.push((span, role(word), 0));
            }
            if let Some((_, _, times)) = counts.words.get_mut(place as usize) {
                *times += 1;
            }
            if counts.opening.len() < MAX_OPENING_WORDS {
                // Between ideographs, a space stands where a sentence or clause ended.
                let parted = span.start > end && end > 0;
                if parted && word.chars().next().is_some_and(|c| c >= '\u{2E80}') {
                    counts.opening.push(SENTENCE_BREAK);
                }
                counts.opening.push(place);
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

/// The host of an address, in lower case: `example.org` of `https://user@Example.org:8080/path`.
pub fn host(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let end = host.find(':').unwrap_or(host.len());
    host.get(..end).unwrap_or_default().to_lowercase()
}

/// The title, or the first line with something in it.
pub fn title(given: Option<&str>, text: &str) -> String {
    let given = given.map(str::trim).filter(|title| !title.is_empty());
    let first = || text.lines().map(str::trim).find(|line| !line.is_empty());
    let title = given.or_else(first).unwrap_or_default();
    let mut words = title.split_whitespace();
    let mut short = words.next().unwrap_or_default().to_owned();
    for word in words {
        short.push(' ');
        short.push_str(word);
        if short.len() > 4 * TITLE {
            break;
        }
    }
    match short.char_indices().nth(TITLE) {
        Some((end, _)) => format!("{}…", short.get(..end).unwrap_or_default().trim_end()),
        None => short,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
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
        assert_eq!(title(None, &"x".repeat(9999)).chars().count(), TITLE + 1);
    }
}
