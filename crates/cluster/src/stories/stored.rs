//! The binary form of stories: their complete state, fast to write and to read.
//!
//! Numbers are little-endian. Lists and strings begin with their length. The fingerprints of the centres and the
//! hyperplane rows of the terms are not stored, because they are computed from the other data. There is no checksum:
//! callers that store the bytes add one.
//!
//! Invariant: stories that were encoded and decoded place further items exactly as the original stories do, and encode
//! to the same bytes. Decoding any other bytes returns `None` or some stories, and never panics.

use std::collections::BTreeMap;

use super::story::{CentreTerm, Exemplar, Sites, Story};
use super::thresholds::Sample;
use super::vector::TermWeight;
use super::vocabulary::{Vocabulary, VocabularyEntry, WordRole};
use super::{Stories, StoryCounts, StoryOptions};

mod sample;

/// The byte that stands for a free number of the vocabulary, instead of a word's role.
const FREE_ENTRY: u8 = 255;

/// Writes values. The field has the bytes written so far.
#[derive(Default)]
struct Encoder(Vec<u8>);

/// Reads values. The field has the bytes that are not read yet.
struct Decoder<'b>(&'b [u8]);

impl Encoder {
    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        self.0.extend_from_slice(&bytes);
    }

    fn u32(&mut self, n: u32) {
        self.put(n.to_le_bytes());
    }

    fn u64(&mut self, n: u64) {
        self.put(n.to_le_bytes());
    }

    fn i64(&mut self, n: i64) {
        self.put(n.to_le_bytes());
    }

    fn f64(&mut self, x: f64) {
        self.put(x.to_le_bytes());
    }

    /// Writes the length of a list in 32 bits. That is enough: a list of 2³² elements would not fit into memory.
    fn length(&mut self, n: usize) {
        self.u32(n as u32);
    }

    fn text(&mut self, text: &str) {
        self.length(text.len());
        self.0.extend_from_slice(text.as_bytes());
    }

    fn sites(&mut self, sites: Sites) {
        match sites {
            Sites::Many => self.put([0]),
            Sites::One(site) => {
                self.put([1]);
                self.u64(site);
            }
        }
    }
}

impl<'b> Decoder<'b> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn i64(&mut self) -> Option<i64> {
        self.take().map(i64::from_le_bytes)
    }

    fn f64(&mut self) -> Option<f64> {
        self.take().map(f64::from_le_bytes)
    }

    /// Reads a list, with `one` for each element. Never reserves more elements than bytes are left, because a damaged
    /// length can be any number.
    fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let length = self.u32()? as usize;
        let mut list = Vec::with_capacity(length.min(self.0.len()));
        for _ in 0..length {
            list.push(one(self)?);
        }
        Some(list)
    }

    fn text(&mut self) -> Option<&'b str> {
        let length = self.u32()? as usize;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        std::str::from_utf8(text).ok()
    }

    fn sites(&mut self) -> Option<Sites> {
        match self.take()? {
            [0] => Some(Sites::Many),
            [1] => self.u64().map(Sites::One),
            _ => None,
        }
    }
}

impl Stories {
    /// Encodes the state as bytes. The options are not included. The sample is included if thresholds are estimated.
    /// Linear in the live stories, the vocabulary and the sample.
    ///
    /// ```
    /// use twinprint_cluster::stories::{Stories, StoryOptions};
    ///
    /// let stories = Stories::new(StoryOptions::default());
    /// let bytes = stories.encode();
    /// assert!(Stories::decode(&bytes, StoryOptions::default()).is_some());
    /// assert!(Stories::decode(&bytes[1..], StoryOptions::default()).is_none());
    /// ```
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Encoder::default();
        self.vocabulary.write(&mut out);
        out.length(self.live.len());
        // The stories are written in the order in which they were last seen, so that decoding restores this order.
        for (last_seen, id) in self.recency.iter() {
            if let Some(story) = self.live.get(&id) {
                story.write(last_seen, &mut out);
            }
        }
        out.length(self.redirects.len());
        for (&from, &to) in &self.redirects {
            out.u64(from);
            out.u64(to);
        }
        out.length(self.by_bits.len());
        for (&bits, &story) in &self.by_bits {
            out.u32(bits);
            out.u64(story);
        }
        let counts = self.counts;
        for n in [
            self.ahead,
            counts.compared,
            counts.begun,
            counts.merged,
            counts.retired,
        ] {
            out.u64(n);
        }
        if self.options.estimates() {
            self.sample.write(&mut out);
        }
        out.0
    }

    /// Decodes the bytes that [`encode`](Self::encode) returned, and sets the options; `None` if the bytes are invalid.
    pub fn decode(bytes: &[u8], options: StoryOptions) -> Option<Self> {
        let input = &mut Decoder(bytes);
        let vocabulary = Vocabulary::read(input)?;
        let live = input.list(Story::read)?;
        let redirects = input.list(|input| Some((input.u64()?, input.u64()?)))?;
        // Each redirect must refer to an older story, so that following redirects always ends.
        if redirects.iter().any(|(from, to)| from <= to) {
            return None;
        }
        let by_bits = input.list(|input| Some((input.u32()?, input.u64()?)))?;
        let ahead = input.u64()?;
        let counts = StoryCounts {
            compared: input.u64()?,
            begun: input.u64()?,
            merged: input.u64()?,
            retired: input.u64()?,
        };
        let sample = if options.estimates() {
            Sample::read(input)?
        } else {
            Sample::default()
        };
        if !input.0.is_empty() {
            return None;
        }
        let mut stories = Self {
            vocabulary,
            live: BTreeMap::new(),
            redirects: redirects.into_iter().collect(),
            by_bits: by_bits.into_iter().collect(),
            ahead,
            counts,
            sample,
            ..Self::new(options.clone())
        };
        for (last_seen, story) in live {
            stories.recency.touch(story.id, last_seen);
            stories.live.insert(story.id, story);
        }
        Some(stories.restored(options))
    }
}

impl Vocabulary {
    fn write(&self, out: &mut Encoder) {
        out.length(self.entries.len());
        for entry in &self.entries {
            let Some(entry) = entry else {
                out.put([FREE_ENTRY]);
                continue;
            };
            out.put([match entry.role {
                WordRole::Term => 0,
                WordRole::Part => 1,
                WordRole::Stop => 2,
            }]);
            out.u32(entry.items);
            out.u64(entry.occurrences);
            out.text(&entry.text);
        }
        out.length(self.free.len());
        for &number in &self.free {
            out.u32(number);
        }
        for n in [
            self.max_terms as u64,
            self.evict_above as u64,
            self.items,
            self.occurrences,
        ] {
            out.u64(n);
        }
    }

    fn read(input: &mut Decoder<'_>) -> Option<Self> {
        let entries = input.list(|input| {
            let role = match input.take()? {
                [0] => WordRole::Term,
                [1] => WordRole::Part,
                [2] => WordRole::Stop,
                [FREE_ENTRY] => return Some(None),
                _ => return None,
            };
            let (items, occurrences) = (input.u32()?, input.u64()?);
            Some(Some(VocabularyEntry::new(
                input.text()?,
                role,
                items,
                occurrences,
            )))
        })?;
        let free = input.list(Decoder::u32)?;
        let count = entries.len() as u32;
        if free.iter().any(|&number| number >= count) {
            return None;
        }
        let mut number = || input.u64().and_then(|n| usize::try_from(n).ok());
        let mut vocabulary = Self::new(number()?);
        vocabulary.evict_above = number()?;
        vocabulary.items = input.u64()?;
        vocabulary.occurrences = input.u64()?;
        vocabulary.entries = entries;
        vocabulary.free = free;
        Some(vocabulary)
    }
}

impl Story {
    /// Writes the story, with the time at which it was last seen.
    fn write(&self, last_seen: i64, out: &mut Encoder) {
        out.u64(self.id);
        out.u64(self.size);
        out.u32(self.members);
        for time in [self.seen[0], self.seen[1], last_seen, self.weights_time] {
            out.i64(time);
        }
        out.u64(self.words);
        out.sites(self.sites);
        out.length(self.merged.len());
        for &story in &self.merged {
            out.u64(story);
        }
        out.length(self.centre.len());
        for term in &self.centre {
            out.u32(term.weighted.term);
            out.put(term.weighted.weight.to_le_bytes());
            out.u32(term.occurrences);
            out.u32(term.members);
            out.sites(term.sites);
        }
        out.length(self.exemplars.len());
        for exemplar in &self.exemplars {
            out.u64(exemplar.document);
            out.text(&exemplar.title);
            out.length(exemplar.opening.len());
            for &word in &exemplar.opening {
                out.u32(word);
            }
        }
    }

    /// Reads a story. Also returns the time at which the story was last seen.
    fn read(input: &mut Decoder<'_>) -> Option<(i64, Self)> {
        let [id, size] = [input.u64()?, input.u64()?];
        let members = input.u32()?;
        let seen = [input.i64()?, input.i64()?];
        let last_seen = input.i64()?;
        let story = Self {
            id,
            size,
            members,
            seen,
            weights_time: input.i64()?,
            words: input.u64()?,
            sites: input.sites()?,
            merged: input.list(Decoder::u64)?,
            centre: input.list(|input| {
                Some(CentreTerm {
                    weighted: TermWeight {
                        term: input.u32()?,
                        weight: f32::from_le_bytes(input.take()?),
                    },
                    occurrences: input.u32()?,
                    members: input.u32()?,
                    sites: input.sites()?,
                })
            })?,
            norm: 0.0,
            exemplars: input.list(|input| {
                Some(Exemplar {
                    document: input.u64()?,
                    title: input.text()?.into(),
                    opening: input.list(Decoder::u32)?.into(),
                })
            })?,
        };
        Some((last_seen, story))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Threshold;
    use super::super::tests::place;
    use super::*;

    fn news(most: usize) -> impl Strategy<Value = Vec<String>> {
        let text = |words: Vec<u8>| {
            let words: Vec<String> = words.iter().map(|word| format!("w{word}")).collect();
            words.join(" ")
        };
        proptest::collection::vec(proptest::collection::vec(0u8..40, 1..7).prop_map(text), 1..most)
    }

    proptest! {
        #[test]
        fn stories_decoded_from_their_bytes_place_items_as_the_original(news in news(60), at in 0usize..60) {
            let options = StoryOptions {
                window: Some(20), half_life: Some(10), vocabulary: 30, threshold: Threshold::Given(0.2), merge: Some(Threshold::Given(0.4)), ..StoryOptions::default()
            };
            let mut original = Stories::new(options.clone());
            let mut reloaded = Stories::new(options.clone());
            for (n, text) in (0..).zip(&news) {
                if n == (at % news.len()) as u64 {
                    let bytes = reloaded.encode();
                    reloaded = Stories::decode(&bytes, options.clone()).unwrap();
                    prop_assert_eq!(reloaded.encode(), bytes);
                }
                prop_assert_eq!(place(&mut original, n, n as i64, text), place(&mut reloaded, n, n as i64, text));
                prop_assert_eq!(original.take_retired().len(), reloaded.take_retired().len());
            }
            prop_assert_eq!(original.encode(), reloaded.encode());
        }

        #[test]
        fn damaged_bytes_cause_no_panic(news in news(12), at: prop::sample::Index, bit in 0u8..8) {
            let mut stories = Stories::new(StoryOptions::default());
            for (n, text) in (0..).zip(&news) {
                place(&mut stories, n, 0, text);
            }
            let mut bytes = stories.encode();
            let at = at.index(bytes.len());
            prop_assert!(Stories::decode(&bytes[..at], StoryOptions::default()).is_none());
            bytes[at] ^= 1 << bit;
            let _something = Stories::decode(&bytes, StoryOptions::default());
        }
    }
}
