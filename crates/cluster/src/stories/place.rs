//! Places an item: finds the stories near it, adds it to a story or begins one, and merges stories.

use super::centres::fingerprint;
use super::options::Method;
use super::story::{Contribution, Exemplar, Story};
use super::vector::TermWeight;
use super::vocabulary::WordRole;
use super::{MAX_OPENING_WORDS, Representative, SENTENCE_BREAK, Stories, StoryPlacement};

impl Stories {
    /// Places an item in a story. `now` is the time of the stream in seconds; it must not decrease from call to call.
    ///
    /// O(live stories) with a small constant.
    pub fn place(&mut self, item: &Representative<'_>, now: i64) -> StoryPlacement {
        let words = self.numbers(item);
        if let Some(ahead) = self.ahead.checked_sub(1) {
            self.ahead = ahead;
        } else {
            self.vocabulary.count(&words);
            self.take_sample(&words);
        }
        self.estimate_thresholds();
        let (vector, occurrences) = self.vector(&words);
        let total = words
            .iter()
            .filter(|&&(word, _)| self.vocabulary.role(word) == WordRole::Term)
            .map(|&(_, occurrences)| u64::from(occurrences));
        let number = |&position: &u32| {
            words
                .get(position as usize)
                .map_or(SENTENCE_BREAK, |&(word, _)| word)
        };
        let contribution = Contribution {
            words: total.sum(),
            site: item.site,
            time: item.time,
            exemplar: Exemplar {
                document: item.document,
                title: item.title.into(),
                opening: item.opening.iter().take(MAX_OPENING_WORDS).map(number).collect(),
            },
            vector,
            occurrences,
        };
        let near = match self.options.method {
            Method::Nearest => self.near(&contribution.vector),
            Method::EqualBits(bits) => self.with_equal_bits(&contribution.vector, bits, item.document),
        };
        let Some(&(cosine, id)) = near.first() else {
            self.begin(item.document, contribution, now);
            return StoryPlacement {
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
        StoryPlacement {
            story,
            cosine,
            merged,
        }
    }

    /// Finds the live stories whose cosine with a vector reaches the threshold, the nearest first (ties: the older).
    fn near(&mut self, vector: &[TermWeight]) -> Vec<(f64, u64)> {
        if vector.is_empty() {
            return Vec::new();
        }
        let threshold = self.thresholds().join;
        let query = fingerprint(vector.iter().copied(), &self.vocabulary);
        let candidates = self.centres.nearest(query, threshold, self.options.compared);
        self.counts.compared += candidates.len() as u64;
        let cosine = |id: u64| self.live.get(&id).map(|story| (story.cosine(vector), id));
        let mut near: Vec<(f64, u64)> = candidates
            .into_iter()
            .filter_map(cosine)
            .filter(|&(cosine, _)| cosine >= threshold)
            .collect();
        near.sort_unstable_by(|(a, x), (b, y)| b.total_cmp(a).then(x.cmp(y)));
        near
    }

    /// Finds the live story that has the leading bits of the vector's fingerprint. If no live story has them, they are
    /// assigned to the story that `document` begins.
    fn with_equal_bits(&mut self, vector: &[TermWeight], bits: u32, document: u64) -> Vec<(f64, u64)> {
        let [first, ..] = fingerprint(vector.iter().copied(), &self.vocabulary);
        let value = first as u32 & ((1u64 << bits.min(32)) - 1) as u32;
        let story = self.by_bits.get(&value).and_then(|id| self.live.get(id));
        if let Some(story) = story {
            vec![(story.cosine(vector), story.id)]
        } else {
            self.by_bits.insert(value, document);
            Vec::new()
        }
    }

    /// Begins a story with one member. `id` is the number of its document.
    fn begin(&mut self, id: u64, contribution: Contribution, now: i64) {
        let time = contribution.time;
        let story = Story::new(id, contribution, now);
        self.centres
            .put(id, fingerprint(story.weights(), &self.vocabulary));
        self.live.insert(id, story);
        self.counts.begun += 1;
        self.grow(id, time, now);
    }

    /// Merges the story `id`, whose centre has changed, with those stories of `near` whose centres reach the merge
    /// threshold. Returns the id of the story that remains, and the ids of the stories merged into it.
    fn merge(&mut self, mut id: u64, near: &[(f64, u64)], now: i64) -> (u64, Vec<u64>) {
        let mut merged = Vec::new();
        let (Some(min_cosine), Method::Nearest) = (self.thresholds().merge, self.options.method) else {
            return (id, merged);
        };
        for &(_, other) in near {
            let cosine = match (self.live.get(&id), self.live.get(&other)) {
                (Some(a), Some(b)) => a.cosine_of_centres(b),
                _ => continue,
            };
            if cosine < min_cosine {
                continue;
            }
            let (older, younger) = (id.min(other), id.max(other));
            let Some(gone) = self.live.remove(&younger) else {
                continue;
            };
            self.centres.remove(younger);
            self.recency.remove(younger);
            self.redirects.insert(younger, older);
            self.counts.merged += 1;
            if let Some(story) = self.live.get_mut(&older) {
                story.merge(gone, now, self.options.half_life);
                self.recency.touch(older, now);
            }
            merged.push(younger);
            id = older;
        }
        (id, merged)
    }
}
