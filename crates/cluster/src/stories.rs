//! Stories of a stream: loose clusters by terms and time, one item at a time.
//!
//! An item is the representative of a duplicate group, because copies would outweigh everything else. Its vector
//! has the weights (1 + ln tf) · ln((n + 1)/(df + ½)) of its heaviest terms, with df and n as counted so far. It
//! joins the live story whose centre has the highest cosine with it, if that reaches the threshold, or begins a
//! story. A centre is the sum of its members' vectors, each halved with every half-life that has passed, cut to
//! its heaviest terms. Centres are found by their fingerprints, and the cosine decides. A story that has gained a
//! member merges with each of the item's other near stories whose centre is within the merge threshold; the older
//! id stays and the other becomes a redirect. A story that gains no member for a window of time is retired.
//!
//! This is topic detection as in the TDT programme (Allan, Papka and Lavrenko 1998), with hashing for the search
//! as in Petrović, Osborne and Lavrenko (2010). Arithmetic is exact or rounded the same on every machine, so that
//! the result depends only on the order of items.

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

/// The maximum number of terms of an item's vector, the heaviest.
const MAX_ITEM_TERMS: usize = 128;
/// The maximum number of words of an item's opening.
pub const MAX_OPENING_WORDS: usize = 96;
/// Stands between two words of different sentences in an opening.
pub const SENTENCE_BREAK: u32 = u32::MAX;

/// An item to be placed.
#[derive(Clone, Copy, Debug)]
pub struct Representative<'a> {
    /// Its number in the stream.
    pub document: u64,
    /// The time at which it was seen, in seconds.
    pub time: i64,
    /// A hash of its site; the same for all items without a site.
    pub site: u64,
    /// Its title, or else the beginning of its text.
    pub title: &'a str,
    /// Its distinct words.
    pub words: &'a [StoryWord<'a>],
    /// Its first words, at most [`MAX_OPENING_WORDS`]: positions in `words`, with a [`SENTENCE_BREAK`] wherever a
    /// name cannot continue.
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
    /// The cosine of the item and the centre before it joined; 1 for the first member.
    pub cosine: f64,
    /// The stories that this item merged into it.
    pub merged: Vec<u64>,
}

/// Counters of the work done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoryCounts {
    /// Cosines computed.
    pub compared: u64,
    /// Stories begun.
    pub begun: u64,
    /// Stories merged into others.
    pub merged: u64,
    /// Stories retired.
    pub retired: u64,
}

/// The stories of a stream.
///
/// Memory is bounded by the live stories and the vocabulary, plus 16 bytes for each story that was ever merged into
/// another.
///
/// ```
/// use twinprint_cluster::stories::{Representative, Stories, StoryOptions, StoryWord, WordRole};
///
/// let mut stories = Stories::new(StoryOptions::default());
/// let mut place = |document: u64, text: &str| {
///     let words: Vec<StoryWord> = text
///         .split(' ')
///         .map(|text| StoryWord { text, role: WordRole::Term, occurrences: 1 })
///         .collect();
///     let opening: Vec<u32> = (0..words.len() as u32).collect();
///     let item = Representative { document, time: 0, site: 0, title: text, words: &words, opening: &opening };
///     stories.place(&item, 0).story
/// };
/// assert_eq!(place(0, "earthquake strikes northern coast"), 0);
/// assert_eq!(place(1, "parliament votes on budget"), 1);
/// assert_eq!(place(2, "strong earthquake strikes coast"), 0);
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stories {
    /// Not serialized; see [`Stories::restored`].
    #[serde(skip)]
    options: StoryOptions,
    vocabulary: Vocabulary,
    live: BTreeMap<u64, Story>,
    redirects: BTreeMap<u64, u64>,
    /// With [`Method::EqualBits`]: the story of each value of the leading bits.
    by_bits: BTreeMap<u32, u64>,
    recency: Recency,
    /// Items counted ahead that are not placed yet.
    ahead: u64,
    counts: StoryCounts,
    #[serde(skip)]
    centres: Centres,
    #[serde(skip)]
    retired: Vec<(Story, Topic)>,
}

impl Stories {
    /// Creates a value without stories.
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

    /// These stories with the given options, and with everything rebuilt that a deserialized state lacks.
    #[must_use]
    pub fn restored(self, options: StoryOptions) -> Self {
        let mut stories = Self { options, ..self };
        stories.vocabulary.rebuild();
        stories.centres = Centres::default();
        for (&id, story) in &mut stories.live {
            story.measure();
            let centre = fingerprint(story.weights(), &stories.vocabulary);
            stories.centres.put(id, centre);
        }
        stories
    }

    /// Counters of the work done.
    pub fn counts(&self) -> StoryCounts {
        self.counts
    }

    /// Live stories by id.
    pub fn live(&self) -> impl ExactSizeIterator<Item = &Story> {
        self.live.values()
    }

    /// A live story by its id.
    pub fn get(&self, story: u64) -> Option<&Story> {
        self.live.get(&story)
    }

    /// The topic of a live story. O(terms of its centre and exemplars).
    pub fn topic(&self, story: &Story) -> Topic {
        topic::topic(story, &self.vocabulary)
    }

    /// The document whose title the story's topic has; `None` if no member kept has a title.
    pub fn titled_by(&self, story: &Story) -> Option<u64> {
        story.most_central().map(|exemplar| exemplar.document)
    }

    /// The merged stories, each with the story it was merged into, by id.
    pub fn redirects(&self) -> impl ExactSizeIterator<Item = (u64, u64)> + '_ {
        self.redirects.iter().map(|(&from, &to)| (from, to))
    }

    /// The vocabulary of the items seen.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// The id of the story that a story was merged into, directly or not; the same id if it was not merged.
    pub fn resolve(&self, mut story: u64) -> u64 {
        while let Some(&into) = self.redirects.get(&story) {
            story = into;
        }
        story
    }

    /// The stories retired since the last call, with their topics at that time.
    pub fn take_retired(&mut self) -> Vec<(Story, Topic)> {
        std::mem::take(&mut self.retired)
    }

    /// Counts an item's words ahead of [`place`](Self::place), which does not count that number of items again.
    ///
    /// Term weights are better estimated if the first items of a stream are counted before any of them is placed.
    pub fn count_ahead(&mut self, item: &Representative<'_>) {
        let words = self.numbers(item);
        self.vocabulary.count(&words);
        self.ahead += 1;
    }

    /// Retires the stories without a new member within the window, and the oldest of those above the limit. `now`
    /// must not go back.
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
            self.vocabulary.evict(needed);
        }
    }

    /// Counts a further document of a story, a duplicate of one of its documents. Returns whether the story is live.
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

    /// Removes a document of a story. Its title and opening are dropped; its weight in the centre stays, because
    /// other items were compared with it. A story without documents is removed too. Returns whether the story was
    /// live.
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

    /// The numbers of an item's words with their occurrences.
    fn numbers(&mut self, item: &Representative<'_>) -> Vec<(u32, u32)> {
        let vocabulary = &mut self.vocabulary;
        let number = |word: &StoryWord<'_>| (vocabulary.number(word.text, word.role), word.occurrences);
        item.words.iter().map(number).collect()
    }

    /// An item's vector of length 1, and the occurrences of each of its terms.
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
        keep_heaviest(&mut weighted, MAX_ITEM_TERMS, |(weighted, _)| *weighted);
        let norm = norm(weighted.iter().map(|(weighted, _)| weighted.weight));
        for (weighted, _) in &mut weighted {
            weighted.weight = (f64::from(weighted.weight) / norm) as f32;
        }
        weighted.into_iter().unzip()
    }

    /// The unit vector by which an item would be placed now, as terms and weights.
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
