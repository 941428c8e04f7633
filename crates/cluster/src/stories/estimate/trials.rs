//! Trial clusterings of a sample: the stories that its items form at a threshold, and how well they are separated.
//!
//! A trial places the items in their order as [`Stories::place`](super::super::Stories::place) does, but without
//! fingerprints, times and topics. Each item is compared with all centres that share a term, through an inverted index.
//!
//! The silhouette (Rousseeuw 1987, of similarities) of an item is (a − b) / max(a, b). Here a is its mean cosine with
//! the other items of its story, and b its highest mean cosine with the items of another story, or with all other items
//! if that is higher. It is 0 for an item that is alone in its story. The silhouette of a clustering is the mean of its
//! items. It is near 1 if the items are much nearer to their stories than to all others. It is about 0 or negative if
//! stories belong together or are mixed. A single story of all items has 0.
//!
//! Invariant: a story without members has no terms, and is in no list of the index.

use super::super::story::MAX_CENTRE_TERMS;
use super::super::vector::{TermWeight, dot, keep_heaviest, merged, norm};

/// The thresholds of trials. Below the lowest, even the centres of unrelated subjects are near; above the highest, items
/// are versions of one text.
pub(super) const THRESHOLDS: [f64; 12] = [0.02, 0.03, 0.04, 0.06, 0.08, 0.12, 0.16, 0.2, 0.25, 0.3, 0.4, 0.5];
/// The maximum number of items of a trial. A trial takes time in proportion to the square.
pub(super) const MAX_TRIAL_ITEMS: usize = 1000;

/// The cosines of pairs of items.
#[derive(Debug, Default)]
pub(super) struct CosineMatrix {
    /// For each item, its cosines with the items before it.
    rows: Vec<Vec<f32>>,
}

impl CosineMatrix {
    /// Adds an item with its cosines with the items added before.
    pub(super) fn push(&mut self, cosines: &[f64]) {
        self.rows
            .push(cosines.iter().map(|&cosine| cosine as f32).collect());
    }

    /// The mean silhouette of the items. `stories` has the number of each item's story; the numbers are below the number
    /// of items. O(items²).
    pub(super) fn silhouette(&self, stories: &[usize]) -> f64 {
        let items = self.rows.len();
        let count = stories.iter().max().map_or(0, |&last| last + 1);
        let mut sizes = vec![0.0f64; count];
        for &story in stories {
            sizes[story] += 1.0;
        }
        // For each item, the sums of its cosines with the items of each story.
        let mut sums = vec![0.0f32; items * count];
        for (item, row) in self.rows.iter().enumerate() {
            for (other, &cosine) in row.iter().enumerate() {
                sums[item * count + stories[other]] += cosine;
                sums[other * count + stories[item]] += cosine;
            }
        }
        let mut total = 0.0;
        for (sums, &own) in sums.chunks_exact(count.max(1)).zip(stories) {
            if sizes[own] < 2.0 {
                continue;
            }
            let within = f64::from(sums[own]) / (sizes[own] - 1.0);
            let all: f64 = sums.iter().copied().map(f64::from).sum();
            let mut other = all / (items as f64 - 1.0);
            for (story, (&sum, &size)) in sums.iter().zip(&sizes).enumerate() {
                if story != own && f64::from(sum) > other * size {
                    other = f64::from(sum) / size;
                }
            }
            let larger = within.max(other);
            if larger > 0.0 {
                total += (within - other) / larger;
            }
        }
        total / items.max(1) as f64
    }
}

/// A story of a trial.
#[derive(Clone, Debug, Default)]
struct TrialStory {
    /// The sum of the vectors of the members, cut to its heaviest terms.
    centre: Vec<TermWeight>,
    /// The Euclidean length of the centre.
    norm: f64,
    members: Vec<usize>,
}

/// The items of trials.
pub(super) struct TrialSample {
    /// The vectors, with terms numbered from 0 in their order.
    vectors: Vec<Vec<TermWeight>>,
    /// True for each term that several items have. Other terms are in no list of the index.
    shared: Vec<bool>,
    /// The stories of the present trial.
    stories: Vec<TrialStory>,
    /// For each term, the stories whose centres have it, each with the weight of the term.
    index: Vec<Vec<(u32, f32)>>,
}

impl TrialSample {
    /// Prepares items for trials. Their vectors have length 1 and are sorted by term.
    pub(super) fn new(vectors: &[&[TermWeight]]) -> Self {
        let terms = || vectors.iter().copied().flatten();
        let mut numbers: Vec<u32> = terms().map(|weighted| weighted.term).collect();
        numbers.sort_unstable();
        let runs = numbers.chunk_by(|a, b| a == b);
        let shared: Vec<bool> = runs.map(|items| items.len() > 1).collect();
        numbers.dedup();
        let renumbered = |weighted: &TermWeight| TermWeight {
            term: numbers.partition_point(|&term| term < weighted.term) as u32,
            weight: weighted.weight,
        };
        Self {
            vectors: vectors
                .iter()
                .map(|vector| vector.iter().map(renumbered).collect())
                .collect(),
            index: vec![Vec::new(); shared.len()],
            shared,
            stories: Vec::new(),
        }
    }

    /// Forms stories at the given thresholds of joining and merging. Returns the number of each item's story, from 0.
    pub(super) fn stories(&mut self, join: f64, merge: f64) -> Vec<usize> {
        self.stories.clear();
        for list in &mut self.index {
            list.clear();
        }
        for item in 0..self.vectors.len() {
            self.place(item, join, merge);
        }
        let mut numbers = vec![0; self.vectors.len()];
        let live = self.stories.iter().filter(|story| !story.members.is_empty());
        for (number, story) in live.enumerate() {
            for &item in &story.members {
                numbers[item] = number;
            }
        }
        numbers
    }

    fn place(&mut self, item: usize, join: f64, merge: f64) {
        let vector = std::mem::take(&mut self.vectors[item]);
        let near = self.near(&vector, join);
        let mut story = near.first().map_or(self.stories.len(), |&(_, nearest)| nearest);
        if story == self.stories.len() {
            self.stories.push(TrialStory::default());
        }
        self.stories[story].members.push(item);
        self.add(story, &vector);
        self.vectors[item] = vector;
        for &(_, other) in near.get(1..).unwrap_or_default() {
            let (a, b) = (&self.stories[story], &self.stories[other]);
            let product = dot(a.centre.iter().copied(), b.centre.iter().copied());
            if product / (a.norm * b.norm) >= merge {
                let (older, younger) = (story.min(other), story.max(other));
                let centre = self.replace(younger, Vec::new());
                let members = std::mem::take(&mut self.stories[younger].members);
                self.stories[older].members.extend(members);
                self.add(older, &centre);
                story = older;
            }
        }
    }

    /// The stories whose centres have at least the cosine `join` with a vector, the nearest first (ties: the older).
    fn near(&self, vector: &[TermWeight], join: f64) -> Vec<(f64, usize)> {
        let mut products = vec![0.0f64; self.stories.len()];
        for &TermWeight { term, weight } in vector {
            for &(story, other) in &self.index[term as usize] {
                products[story as usize] += f64::from(weight) * f64::from(other);
            }
        }
        let mut near: Vec<(f64, usize)> = Vec::new();
        for (number, (product, story)) in products.into_iter().zip(&self.stories).enumerate() {
            if product > 0.0 && product / story.norm >= join {
                near.push((product / story.norm, number));
            }
        }
        near.sort_unstable_by(|(a, x), (b, y)| b.total_cmp(a).then(x.cmp(y)));
        near
    }

    /// Adds a vector to the centre of a story.
    fn add(&mut self, story: usize, vector: &[TermWeight]) {
        let both = |a: TermWeight, b: TermWeight| TermWeight {
            weight: a.weight + b.weight,
            ..a
        };
        let old = self.stories[story].centre.iter().copied();
        let mut centre = merged(old, vector.iter().copied(), |weighted| weighted.term, both);
        keep_heaviest(&mut centre, MAX_CENTRE_TERMS, |&weighted| weighted);
        self.replace(story, centre);
    }

    /// Replaces the centre of a story, and updates the index. Returns the old centre.
    fn replace(&mut self, number: usize, centre: Vec<TermWeight>) -> Vec<TermWeight> {
        let story = &mut self.stories[number];
        let old = std::mem::replace(&mut story.centre, centre);
        story.norm = norm(story.centre.iter().map(|weighted| weighted.weight));
        let removed = old.iter().map(|&weighted| (weighted, true));
        let added = story.centre.iter().map(|&weighted| (weighted, false));
        let changes = merged(removed, added, |(weighted, _)| weighted.term, |_, added| added);
        for (TermWeight { term, weight }, is_removed) in changes {
            if !self.shared[term as usize] {
                continue;
            }
            let list = &mut self.index[term as usize];
            match list.iter().position(|&(story, _)| story as usize == number) {
                Some(position) if is_removed => {
                    list.swap_remove(position);
                }
                Some(position) => list[position].1 = weight,
                None => list.push((number as u32, weight)),
            }
        }
        old
    }
}
