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

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::recency::Recency;

mod centres;
mod exact;
mod options;
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
pub use vector::Weighted;
pub use vocabulary::{Role, Vocabulary};

use centres::{Centres, fingerprint};
use exact::ln;
use story::{Contribution, Exemplar};
use vector::{keep_heaviest, norm};

/// Heaviest terms of an item's vector.
const ITEM_TERMS: usize = 128;
/// Words kept of how an exemplar begins.
pub const OPENING: usize = 96;
/// Stands between two words of an opening that belong to different sentences.
pub const BREAK: u32 = u32::MAX;

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
    pub words: &'a [(&'a str, Role, u32)],
    /// How it begins, at most [`OPENING`] words: places in `words`, and [`BREAK`] where no name goes on.
    pub opening: &'a [u32],
}

/// Where an item ended up.
#[derive(Clone, Debug, PartialEq)]
pub struct Joined {
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
            let openings = |story: &Story| -> Vec<u32> {
                let opening = story.exemplars.iter().flat_map(|exemplar| &exemplar.opening);
                opening
                    .copied()
                    .chain(story.weights().map(|weighted| weighted.term))
                    .collect()
            };
            let needed: BTreeSet<u32> = self.live.values().flat_map(openings).collect();
            self.vocabulary.forget(&needed);
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
        self.recency.touch(id, story.touched, now);
        story.touched = now;
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
            self.recency.remove(id, story.touched);
            self.centres.remove(id);
            self.live.remove(&id);
        }
        true
    }

    /// The numbers of an item's words, and how often each occurs.
    fn numbers(&mut self, item: &Representative<'_>) -> Vec<(u32, u32)> {
        let vocabulary = &mut self.vocabulary;
        let number = |&(word, role, times): &(&str, Role, u32)| (vocabulary.number(word, role), times);
        item.words.iter().map(number).collect()
    }

    /// An item's vector of length 1, and how often each of its terms occurs.
    fn vector(&self, words: &[(u32, u32)]) -> (Vec<Weighted>, Vec<u32>) {
        let terms = words
            .iter()
            .filter(|&&(word, _)| self.vocabulary.role(word) == Role::Term);
        let mut weighted: Vec<(Weighted, u32)> = terms
            .map(|&(term, times)| {
                let weight = (1.0 + ln(f64::from(times.max(1)))) * self.vocabulary.rarity(term);
                let weight = weight as f32;
                (Weighted { term, weight }, times)
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
        let text = |weighted: &Weighted| self.vocabulary.text(weighted.term).to_owned();
        let (vector, _) = self.vector(&words);
        vector
            .iter()
            .map(|weighted| (text(weighted), weighted.weight))
            .collect()
    }

    /// Places an item seen at `now` by the clock of the stream, which must not go back. O(live stories), with a small constant.
    pub fn place(&mut self, item: &Representative<'_>, now: i64) -> Joined {
        let words = self.numbers(item);
        match self.ahead.checked_sub(1) {
            Some(ahead) => self.ahead = ahead,
            None => self.vocabulary.count(&words),
        }
        let (vector, occurrences) = self.vector(&words);
        let total = words
            .iter()
            .filter(|&&(word, _)| self.vocabulary.role(word) == Role::Term)
            .map(|&(_, times)| u64::from(times));
        let number = |&place: &u32| words.get(place as usize).map_or(BREAK, |&(word, _)| word);
        let contribution = Contribution {
            words: total.sum(),
            site: item.site,
            time: item.time,
            exemplar: Exemplar {
                document: item.document,
                title: item.title.into(),
                opening: item.opening.iter().take(OPENING).map(number).collect(),
            },
            vector,
            occurrences,
        };
        let near = match self.options.method {
            Method::Nearest => self.near(&contribution.vector),
            Method::EqualBits(bits) => self.equal(&contribution.vector, bits, item.document),
        };
        let Some(&(cosine, id)) = near.first() else {
            self.begin(item.document, contribution, now);
            return Joined {
                story: item.document,
                cosine: 1.0,
                merged: Vec::new(),
            };
        };
        let half_life = self.options.half_life;
        if let Some(story) = self.live.get_mut(&id) {
            story.add(contribution, now, half_life);
        }
        self.grow(id, item.time, now);
        let (story, merged) = self.merge(id, near.get(1..).unwrap_or_default(), now);
        if let Some(story) = self.live.get(&story) {
            self.centres
                .put(story.id, fingerprint(story.weights(), &self.vocabulary));
        }
        Joined {
            story,
            cosine,
            merged,
        }
    }

    /// The live stories whose cosine with a vector reaches the threshold, the nearest first (ties: the older).
    fn near(&mut self, vector: &[Weighted]) -> Vec<(f64, u64)> {
        if vector.is_empty() {
            return Vec::new();
        }
        let at = fingerprint(vector.iter().copied(), &self.vocabulary);
        let candidates = self
            .centres
            .nearest(at, self.options.threshold, self.options.compared);
        self.counts.compared += candidates.len() as u64;
        let cosine = |id: u64| self.live.get(&id).map(|story| (story.cosine(vector), id));
        let mut near: Vec<(f64, u64)> = candidates
            .into_iter()
            .filter_map(cosine)
            .filter(|&(cosine, _)| cosine >= self.options.threshold)
            .collect();
        near.sort_unstable_by(|(a, x), (b, y)| b.total_cmp(a).then(x.cmp(y)));
        near
    }

    /// The live story of a vector's leading bits, which the document stands for if there is none.
    fn equal(&mut self, vector: &[Weighted], bits: u32, document: u64) -> Vec<(f64, u64)> {
        let [first, _] = fingerprint(vector.iter().copied(), &self.vocabulary);
        let value = first as u32 & ((1u64 << bits.min(32)) - 1) as u32;
        let story = self.by_bits.get(&value).and_then(|id| self.live.get(id));
        if let Some(story) = story {
            vec![(story.cosine(vector), story.id)]
        } else {
            self.by_bits.insert(value, document);
            Vec::new()
        }
    }

    fn begin(&mut self, id: u64, contribution: Contribution, now: i64) {
        let time = contribution.time;
        let story = Story::new(id, contribution, now);
        self.centres
            .put(id, fingerprint(story.weights(), &self.vocabulary));
        self.live.insert(id, story);
        self.recency.insert(id, now);
        self.counts.begun += 1;
        self.grow(id, time, now);
    }

    /// Merges a story that has changed with those of `near` whose centre is within the merge threshold; the story it is then.
    fn merge(&mut self, mut id: u64, near: &[(f64, u64)], now: i64) -> (u64, Vec<u64>) {
        let mut merged = Vec::new();
        let (Some(least), Method::Nearest) = (self.options.merge, self.options.method) else {
            return (id, merged);
        };
        for &(_, other) in near {
            let cosine = match (self.live.get(&id), self.live.get(&other)) {
                (Some(a), Some(b)) => a.cosine_of_centres(b),
                _ => continue,
            };
            if cosine < least {
                continue;
            }
            let (older, younger) = (id.min(other), id.max(other));
            let Some(gone) = self.live.remove(&younger) else {
                continue;
            };
            self.centres.remove(younger);
            self.recency.remove(younger, gone.touched);
            self.redirects.insert(younger, older);
            self.counts.merged += 1;
            if let Some(story) = self.live.get_mut(&older) {
                let before = story.touched;
                story.merge(gone, now, self.options.half_life);
                story.touched = now;
                self.recency.touch(older, before, now);
            }
            merged.push(younger);
            id = older;
        }
        (id, merged)
    }
}
