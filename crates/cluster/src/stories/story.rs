//! One story: its centre, what its topic is read from, and a few of its members.

use serde::{Deserialize, Serialize};

use super::exact::halved;
use super::vector::{TermWeight, dot, keep_heaviest, norm};

/// Terms of a centre.
const CENTRE_TERMS: usize = 256;
/// Members kept, with their title and how they begin.
pub(super) const EXEMPLARS: usize = 8;

/// A term of a centre.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct CentreTerm {
    /// Its number and its weight: the sum over members, older ones counting less.
    pub(super) of: TermWeight,
    /// Occurrences in members, all counting alike.
    pub(super) occurrences: u32,
    /// Members that have it.
    pub(super) members: u32,
    /// Where these stand.
    pub(super) sites: Sites,
}

/// The sites something occurred on, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Sites {
    /// On one, given by a hash.
    One(u64),
    /// On several.
    Many,
}

impl Sites {
    fn and(self, other: Self) -> Self {
        if self == other { self } else { Self::Many }
    }
}

/// A member kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Exemplar {
    /// Its number in the stream.
    #[serde(default)]
    pub(super) document: u64,
    /// Its title.
    pub(super) title: Box<str>,
    /// The words it begins with.
    pub(super) opening: Box<[u32]>,
}

/// What a member brings to a story.
pub(super) struct Contribution {
    /// Sorted by term; as long as the weights are.
    pub(super) vector: Vec<TermWeight>,
    /// How often each of them occurs.
    pub(super) occurrences: Vec<u32>,
    /// All occurrences of terms, of those beyond the vector as well.
    pub(super) words: u64,
    pub(super) site: u64,
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
    /// Documents that were compared: one a duplicate group.
    pub members: u32,
    /// When the first and the last document were seen, in seconds.
    pub seen: [i64; 2],
    /// Stories that were merged into it.
    pub merged: Vec<u64>,
    pub(super) sites: Sites,
    /// The time the weights are of.
    pub(super) weighed: i64,
    /// Sorted by term.
    pub(super) centre: Vec<CentreTerm>,
    /// The Euclidean length of the centre; made anew when a state is read.
    #[serde(skip)]
    pub(super) norm: f64,
    /// Occurrences of terms in members.
    pub(super) words: u64,
    pub(super) exemplars: Vec<Exemplar>,
}

/// A larger age changes a weight no more.
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
            weighed: now,
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
        self.centre.iter().map(|term| term.of)
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
        self.sites = self.sites.and(site);
        let of_member = contribution.vector.iter().zip(&contribution.occurrences);
        let terms = of_member.map(|(&of, &occurrences)| CentreTerm {
            of,
            occurrences,
            members: 1,
            sites: site,
        });
        self.join(terms.collect(), 1.0, now, half_life);
        self.keep(contribution.exemplar);
    }

    /// Adds another story, which is no more.
    pub(super) fn merge(&mut self, other: Self, now: i64, half_life: Option<i64>) {
        self.size += other.size;
        self.members = self.members.saturating_add(other.members);
        self.words += other.words;
        self.seen = [self.seen[0].min(other.seen[0]), self.seen[1].max(other.seen[1])];
        self.sites = self.sites.and(other.sites);
        self.merged.push(other.id);
        self.merged.extend(other.merged);
        let factor = decay(now - other.weighed, half_life);
        self.join(other.centre, factor, now, half_life);
        for exemplar in other.exemplars {
            self.keep(exemplar);
        }
    }

    /// Adds terms, weighing `factor` times what they say, to the centre as it is at `now`.
    fn join(&mut self, terms: Vec<CentreTerm>, factor: f64, now: i64, half_life: Option<i64>) {
        let own = decay(now - self.weighed, half_life);
        self.weighed = now.max(self.weighed);
        let scaled = |mut term: CentreTerm, factor: f64| {
            term.of.weight = (f64::from(term.of.weight) * factor) as f32;
            term
        };
        let old = std::mem::take(&mut self.centre);
        let mut old = old.into_iter().map(|term| scaled(term, own)).peekable();
        let mut new = terms.into_iter().map(|term| scaled(term, factor)).peekable();
        loop {
            let first = match (old.peek(), new.peek()) {
                (None, None) => break,
                (Some(a), Some(b)) => a.of.term.min(b.of.term),
                (Some(term), None) | (None, Some(term)) => term.of.term,
            };
            let a = old.next_if(|term| term.of.term == first);
            let b = new.next_if(|term| term.of.term == first);
            self.centre.extend(match (a, b) {
                (Some(a), Some(b)) => Some(CentreTerm {
                    of: TermWeight {
                        term: first,
                        weight: a.of.weight + b.of.weight,
                    },
                    occurrences: a.occurrences.saturating_add(b.occurrences),
                    members: a.members.saturating_add(b.members),
                    sites: a.sites.and(b.sites),
                }),
                (a, b) => a.or(b),
            });
        }
        keep_heaviest(&mut self.centre, CENTRE_TERMS, |term| term.of);
        self.measure();
    }

    /// Measures the centre's length.
    pub(super) fn measure(&mut self) {
        self.norm = norm(self.centre.iter().map(|term| term.of.weight));
    }

    /// How central a member is, by how it begins: what its words weigh in the centre, for their number.
    pub(super) fn centrality(&self, exemplar: &Exemplar) -> f64 {
        let weight = |word: &u32| {
            let place = self.centre.binary_search_by_key(word, |term| term.of.term).ok()?;
            self.centre.get(place).map(|term| f64::from(term.of.weight))
        };
        let mut words = exemplar.opening.to_vec();
        words.sort_unstable();
        words.dedup();
        let weights: f64 = words.iter().filter_map(weight).sum();
        weights / (words.len().max(1) as f64).sqrt()
    }

    /// The most central member kept that has a title.
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

    /// Keeps a member, and of the members the most central, by the centre as it is now: one that came when the story was small may be far
    /// from what has become of it.
    fn keep(&mut self, exemplar: Exemplar) {
        self.exemplars.push(exemplar);
        if self.exemplars.len() > EXEMPLARS {
            let (mut least, mut at) = (f64::INFINITY, 0);
            for (i, exemplar) in self.exemplars.iter().enumerate() {
                let centrality = self.centrality(exemplar);
                if centrality < least {
                    (least, at) = (centrality, i);
                }
            }
            self.exemplars.remove(at);
        }
    }
}
