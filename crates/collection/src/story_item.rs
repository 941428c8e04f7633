//! The features by which a document is placed in a story: its title, site, words and opening.
//!
//! The item of a document is stored in the story log. So a placement can be replayed without the text, which the
//! collection may not store.

use serde::{Deserialize, Serialize};
use twinprint_cluster::stories::{Representative, StoryWord, WordRole};
use twinprint_fingerprint::HashKey;

use twinprint_stream::words::{WordCounts, host, title};

/// The features by which a document is placed in a story.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoryItem {
    title: String,
    site: u64,
    words: Vec<(Box<str>, WordRole, u32)>,
    opening: Vec<u32>,
}

/// A canonical text together with the counts of its words.
pub(crate) struct CountedText<'a> {
    pub(crate) canonical: &'a str,
    pub(crate) counts: &'a WordCounts,
}

impl StoryItem {
    /// Makes the item of a document. If `given_title` is `None`, the title is taken from the text.
    pub(crate) fn new(
        given_title: Option<&str>,
        url: Option<&str>,
        text: &str,
        counted: &CountedText<'_>,
    ) -> Self {
        let site = host(url.unwrap_or_default());
        let words = counted.counts.of(counted.canonical);
        Self {
            title: title(given_title, text),
            site: twinprint_fingerprint::hash_one(&HashKey::PUBLIC, site.as_bytes()) as u64,
            words: words
                .map(|word| (word.text.into(), word.role, word.occurrences))
                .collect(),
            opening: counted.counts.opening().to_vec(),
        }
    }

    /// Encodes the item as JSON, without compression.
    pub(crate) fn encode(&self) -> Vec<u8> {
        // Strings and numbers can always be serialized.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Decompresses and decodes an item; `None` if the bytes are not an item.
    pub(crate) fn unpack(packed: &[u8]) -> Option<Self> {
        let bytes = zstd::stream::decode_all(packed).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Converts the item to the type that the story engine accepts, and passes it to `place`.
    pub(crate) fn represent<T>(
        &self,
        document: u64,
        time: i64,
        place: impl FnOnce(&Representative<'_>) -> T,
    ) -> T {
        let words = self.words.iter().map(|(word, role, occurrences)| StoryWord {
            text: word,
            role: *role,
            occurrences: *occurrences,
        });
        place(&Representative {
            document,
            time,
            site: self.site,
            title: &self.title,
            words: &words.collect::<Vec<_>>(),
            opening: &self.opening,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_round_trip() {
        let text = "Rain over the harbour: 湖人赢球，湖人队";
        let canonical = twinprint_text::canonical(text);
        let mut words = twinprint_text::Words::default();
        let counts = WordCounts::count(&canonical, words.cut(&canonical));
        let item = StoryItem::new(
            None,
            Some("http://A.example/1"),
            text,
            &CountedText {
                canonical: &canonical,
                counts: &counts,
            },
        );
        let packed = zstd::bulk::compress(&item.encode(), 1).unwrap();
        assert_eq!(StoryItem::unpack(&packed), Some(item.clone()));
        assert_eq!(StoryItem::unpack(&packed[1..]), None);
        item.represent(7, 9, |item| {
            assert_eq!((item.document, item.time, item.title), (7, 9, text));
            let rain = StoryWord {
                text: "rain",
                role: WordRole::Term,
                occurrences: 1,
            };
            assert!(item.words.contains(&rain));
        });
    }
}
