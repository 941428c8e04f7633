//! What can be known of a document before it is placed: the part that many threads share.

use std::fmt;

use twinprint_cluster::stories::StoryWord;
use twinprint_fingerprint::HashKey;
use twinprint_text::overlap::{ShingleSet, Shingler};
use twinprint_text::{Analyzer, Measure, Profile, Words};

use super::words::{WordCounts, host, title};

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
    /// Canonical text.
    pub(super) text: Box<str>,
    /// The text has no features, so it duplicates nothing.
    pub(super) is_empty: bool,
    pub(super) fingerprint: u128,
    /// Distinct features.
    pub(super) features: u32,
    pub(super) measure: Measure,
    pub(super) set: ShingleSet,
}

impl Prepared {
    /// True if the text has no features. Such a document duplicates nothing and founds a group of its own.
    pub fn is_empty(&self) -> bool {
        self.content.is_empty
    }

    /// Distinct words, their roles, and how often each occurs.
    pub(super) fn words(&self) -> Vec<StoryWord<'_>> {
        self.words.of(&self.content.text).collect()
    }

    pub(super) fn opening(&self) -> &[u32] {
        self.words.opening()
    }

    /// The host of its address; empty without one.
    pub(super) fn host(&self) -> String {
        self.url.as_deref().map_or_else(String::new, host)
    }
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
        let content = Content {
            is_empty: analysis.is_empty(),
            fingerprint: analysis.fingerprint,
            features: analysis.features,
            measure: analysis.measure,
            set: ShingleSet::new(self.shingler.shingle(canonical, analysis.measure)),
            text: canonical.into(),
        };
        let words = if canonical.is_empty() {
            WordCounts::default()
        } else {
            WordCounts::count(canonical, self.words.cut(canonical))
        };
        Prepared {
            name: document.name.into(),
            title: title(document.title, document.text).into(),
            url: document.url.map(Into::into),
            time: document.time,
            score: document.score.filter(|score| !score.is_nan()),
            length: document.text.len() as u64,
            content,
            words,
        }
    }
}

#[cfg(test)]
mod tests {
    use twinprint_cluster::stories::{SENTENCE_BREAK, WordRole};

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
        let words = [
            ("the", WordRole::Stop, 2),
            ("cat", WordRole::Term, 2),
            ("hat", WordRole::Term, 1),
        ];
        let words = words.map(|(text, role, occurrences)| StoryWord {
            text,
            role,
            occurrences,
        });
        assert_eq!(prepared.words(), words);
        assert_eq!(prepared.opening(), [0, 1, 0, 2, 1]);
    }

    #[test]
    fn ideographs_are_parted_where_a_clause_ends() {
        let prepared = prepare("湖人赢球，湖人队");
        assert_eq!(
            prepared
                .opening()
                .iter()
                .filter(|&&word| word == SENTENCE_BREAK)
                .count(),
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
    }

    #[test]
    fn a_text_without_words_is_empty() {
        let empty = prepare("…!");
        assert!(empty.content.is_empty && empty.words().is_empty() && empty.content.text.is_empty());
    }
}
