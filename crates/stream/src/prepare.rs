//! Preparation of documents: all work on a document that does not depend on other documents, so that many threads can
//! share it.

use std::fmt;

use twinprint_cluster::stories::StoryWord;
use twinprint_fingerprint::HashKey;
use twinprint_text::{PreparationKeys, PreparedText, Profile, TextPreparer, Words};

use super::words::{WordCounts, host, title};

/// A document, as the caller gives it to a stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document<'a> {
    /// The name of the document, such as an id. Several documents may have the same name.
    pub name: &'a str,
    /// The text of the document.
    pub text: &'a str,
    /// The title of the document; `None` means the first line of the text.
    pub title: Option<&'a str>,
    /// The URL of the document.
    pub url: Option<&'a str>,
    /// The time of the document, in seconds since 1970; `None` means the current time of the stream's clock.
    pub time: Option<i64>,
    /// The caller's rating of the document, by which a group may choose its canonical member. NaN means no rating.
    pub score: Option<f64>,
}

/// A prepared document, ready to be placed.
#[derive(Debug)]
pub struct Prepared {
    pub(super) name: Box<str>,
    pub(super) title: Box<str>,
    pub(super) url: Option<Box<str>>,
    pub(super) time: Option<i64>,
    pub(super) score: Option<f64>,
    pub(super) length: u64,
    pub(super) text: PreparedText,
    pub(super) words: WordCounts,
}

impl Prepared {
    /// Returns `true` if the text has no features. Such a document is not a duplicate of anything and founds a group of
    /// its own.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The distinct words of the text, with their roles and their numbers of occurrences.
    pub(super) fn words(&self) -> Vec<StoryWord<'_>> {
        self.words.of(self.text.canonical()).collect()
    }

    /// The first words of the text, as indexes into [`words`](Self::words).
    pub(super) fn opening(&self) -> &[u32] {
        self.words.opening()
    }

    /// The host of the document's URL; empty without a URL.
    pub(super) fn host(&self) -> String {
        self.url.as_deref().map_or_else(String::new, host)
    }
}

/// Prepares documents for one stream. Its buffers are reused; use one preparer for each thread.
pub struct Preparer {
    texts: TextPreparer,
    words: Words,
}

impl fmt::Debug for Preparer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Preparer").finish_non_exhaustive()
    }
}

impl Preparer {
    /// Makes a preparer for a profile. `key` is the key of the shingle hash.
    pub(super) fn new(profile: &Profile, key: HashKey) -> Self {
        let keys = PreparationKeys {
            features: HashKey::PUBLIC,
            shingles: key,
        };
        Self {
            texts: TextPreparer::new(profile, keys),
            words: Words::default(),
        }
    }

    /// Prepares a document. Linear in the length of its text.
    pub fn prepare(&mut self, document: &Document<'_>) -> Prepared {
        let text = self.texts.prepare(document.text);
        // Every document needs the shingle set in its own measure. The set in the other measure is made only if a
        // leader needs it.
        self.texts.shingle(&text);
        let canonical = text.canonical();
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
            text,
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
    fn ideographs_are_split_where_a_clause_ends() {
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
    fn a_missing_title_is_the_first_line() {
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
        assert!(empty.is_empty() && empty.words().is_empty() && empty.text.canonical().is_empty());
    }
}
