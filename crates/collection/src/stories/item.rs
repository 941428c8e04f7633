//! A document as the stories see it: its title, its site, its words and how it begins. It does not need the text any more, and can be
//! written down, so that its place can be found again whatever is kept of the text.

use serde::{Deserialize, Serialize};
use twinprint_cluster::stories::{Representative, StoryWord, WordRole};
use twinprint_fingerprint::HashKey;

use twinprint_stream::words::{WordCounts, host, title};

/// What is placed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Item {
    title: String,
    site: u64,
    words: Vec<(Box<str>, WordRole, u32)>,
    opening: Vec<u32>,
}

impl Item {
    /// Of a document by its parts; `counts` are of its canonical text.
    pub(crate) fn new(
        given: Option<&str>,
        url: Option<&str>,
        text: &str,
        (canonical, counts): (&str, &WordCounts),
    ) -> Self {
        let site = host(url.unwrap_or_default());
        let words = counts.of(canonical);
        Self {
            title: title(given, text),
            site: twinprint_fingerprint::hash_one(&HashKey::PUBLIC, site.as_bytes()) as u64,
            words: words
                .map(|word| (word.text.into(), word.role, word.occurrences))
                .collect(),
            opening: counts.opening().to_vec(),
        }
    }

    /// The bytes, before they are compressed.
    pub(crate) fn encode(&self) -> Vec<u8> {
        // Strings and numbers can always be written.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Out of compressed bytes; none where they are something else.
    pub(crate) fn unpack(packed: &[u8]) -> Option<Self> {
        let bytes = zstd::stream::decode_all(packed).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Calls `place` with the document as the engine takes it.
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
    fn items_come_back() {
        let text = "Rain over the harbour: 湖人赢球，湖人队";
        let canonical = twinprint_text::canonical(text);
        let mut words = twinprint_text::Words::default();
        let counts = WordCounts::count(&canonical, words.cut(&canonical));
        let item = Item::new(None, Some("http://A.example/1"), text, (&canonical, &counts));
        let packed = zstd::bulk::compress(&item.encode(), 1).unwrap();
        assert_eq!(Item::unpack(&packed), Some(item.clone()));
        assert_eq!(Item::unpack(&packed[1..]), None);
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
