//! Stories of a stream: loose clusters by terms and time, one item at a time.
//!
//! An item is the representative of a duplicate group, since copies would outweigh everything else. Its vector holds the weights
//! (1 + ln tf) · ln((n + 1)/(df + ½)) of its heaviest terms, df and n as counted so far. It joins the live story whose centre has the highest
//! cosine with it, if that reaches the threshold, or begins a story. A centre is the sum of its members' vectors, each halved
//! with every half-life that has gone by, cut to its heaviest terms. Centres are found by their fingerprints ([`centres`](self)) and decided
//! on by the cosine. When a story has gained a member, it merges with any of the item's other near stories whose centre is within the merge
//! threshold; the older id stays, the other becomes a redirect. A story that gains nothing for a window of time is retired.
//!
//! This is topic detection as in the TDT programme (Allan, Papka and Lavrenko 1998), with hashing for the search as in Petrović, Osborne
//! and Lavrenko (2010). Arithmetic is exact or rounded the same everywhere, so that the result depends on the order of items alone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::recency::Recency;

mod centres;
mod exact;
mod options;
mod place;
mod stored;
mod story;
#[cfg(test)]
mod tests;
mod topic;
mod vector;
mod vocabulary;

pub use options::{Method, StoryOptions};
pub use story::Story;
pub use topic::{Topic, TopicTerm};
pub use vector::TermWeight;
pub use vocabulary::{Vocabulary, WordRole};

use centres::{Centres, fingerprint};
use exact::ln;
use vector::{keep_heaviest, norm};

/// Heaviest terms of an item's vector.
const ITEM_TERMS: usize = 128;
/// Words kept of how an exemplar begins.
pub const MAX_OPENING_WORDS: usize = 96;
/// Stands between two words of an opening that belong to different sentences.
pub const SENTENCE_BREAK: u32 = u32::MAX;

/// An item to be placed.
#[derive(Clone, Copy, Debug)]
pub struct Representative<'a> {
    /// Its number in the stream.
    pub document: u64,
    /// When it was seen, in seconds.
    pub time: i64,
    /// Where it stands, by a hash; the same for all items without a place.
    pub site: u64,
    /// Its title, or how it begins.
    pub title: &'a str,
    /// Its distinct words, what they are good for, and how often each occurs.
    pub words: &'a [StoryWord<'a>],
    /// How it begins, at most [`MAX_OPENING_WORDS`] words: places in `words`, and [`SENTENCE_BREAK`] where no name goes on.
    pub opening: &'a [u32],
}

/// A distinct word of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoryWord<'a> {
    /// The word, in canonical form.
    pub text: &'a str,
    /// Its use in topics.
    pub role: WordRole,
    /// Occurrences in the item.
    pub occurrences: u32,
}

/// The story that an item was placed in.
#[derive(Clone, Debug, PartialEq)]
pub struct StoryPlacement {
    /// The story.
    pub story: u64,
    /// The cosine with its centre before; 1 for the first member.
    pub cosine: f64,
    /// Stories that are now part of it.
    pub merged: Vec<u64>,
}

/// What was done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoryCounts {
    /// Cosines computed.
    pub compared: u64,
    /// Stories ever begun.
    pub begun: u64,
    /// Stories merged into others.
    pub merged: u64,
    /// Stories retired.
    pub retired: u64,
}

/// The stories of a stream. Memory is bounded by the live stories and the vocabulary, beside 16 bytes for each story ever merged into another.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stories {
    /// Not stored; see [`Stories::restored`].
    #[serde(skip)]
    options: StoryOptions,
    vocabulary: Vocabulary,
    live: BTreeMap<u64, Story>,
    redirects: BTreeMap<u64, u64>,
    /// With [`Method::EqualBits`]: the story of each value.
    by_bits: BTreeMap<u32, u64>,
    recency: Recency,
    /// Items counted ahead of being placed.
    ahead: u64,
    counts: StoryCounts,
    #[serde(skip)]
    centres: Centres,
    #[serde(skip)]
    retired: Vec<(Story, Topic)>,
}

impl Stories {
    /// No stories.
    pub fn new(options: StoryOptions) -> Self {
        Self {
            vocabulary: Vocabulary::new(options.vocabulary),
            options,
            live: BTreeMap::new(),
            redirects: BTreeMap::new(),
            by_bits: BTreeMap::new(),
            recency: Recency::default(),
            ahead: 0,
            counts: StoryCounts::default(),
            centres: Centres::default(),
            retired: Vec::new(),
        }
    }

    /// These stories after reading a stored state, which has no options and nothing that can be made anew.
    #[must_use]
    pub fn restored(self, options: StoryOptions) -> Self {
        let mut stories = Self { options, ..self };
        stories.vocabulary.rebuild();
        stories.centres = Centres::default();
        for (&id, story) in &mut stories.live {
            story.measure();
            let at = fingerprint(story.weights(), &stories.vocabulary);
            stories.centres.put(id, at);
        }
        stories
    }

    /// What was done so far.
    pub fn counts(&self) -> StoryCounts {
        self.counts
    }

    /// Live stories by id.
    pub fn live(&self) -> impl ExactSizeIterator<Item = &Story> {
        self.live.values()
    }

    /// A live story.
    pub fn get(&self, story: u64) -> Option<&Story> {
        self.live.get(&story)
    }

    /// What a live story is about. O(terms of its centre and exemplars).
    pub fn topic(&self, story: &Story) -> Topic {
        topic::topic(story, &self.vocabulary)
    }

    /// The document whose title a story has.
    pub fn titled_by(&self, story: &Story) -> Option<u64> {
        story.most_central().map(|exemplar| exemplar.document)
    }

    /// Stories that are now part of others, and of which.
    pub fn redirects(&self) -> impl ExactSizeIterator<Item = (u64, u64)> + '_ {
        self.redirects.iter().map(|(&from, &to)| (from, to))
    }

    /// The words known.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// The story that has become of one.
    pub fn resolve(&self, mut story: u64) -> u64 {
        while let Some(&into) = self.redirects.get(&story) {
            story = into;
        }
        story
    }

    /// The stories retired since the last call, with their topics as of then.
    pub fn take_retired(&mut self) -> Vec<(Story, Topic)> {
        std::mem::take(&mut self.retired)
    }

    /// Counts an item's words ahead of [`place`](Self::place), which will not count so many items then: what terms weigh is
    /// better known when the first items of a stream have been seen before any of them is placed.
    pub fn count_ahead(&mut self, item: &Representative<'_>) {
        let words = self.numbers(item);
        self.vocabulary.count(&words);
        self.ahead += 1;
    }

    /// Retires what has gained nothing since the window, or is too much. `now` must not go back.
    pub fn advance(&mut self, now: i64) {
        let since = self
            .options
            .window
            .map_or(i64::MIN, |window| now.saturating_sub(window));
        while let Some(id) = self.recency.expired(since, self.options.live) {
            if let Some(story) = self.live.remove(&id) {
                self.centres.remove(id);
                self.counts.retired += 1;
                let topic = self.topic(&story);
                self.retired.push((story, topic));
            }
        }
        if self.vocabulary.is_crowded() {
            let needed = self.live.values().flat_map(|story| {
                let openings = story.exemplars.iter().flat_map(|exemplar| &exemplar.opening);
                openings
                    .copied()
                    .chain(story.weights().map(|weighted| weighted.term))
            });
            self.vocabulary.forget(needed);
        }
    }

    /// Another document of a story, a duplicate of one it has. Whether the story is live.
    pub fn grow(&mut self, story: u64, time: i64, now: i64) -> bool {
        let id = self.resolve(story);
        let Some(story) = self.live.get_mut(&id) else {
            return false;
        };
        story.size += 1;
        story.seen = [story.seen[0].min(time), story.seen[1].max(time)];
        self.recency.touch(id, now);
        true
    }

    /// A document of a story is no more. Its title and how it begins are forgotten; what it weighs in the centre stays, which others were
    /// compared with. A story without documents is no more either. Whether the story was live.
    pub fn shrink(&mut self, story: u64, document: u64) -> bool {
        let id = self.resolve(story);
        let Some(story) = self.live.get_mut(&id) else {
            return false;
        };
        story.size = story.size.saturating_sub(1);
        story.exemplars.retain(|exemplar| exemplar.document != document);
        if story.size == 0 {
            self.recency.remove(id);
            self.centres.remove(id);
            self.live.remove(&id);
        }
        true
    }

    /// The numbers of an item's words, and how often each occurs.
    fn numbers(&mut self, item: &Representative<'_>) -> Vec<(u32, u32)> {
        let vocabulary = &mut self.vocabulary;
        let number = |word: &StoryWord<'_>| (vocabulary.number(word.text, word.role), word.occurrences);
        item.words.iter().map(number).collect()
    }

    /// An item's vector of length 1, and how often each of its terms occurs.
    fn vector(&self, words: &[(u32, u32)]) -> (Vec<TermWeight>, Vec<u32>) {
        let terms = words
            .iter()
            .filter(|&&(word, _)| self.vocabulary.role(word) == WordRole::Term);
        let mut weighted: Vec<(TermWeight, u32)> = terms
            .map(|&(term, times)| {
                let weight = (1.0 + ln(f64::from(times.max(1)))) * self.vocabulary.rarity(term);
                let weight = weight as f32;
                (TermWeight { term, weight }, times)
            })
            .filter(|(weighted, _)| weighted.weight > 0.0)
            .collect();
        weighted.sort_unstable_by_key(|(weighted, _)| weighted.term);
        keep_heaviest(&mut weighted, ITEM_TERMS, |(weighted, _)| *weighted);
        let norm = norm(weighted.iter().map(|(weighted, _)| weighted.weight));
        for (weighted, _) in &mut weighted {
            weighted.weight = (f64::from(weighted.weight) / norm) as f32;
        }
        weighted.into_iter().unzip()
    }

    /// An item's vector as it would be placed now: terms and weights, of length 1.
    pub fn vector_of(&mut self, item: &Representative<'_>) -> Vec<(String, f32)> {
        let words = self.numbers(item);
        let text = |weighted: &TermWeight| self.vocabulary.text(weighted.term).to_owned();
        let (vector, _) = self.vector(&words);
        vector
            .iter()
            .map(|weighted| (text(weighted), weighted.weight))
            .collect()
    }
}
