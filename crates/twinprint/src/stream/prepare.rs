//! What can be known of a document before it is placed: the part that many threads share.

use std::collections::HashMap;
use std::fmt;

use cluster::stories::{BREAK, OPENING, Role};
use fingerprint::{HashKey, Span};
use text::overlap::{ShingleSet, Shingler};
use text::{Analyzer, Measure, Profile, Words};

use super::role::role;

/// Words that make a document's vector, counted from its beginning.
const COUNTED: usize = 4096;
/// Characters of a title.
const TITLE: usize = 160;

/// A document as it comes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document<'a> {
    /// What it is called.
    pub name: &'a str,
    /// Its text.
    pub text: &'a str,
    /// Its title; without one, the first line of the text stands for it.
    pub title: Option<&'a str>,
    /// Its address.
    pub url: Option<&'a str>,
    /// When it was seen, in seconds since 1970; without that, the clock of the stream.
    pub time: Option<i64>,
    /// How much it is worth.
    pub score: Option<f64>,
}

/// A document ready to be placed.
#[derive(Debug)]
pub struct Prepared {
    pub(super) name: Box<str>,
    pub(super) title: Box<str>,
    pub(super) url: Option<Box<str>>,
    pub(super) time: Option<i64>,
    pub(super) score: Option<f64>,
    pub(super) length: u64,
    pub(super) content: Content,
    pub(super) words: WordCounts,
}

/// What a document is compared by.
#[derive(Debug)]
pub(super) struct Content {
    /// Canonical text; of a text without any word, the normalised one.
    pub(super) text: Box<str>,
    /// There is no word: only an equal text is a duplicate.
    pub(super) bare: bool,
    pub(super) fingerprint: u128,
    /// Distinct features.
    pub(super) features: u32,
    pub(super) measure: Measure,
    pub(super) set: ShingleSet,
}

/// Distinct words as ranges of the canonical text.
#[derive(Debug, Default)]
pub(super) struct WordCounts {
    words: Vec<(Span, Role, u32)>,
    opening: Vec<u32>,
}

impl Prepared {
    /// Distinct words, their roles, and how often each occurs.
    pub(super) fn words(&self) -> Vec<(&str, Role, u32)> {
        let text = &self.content.text;
        let word = |&(span, role, times): &(Span, Role, u32)| (slice(text, span), role, times);
        self.words.words.iter().map(word).collect()
    }

    pub(super) fn opening(&self) -> &[u32] {
        &self.words.opening
    }

    /// The host of its address; empty without one.
    pub(super) fn host(&self) -> String {
        self.url.as_deref().map_or_else(String::new, host)
    }
}

fn slice(text: &str, span: Span) -> &str {
    text.get(span.start as usize..span.end as usize)
        .unwrap_or_default()
}

/// The host of an address, in lower case: `example.org` of `https://user@Example.org:8080/path`.
fn host(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let end = host.find(':').unwrap_or(host.len());
    host.get(..end).unwrap_or_default().to_lowercase()
}

/// Prepares documents. Keeps its buffers: one for each thread.
pub struct Preparer {
    analyzer: Analyzer,
    shingler: Shingler,
    words: Words,
}

impl fmt::Debug for Preparer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Preparer").finish_non_exhaustive()
    }
}

impl Preparer {
    pub(super) fn new(profile: &Profile, key: HashKey) -> Self {
        Self {
            analyzer: Analyzer::new(profile, HashKey::PUBLIC),
            shingler: Shingler::new(key),
            words: Words::default(),
        }
    }

    /// Takes time linear in the text.
    pub fn prepare(&mut self, document: &Document<'_>) -> Prepared {
        let analysis = self.analyzer.analyze(document.text);
        let canonical = analysis.canonical;
        let bare = canonical.is_empty();
        let content = Content {
            bare,
            fingerprint: analysis.fingerprint,
            features: analysis.features,
            measure: analysis.measure,
            set: ShingleSet::new(self.shingler.shingle(canonical, analysis.measure)),
            text: if bare {
                text::normalise(document.text).into()
            } else {
                canonical.into()
            },
        };
        let words = if bare {
            WordCounts::default()
        } else {
            count(canonical, self.words.cut(canonical))
        };
        Prepared {
            name: document.name.into(),
            title: title(document).into(),
            url: document.url.map(Into::into),
            time: document.time,
            score: document.score.filter(|score| !score.is_nan()),
            length: document.text.len() as u64,
            content,
            words,
        }
    }
}

/// Counts the words, the first of them in order of occurrence.
fn count(canonical: &str, spans: &[Span]) -> WordCounts {
    let mut places: HashMap<&str, u32> = HashMap::new();
    let mut counts = WordCounts::default();
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
        if counts.opening.len() < OPENING {
            // Between ideographs, a space stands where a sentence or clause ended.
            let parted = span.start > end && end > 0;
            if parted && word.chars().next().is_some_and(|c| c >= '\u{2E80}') {
                counts.opening.push(BREAK);
            }
            counts.opening.push(place);
        }
        end = span.end;
    }
    counts.opening.truncate(OPENING);
    counts
}

/// The title, or the first line with something in it.
fn title(document: &Document<'_>) -> String {
    let given = document.title.map(str::trim).filter(|title| !title.is_empty());
    let first = || document.text.lines().map(str::trim).find(|line| !line.is_empty());
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

    fn preparer() -> Preparer {
        let profile = Profile::parse("tp1-words-lntf-128").expect("a profile");
        Preparer::new(&profile, HashKey::PUBLIC)
    }

    fn prepare(text: &str) -> Prepared {
        preparer().prepare(&Document {
            text,
            ..Document::default()
        })
    }

    #[test]
    fn words_are_counted_with_their_roles() {
        let prepared = prepare("The cat, the hat. Cat!");
        assert_eq!(
            prepared.words(),
            [
                ("the", Role::Stop, 2),
                ("cat", Role::Term, 2),
                ("hat", Role::Term, 1)
            ]
        );
        assert_eq!(prepared.opening(), [0, 1, 0, 2, 1]);
    }

    #[test]
    fn ideographs_are_parted_where_a_clause_ends() {
        let prepared = prepare("湖人赢球，湖人队");
        assert_eq!(
            prepared.opening().iter().filter(|&&word| word == BREAK).count(),
            1
        );
    }

    #[test]
    fn a_title_is_given_or_the_first_line() {
        assert_eq!(&*prepare("\n  First   line \nsecond").title, "First line");
        let given = preparer().prepare(&Document {
            text: "text",
            title: Some(" Given "),
            ..Document::default()
        });
        assert_eq!(&*given.title, "Given");
        assert_eq!(prepare(&"x".repeat(9999)).title.chars().count(), TITLE + 1);
    }

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
    fn a_text_without_words_is_bare() {
        let bare = prepare("…!");
        assert!(bare.content.bare && bare.words().is_empty() && !bare.content.text.is_empty());
    }
}
