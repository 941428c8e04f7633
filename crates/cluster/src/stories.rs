//! Stories of a stream: loose clusters by terms and time, formed one item at a time.
//!
//! An item stands for a whole duplicate group, because copies would otherwise outweigh everything else. Its vector has
//! its heaviest terms with the weights (1 + ln tf) · ln((n + 1)/(df + ½)), where n and df are the counts so far. The
//! item joins the live story whose centre has the highest cosine with it, if that reaches the threshold; otherwise it
//! begins a story. Unless it is given, the threshold is estimated from the first items ([`Estimate`]). A centre is the
//! sum of its members' vectors, each halved once per half-life since the member was seen, cut to its heaviest terms.
//! Fingerprints of the centres find the nearest stories, and the cosine decides. A story that has gained a member merges
//! with each of the item's other near stories whose centre reaches the merge threshold; the older id stays, and the
//! younger becomes a redirect. A story that gains no member within a window of time is retired.
//!
//! This is topic detection as in the TDT programme (Allan, Papka and Lavrenko 1998), with hashing for the search as in
//! Petrović, Osborne and Lavrenko (2010). All arithmetic gives the same result on every machine, so the stories depend
//! only on the order of the items.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::recency::Recency;

mod centres;
mod estimate;
mod exact;
mod options;
mod place;
mod stored;
mod story;
#[cfg(test)]
mod tests;
mod thresholds;
mod topic;
mod vector;
mod vocabulary;

pub use estimate::{Basis, COSINE_INTERVALS, CosineHistogram, Estimate, Trial};
pub use options::{Method, StoryOptions, Threshold};
pub use story::Story;
pub use thresholds::{MAX_SAMPLE, Thresholds};
pub use topic::{Topic, TopicTerm};
pub use vector::TermWeight;
pub use vocabulary::{Vocabulary, WordRole};

use centres::{Centres, fingerprint};
use exact::ln;
use thresholds::{MAX_SAMPLED_TERMS, Sample};
use vector::{keep_heaviest, norm};

/// The maximum number of terms of an item's vector. The heaviest terms are used.
const MAX_ITEM_TERMS: usize = 128;
/// The maximum number of words of an item's opening: the words at the beginning of its text.
pub const MAX_OPENING_WORDS: usize = 96;
/// A marker in an opening between two words of different sentences.
pub const SENTENCE_BREAK: u32 = u32::MAX;

/// An item to be placed in a story. It represents a duplicate group.
#[derive(Clone, Copy, Debug)]
pub struct Representative<'a> {
    /// The number of the item's document in the stream.
    pub document: u64,
    /// The time at which the item was seen, in seconds.
    pub time: i64,
    /// A hash of the item's site. All items without a site have the same value.
    pub site: u64,
    /// The item's title, or, without one, the beginning of its text.
    pub title: &'a str,
    /// The item's distinct words.
    pub words: &'a [StoryWord<'a>],
    /// The first words of the item, at most [`MAX_OPENING_WORDS`], as positions in `words`. A [`SENTENCE_BREAK`] is at
    /// every position that a name cannot extend across.
    pub opening: &'a [u32],
}

/// A distinct word of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoryWord<'a> {
    /// The word, in canonical form.
    pub text: &'a str,
    /// The role of the word in topics.
    pub role: WordRole,
    /// Number of occurrences of the word in the item.
    pub occurrences: u32,
}

/// The story that an item was placed in.
#[derive(Clone, Debug, PartialEq)]
pub struct StoryPlacement {
    /// The id of the story.
    pub story: u64,
    /// The cosine between the item and the story's centre before the item joined; 1 if the item began the story.
    pub cosine: f64,
    /// The ids of the stories that were merged because of this item.
    pub merged: Vec<u64>,
}

/// Counts of the work done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoryCounts {
    /// Number of cosines computed between items and centres.
    pub compared: u64,
    /// Number of stories begun.
    pub begun: u64,
    /// Number of stories merged into others.
    pub merged: u64,
    /// Number of stories retired.
    pub retired: u64,
}

/// The stories of a stream.
///
/// Memory is bounded by the live stories and the vocabulary, plus 16 bytes for each story that was ever merged into
/// another, and the sample of items from which the thresholds are estimated (at most 8 MB).
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
    /// Not serialized; [`Stories::restored`] sets the options after deserialization.
    #[serde(skip)]
    options: StoryOptions,
    vocabulary: Vocabulary,
    live: BTreeMap<u64, Story>,
    redirects: BTreeMap<u64, u64>,
    /// Used with [`Method::EqualBits`]: maps each value of the leading bits to its story.
    by_bits: BTreeMap<u32, u64>,
    recency: Recency,
    /// Number of items that [`Stories::count_ahead`] has counted and that are not placed yet.
    ahead: u64,
    counts: StoryCounts,
    /// Empty in states of versions that did not estimate thresholds.
    #[serde(default)]
    sample: Sample,
    #[serde(skip)]
    centres: Centres,
    #[serde(skip)]
    retired: Vec<(Story, Topic)>,
}

impl Stories {
    /// Creates a clustering without stories.
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
            sample: Sample::default(),
            centres: Centres::default(),
            retired: Vec::new(),
        }
    }

    /// Returns these stories with the given options, and rebuilds everything that is not serialized. Needed after
    /// deserialization.
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

    /// Counts of the work done so far: cosines, and stories begun, merged and retired.
    pub fn counts(&self) -> StoryCounts {
        self.counts
    }

    /// The thresholds in force: for the next item, or, if the sample has grown enough, until the next item.
    pub fn thresholds(&self) -> Thresholds {
        self.sample.thresholds(&self.options)
    }

    /// The latest estimate of the thresholds; `None` if both are given, or before the first estimate.
    pub fn estimate(&self) -> Option<&Estimate> {
        self.sample.estimate.as_ref()
    }

    /// The live stories, by ascending id.
    pub fn live(&self) -> impl ExactSizeIterator<Item = &Story> {
        self.live.values()
    }

    /// Returns a live story by its id; `None` if the story was merged or retired.
    pub fn get(&self, story: u64) -> Option<&Story> {
        self.live.get(&story)
    }

    /// The topic of a live story. O(terms of the centre and of the exemplars).
    pub fn topic(&self, story: &Story) -> Topic {
        topic::topic(story, &self.vocabulary)
    }

    /// The number of the document whose title is the title of the story's topic; `None` if no exemplar of the story has
    /// a title.
    pub fn titled_by(&self, story: &Story) -> Option<u64> {
        story.most_central().map(|exemplar| exemplar.document)
    }

    /// For each merged story, by ascending id: its id, and the id of the story that it was merged into.
    pub fn redirects(&self) -> impl ExactSizeIterator<Item = (u64, u64)> + '_ {
        self.redirects.iter().map(|(&from, &to)| (from, to))
    }

    /// The vocabulary: the terms of all items seen, with their counts.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// Returns the id of the story that `story` is part of after all merges; `story` itself if it was never merged into
    /// another.
    pub fn resolve(&self, mut story: u64) -> u64 {
        while let Some(&into) = self.redirects.get(&story) {
            story = into;
        }
        story
    }

    /// Returns the stories that were retired since the last call, each with its topic when it was retired, and removes
    /// them.
    pub fn take_retired(&mut self) -> Vec<(Story, Topic)> {
        std::mem::take(&mut self.retired)
    }

    /// Counts an item's words in the vocabulary before [`place`](Self::place) is called for it. `place` then does not
    /// count the words of that number of items again.
    ///
    /// If the first items of a stream are counted before any of them is placed, the weights of terms are better
    /// estimates.
    pub fn count_ahead(&mut self, item: &Representative<'_>) {
        let words = self.numbers(item);
        self.vocabulary.count(&words);
        self.take_sample(&words);
        self.ahead += 1;
    }

    /// Adds an item to the sample, if thresholds are estimated and the sample is not complete.
    fn take_sample(&mut self, words: &[(u32, u32)]) {
        if self.options.estimates() && !self.sample.is_complete() {
            let heaviest = self.heaviest(words, MAX_SAMPLED_TERMS).into_iter();
            self.sample
                .add(heaviest.map(|(weighted, times)| (weighted.term, times)).collect());
        }
    }

    /// Estimates the thresholds again if the sample has grown enough.
    fn estimate_thresholds(&mut self) {
        if self.options.estimates() && self.sample.is_due() {
            let vectors: Vec<Vec<TermWeight>> = self
                .sample
                .items
                .iter()
                .map(|words| self.vector(words).0)
                .collect();
            self.sample.set(estimate::estimate(&vectors));
        }
    }

    /// Retires the stories that gained no member within [`StoryOptions::window`], and those least recently joined above
    /// the limit [`StoryOptions::live`]. `now` is the time of the stream in seconds; it must not decrease from call to
    /// call.
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
            let vocabulary = &self.vocabulary;
            self.sample.retain(|word| vocabulary.role(word) == WordRole::Term);
        }
    }

    /// Adds a document to a story without comparing it: it is a duplicate of a document that is in the story. Returns
    /// `false` if the story is no longer live.
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

    /// Removes a document from a story. Its title and opening are dropped. Its weight in the centre stays, because
    /// other items were compared with that centre. If no document remains, the story is removed too. Returns `false` if
    /// the story is not live.
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

    /// Converts an item's words into their numbers in the vocabulary, each with its occurrences. New words are added to
    /// the vocabulary.
    fn numbers(&mut self, item: &Representative<'_>) -> Vec<(u32, u32)> {
        let vocabulary = &mut self.vocabulary;
        let number = |word: &StoryWord<'_>| (vocabulary.number(word.text, word.role), word.occurrences);
        item.words.iter().map(number).collect()
    }

    /// The heaviest terms of an item, at most `limit`, sorted by term: each with its weight and its number of
    /// occurrences.
    fn heaviest(&self, words: &[(u32, u32)], limit: usize) -> Vec<(TermWeight, u32)> {
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
        keep_heaviest(&mut weighted, limit, |(weighted, _)| *weighted);
        weighted
    }

    /// An item's vector, scaled to length 1, and the number of occurrences of each of its terms.
    fn vector(&self, words: &[(u32, u32)]) -> (Vec<TermWeight>, Vec<u32>) {
        let mut weighted = self.heaviest(words, MAX_ITEM_TERMS);
        let norm = norm(weighted.iter().map(|(weighted, _)| weighted.weight));
        for (weighted, _) in &mut weighted {
            weighted.weight = (f64::from(weighted.weight) / norm) as f32;
        }
        weighted.into_iter().unzip()
    }

    /// The vector by which [`place`](Self::place) would place an item now, as terms and weights. Its length is 1.
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
