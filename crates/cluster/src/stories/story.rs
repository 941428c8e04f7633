//! One story: its centre, the counts for its topic, and a few of its members.

use serde::{Deserialize, Serialize};

use super::exact::halved;
use super::vector::{TermWeight, dot, keep_heaviest, norm};

/// The maximum number of terms of a centre.
const MAX_CENTRE_TERMS: usize = 256;
/// The maximum number of members kept with their title and opening.
pub(super) const MAX_EXEMPLARS: usize = 8;

/// A term of a centre.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct CentreTerm {
    /// Its number and its weight: the sum over members, with older members decayed.
    #[serde(rename = "of")]
    pub(super) weighted: TermWeight,
    /// Occurrences in members, without decay.
    pub(super) occurrences: u32,
    /// Members that have it.
    pub(super) members: u32,
    /// The sites of these members.
    pub(super) sites: Sites,
}

/// The sites of some members, as far as topics need them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Sites {
    /// One site, by its hash.
    One(u64),
    /// Several sites.
    Many,
}

impl Sites {
    /// The sites of both.
    fn union(self, other: Self) -> Self {
        if self == other { self } else { Self::Many }
    }
}

/// A member that is kept with its title and opening.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Exemplar {
    /// Its number in the stream.
    #[serde(default)]
    pub(super) document: u64,
    /// Its title.
    pub(super) title: Box<str>,
    /// Its first words.
    pub(super) opening: Box<[u32]>,
}

/// The contribution of a member to a story.
pub(super) struct Contribution {
    /// Its vector, sorted by term.
    pub(super) vector: Vec<TermWeight>,
    /// The occurrences of each term of the vector.
    pub(super) occurrences: Vec<u32>,
    /// The occurrences of all terms, including those not in the vector.
    pub(super) words: u64,
    /// A hash of its site.
    pub(super) site: u64,
    /// The time at which it was seen, in seconds.
    pub(super) time: i64,
    pub(super) exemplar: Exemplar,
}

/// Documents of one event or subject, by terms and time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Story {
    /// The number of its first document.
    pub id: u64,
    /// Documents, duplicates included.
    pub size: u64,
    /// Documents that were placed by their vector: one per duplicate group.
    pub members: u32,
    /// The times at which the first and the last document were seen, in seconds.
    pub seen: [i64; 2],
    /// The stories merged into it.
    pub merged: Vec<u64>,
    pub(super) sites: Sites,
    /// The time to which the weights are decayed, in seconds.
    #[serde(rename = "weighed")]
    pub(super) weights_time: i64,
    /// Sorted by term.
    pub(super) centre: Vec<CentreTerm>,
    /// The Euclidean length of the centre; recomputed after deserialization.
    #[serde(skip)]
    pub(super) norm: f64,
    /// Occurrences of terms in members.
    pub(super) words: u64,
    pub(super) exemplars: Vec<Exemplar>,
}

/// The factor by which a weight decays in `age` seconds.
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

    /// The titles of a few of its most central members.
    pub fn titles(&self) -> impl Iterator<Item = &str> {
        let titles = self.exemplars.iter().map(|exemplar| &*exemplar.title);
        titles.filter(|title| !title.is_empty())
    }

    /// The centre's terms and weights.
    pub(super) fn weights(&self) -> impl Iterator<Item = TermWeight> + '_ {
        self.centre.iter().map(|term| term.weighted)
    }

    /// The cosine of a vector of length 1 with the centre.
    pub(super) fn cosine(&self, vector: &[TermWeight]) -> f64 {
        if self.norm > 0.0 {
            dot(vector.iter().copied(), self.weights()) / self.norm
        } else {
            0.0
        }
    }

    /// The cosine of two centres.
    pub(super) fn cosine_of_centres(&self, other: &Self) -> f64 {
        let norms = self.norm * other.norm;
        if norms > 0.0 {
            dot(self.weights(), other.weights()) / norms
        } else {
            0.0
        }
    }

    /// Adds a member. Linear in its terms and the centre's.
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

    /// Adds another story, which ends.
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

    /// Decays the centre to `now`, and adds terms with `factor` times their weight.
    fn join(&mut self, terms: Vec<CentreTerm>, factor: f64, now: i64, half_life: Option<i64>) {
        let own = decay(now - self.weights_time, half_life);
        self.weights_time = now.max(self.weights_time);
        let scaled = |mut term: CentreTerm, factor: f64| {
            term.weighted.weight = (f64::from(term.weighted.weight) * factor) as f32;
            term
        };
        let old = std::mem::take(&mut self.centre);
        let mut old = old.into_iter().map(|term| scaled(term, own)).peekable();
        let mut new = terms.into_iter().map(|term| scaled(term, factor)).peekable();
        loop {
            let first = match (old.peek(), new.peek()) {
                (None, None) => break,
                (Some(a), Some(b)) => a.weighted.term.min(b.weighted.term),
                (Some(term), None) | (None, Some(term)) => term.weighted.term,
            };
            let a = old.next_if(|term| term.weighted.term == first);
            let b = new.next_if(|term| term.weighted.term == first);
            self.centre.extend(match (a, b) {
                (Some(a), Some(b)) => Some(CentreTerm {
                    weighted: TermWeight {
                        term: first,
                        weight: a.weighted.weight + b.weighted.weight,
                    },
                    occurrences: a.occurrences.saturating_add(b.occurrences),
                    members: a.members.saturating_add(b.members),
                    sites: a.sites.union(b.sites),
                }),
                (a, b) => a.or(b),
            });
        }
        keep_heaviest(&mut self.centre, MAX_CENTRE_TERMS, |term| term.weighted);
        self.measure();
    }

    /// Recomputes the centre's length.
    pub(super) fn measure(&mut self) {
        self.norm = norm(self.centre.iter().map(|term| term.weighted.weight));
    }

    /// The centrality of a member, by its opening: the weight of its distinct words in the centre over the root of
    /// their number.
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

    /// The most central of the kept members that have a title.
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

    /// Keeps a member. If there are too many, the least central is dropped, by the present centre: a member from the
    /// story's beginning may be far from the story's present content.
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
