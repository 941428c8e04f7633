//! A story: its centre, the counts for its topic, and its exemplars, a few members with title and opening.

use serde::{Deserialize, Serialize};

use super::exact::halved;
use super::vector::{TermWeight, dot, keep_heaviest, merged, norm};

/// The maximum number of terms of a centre.
pub(super) const MAX_CENTRE_TERMS: usize = 256;
/// The maximum number of exemplars of a story: members whose title and opening are stored.
pub(super) const MAX_EXEMPLARS: usize = 8;

/// A term of a centre.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct CentreTerm {
    /// The number of the term, and its weight: the sum of its weights in the members, of which older ones are decayed.
    #[serde(rename = "of")]
    pub(super) weighted: TermWeight,
    /// Number of occurrences of the term in members, without decay.
    pub(super) occurrences: u32,
    /// Number of members that have the term.
    pub(super) members: u32,
    /// The sites of the members that have the term.
    pub(super) sites: Sites,
}

/// The sites of some members. Topics need to know only whether there are several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Sites {
    /// All members are on one site; the value is its hash.
    One(u64),
    /// The members are on several sites.
    Many,
}

impl Sites {
    /// The sites of the members of both values together.
    fn union(self, other: Self) -> Self {
        if self == other { self } else { Self::Many }
    }
}

/// A member of a story whose title and opening are stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Exemplar {
    /// The number of the member's document in the stream.
    #[serde(default)]
    pub(super) document: u64,
    /// The title of the member; empty if it has none.
    pub(super) title: Box<str>,
    /// The first words of the member, as numbers in the vocabulary.
    pub(super) opening: Box<[u32]>,
}

/// The contribution of a new member to a story.
pub(super) struct Contribution {
    /// The member's vector, sorted by term.
    pub(super) vector: Vec<TermWeight>,
    /// The number of occurrences of each term of the vector, in the same order.
    pub(super) occurrences: Vec<u32>,
    /// The number of occurrences of all terms, including terms that are not in the vector.
    pub(super) words: u64,
    /// A hash of the member's site.
    pub(super) site: u64,
    /// The time at which the member was seen, in seconds.
    pub(super) time: i64,
    pub(super) exemplar: Exemplar,
}

/// A story: documents about one event or subject that are close in time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Story {
    /// The id of the story: the number of its first document in the stream.
    pub id: u64,
    /// Number of documents in the story, duplicates included.
    pub size: u64,
    /// Number of members: documents that were placed by their vector. Each duplicate group has one.
    pub members: u32,
    /// The times at which the first and the last document were seen, in seconds.
    pub seen: [i64; 2],
    /// The ids of the stories that were merged into this one.
    pub merged: Vec<u64>,
    pub(super) sites: Sites,
    /// The time up to which the weights of the centre are decayed, in seconds.
    #[serde(rename = "weighed")]
    pub(super) weights_time: i64,
    /// The terms of the centre, sorted by number.
    pub(super) centre: Vec<CentreTerm>,
    /// The Euclidean length of the centre; recomputed after deserialization.
    #[serde(skip)]
    pub(super) norm: f64,
    /// Number of occurrences of terms in all members.
    pub(super) words: u64,
    pub(super) exemplars: Vec<Exemplar>,
}

/// The factor by which a weight decays within `age` seconds; 1 if `half_life` is `None`.
fn decay(age: i64, half_life: Option<i64>) -> f64 {
    match half_life {
        Some(half_life) if half_life > 0 => halved(age.max(0) as f64 / half_life as f64),
        _ => 1.0,
    }
}

impl Story {
    pub(super) fn new(id: u64, contribution: Contribution, now: i64) -> Self {
        let mut story = Self {
            id,
            size: 0,
            members: 0,
            seen: [contribution.time; 2],
            merged: Vec::new(),
            sites: Sites::One(contribution.site),
            weights_time: now,
            centre: Vec::new(),
            norm: 0.0,
            words: 0,
            exemplars: Vec::new(),
        };
        story.add(contribution, now, None);
        story
    }

    /// The titles of the exemplars, a few of the most central members.
    pub fn titles(&self) -> impl Iterator<Item = &str> {
        let titles = self.exemplars.iter().map(|exemplar| &*exemplar.title);
        titles.filter(|title| !title.is_empty())
    }

    /// The terms of the centre with their weights, sorted by term.
    pub(super) fn weights(&self) -> impl Iterator<Item = TermWeight> + '_ {
        self.centre.iter().map(|term| term.weighted)
    }

    /// The cosine between the centre and a vector of length 1.
    pub(super) fn cosine(&self, vector: &[TermWeight]) -> f64 {
        if self.norm > 0.0 {
            dot(vector.iter().copied(), self.weights()) / self.norm
        } else {
            0.0
        }
    }

    /// The cosine between the centres of two stories.
    pub(super) fn cosine_of_centres(&self, other: &Self) -> f64 {
        let norms = self.norm * other.norm;
        if norms > 0.0 {
            dot(self.weights(), other.weights()) / norms
        } else {
            0.0
        }
    }

    /// Adds a member. Linear in the terms of the member and of the centre.
    pub(super) fn add(&mut self, contribution: Contribution, now: i64, half_life: Option<i64>) {
        let site = Sites::One(contribution.site);
        self.members = self.members.saturating_add(1);
        self.words += contribution.words;
        self.seen = [
            self.seen[0].min(contribution.time),
            self.seen[1].max(contribution.time),
        ];
        self.sites = self.sites.union(site);
        let vector = contribution.vector.iter().zip(&contribution.occurrences);
        let terms = vector.map(|(&weighted, &occurrences)| CentreTerm {
            weighted,
            occurrences,
            members: 1,
            sites: site,
        });
        self.join(terms.collect(), 1.0, now, half_life);
        self.keep(contribution.exemplar);
    }

    /// Adds the members and the counts of another story, which then no longer exists.
    pub(super) fn merge(&mut self, other: Self, now: i64, half_life: Option<i64>) {
        self.size += other.size;
        self.members = self.members.saturating_add(other.members);
        self.words += other.words;
        self.seen = [self.seen[0].min(other.seen[0]), self.seen[1].max(other.seen[1])];
        self.sites = self.sites.union(other.sites);
        self.merged.push(other.id);
        self.merged.extend(other.merged);
        let factor = decay(now - other.weights_time, half_life);
        self.join(other.centre, factor, now, half_life);
        for exemplar in other.exemplars {
            self.keep(exemplar);
        }
    }

    /// Decays the centre to the time `now`, and then adds `terms`, with their weights multiplied by `factor`.
    fn join(&mut self, terms: Vec<CentreTerm>, factor: f64, now: i64, half_life: Option<i64>) {
        let own = decay(now - self.weights_time, half_life);
        self.weights_time = now.max(self.weights_time);
        let scaled = |mut term: CentreTerm, factor: f64| {
            term.weighted.weight = (f64::from(term.weighted.weight) * factor) as f32;
            term
        };
        let old = std::mem::take(&mut self.centre).into_iter();
        let both = |a: CentreTerm, b: CentreTerm| CentreTerm {
            weighted: TermWeight {
                term: a.weighted.term,
                weight: a.weighted.weight + b.weighted.weight,
            },
            occurrences: a.occurrences.saturating_add(b.occurrences),
            members: a.members.saturating_add(b.members),
            sites: a.sites.union(b.sites),
        };
        self.centre = merged(
            old.map(|term| scaled(term, own)),
            terms.into_iter().map(|term| scaled(term, factor)),
            |term| term.weighted.term,
            both,
        );
        keep_heaviest(&mut self.centre, MAX_CENTRE_TERMS, |term| term.weighted);
        self.measure();
    }

    /// Computes the length of the centre again after a change.
    pub(super) fn measure(&mut self) {
        self.norm = norm(self.centre.iter().map(|term| term.weighted.weight));
    }

    /// The centrality of an exemplar: the sum of the weights that the distinct words of its opening have in the centre,
    /// divided by the square root of the number of these words.
    pub(super) fn centrality(&self, exemplar: &Exemplar) -> f64 {
        let weight = |word: &u32| {
            let position = self
                .centre
                .binary_search_by_key(word, |term| term.weighted.term)
                .ok()?;
            self.centre
                .get(position)
                .map(|term| f64::from(term.weighted.weight))
        };
        let mut words = exemplar.opening.to_vec();
        words.sort_unstable();
        words.dedup();
        let weights: f64 = words.iter().filter_map(weight).sum();
        weights / (words.len().max(1) as f64).sqrt()
    }

    /// The most central of the exemplars that have a title.
    pub(super) fn most_central(&self) -> Option<&Exemplar> {
        let mut best: Option<(f64, &Exemplar)> = None;
        for exemplar in &self.exemplars {
            let score = self.centrality(exemplar);
            if !exemplar.title.is_empty() && best.is_none_or(|(best, _)| score > best) {
                best = Some((score, exemplar));
            }
        }
        best.map(|(_, exemplar)| exemplar)
    }

    /// Adds an exemplar. If there are too many, the one least central by the present centre is dropped: a member from
    /// the beginning of the story may no longer fit its content.
    fn keep(&mut self, exemplar: Exemplar) {
        self.exemplars.push(exemplar);
        if self.exemplars.len() > MAX_EXEMPLARS {
            let (mut least, mut position) = (f64::INFINITY, 0);
            for (i, exemplar) in self.exemplars.iter().enumerate() {
                let centrality = self.centrality(exemplar);
                if centrality < least {
                    (least, position) = (centrality, i);
                }
            }
            self.exemplars.remove(position);
        }
    }
}
