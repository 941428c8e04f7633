//! The definitions by brute force: all pairs of texts, and the groups of these pairs.

use std::collections::BTreeMap;

use twinprint_dedup::{DedupOptions, Keep};
use twinprint_fingerprint::{HashKey, Width};
use twinprint_text::overlap::{Overlap, Shingler, overlap};
use twinprint_text::{Analyzer, Measure};

/// The properties of a text that the definitions use.
struct Text {
    canonical: String,
    measure: Measure,
    features: u32,
    fingerprint: u128,
    bytes: usize,
}

/// Two texts, the earlier first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub(crate) jaccard: f64,
    pub(crate) containment: f64,
    pub(crate) hamming: u32,
    pub(crate) equal: bool,
    /// True if the engine guarantees to find the pair if it is at the threshold: its fingerprints are within the radius, or one of the texts
    /// is short.
    pub(crate) guaranteed: bool,
}

/// All texts of a corpus.
pub(crate) struct BruteForce {
    texts: Vec<Text>,
    words: Vec<Vec<u64>>,
    characters: Vec<Vec<u64>>,
}

impl BruteForce {
    pub(crate) fn new(texts: &[String], options: &DedupOptions) -> Self {
        let profile = options.profile_at(128).unwrap();
        let mut analyzer = Analyzer::new(&profile, HashKey::PUBLIC);
        let mut shingler = Shingler::new(HashKey::PUBLIC);
        let mut all = Self {
            texts: Vec::new(),
            words: Vec::new(),
            characters: Vec::new(),
        };
        for text in texts {
            let analysis = analyzer.analyze(text);
            let mut cut = |measure| shingler.shingle(analysis.canonical, measure);
            all.words.push(cut(Measure::WordGrams));
            all.characters.push(cut(Measure::CharGrams));
            all.texts.push(Text {
                canonical: analysis.canonical.to_owned(),
                measure: analysis.measure,
                features: analysis.features,
                fingerprint: analysis.fingerprint,
                bytes: text.len(),
            });
        }
        all
    }

    pub(crate) fn features(&self, i: usize) -> u32 {
        self.texts[i].features
    }

    fn overlap(&self, i: usize, j: usize) -> Overlap {
        let sets = match self.texts[i].measure.with(self.texts[j].measure) {
            Measure::WordGrams => &self.words,
            Measure::CharGrams => &self.characters,
        };
        overlap(&sets[i], &sets[j])
    }

    /// True if a text has no features. Such a text is not a duplicate of any text.
    pub(crate) fn is_empty(&self, i: usize) -> bool {
        self.texts[i].features == 0
    }

    /// True if two texts have features and equal canonical texts.
    fn equal(&self, i: usize, j: usize) -> bool {
        self.texts[i].canonical == self.texts[j].canonical && !self.is_empty(i)
    }

    /// The Hamming distance of two fingerprints.
    pub(crate) fn distance(&self, i: usize, j: usize, bits: u32) -> u32 {
        let (a, b) = (self.texts[i].fingerprint, self.texts[j].fingerprint);
        if bits == 64 {
            u64::truncate(a).distance(u64::truncate(b))
        } else {
            a.distance(b)
        }
    }

    pub(crate) fn pair(&self, i: usize, j: usize, bits: u32, k: u32, min_features: u32) -> Pair {
        let (a, b) = (&self.texts[i], &self.texts[j]);
        let hamming = self.distance(i, j, bits);
        let empty = self.is_empty(i) || self.is_empty(j);
        let equal = self.equal(i, j);
        let overlap = self.overlap(i, j);
        Pair {
            jaccard: if empty { 0.0 } else { overlap.jaccard() },
            containment: overlap.containment(),
            hamming,
            equal,
            guaranteed: equal || !empty && (hamming <= k || a.features.min(b.features) < min_features),
        }
    }

    /// All pairs of texts at the threshold.
    pub(crate) fn duplicates(
        &self,
        options: &DedupOptions,
        bits: u32,
        k: u32,
    ) -> BTreeMap<(usize, usize), Pair> {
        let n = self.texts.len();
        let all = (0..n).flat_map(|j| (0..j).map(move |i| (i, j)));
        all.map(|(i, j)| ((i, j), self.pair(i, j, bits, k, options.min_features)))
            .filter(|(_, pair)| pair.jaccard >= options.threshold)
            .collect()
    }

    /// The leader of each text by the definition. In keep order, each text joins the leader of highest Jaccard among its duplicates (ties:
    /// smaller distance, then the earlier in keep order), or leads. Equal texts have the same leader.
    pub(crate) fn leaders(
        &self,
        duplicates: &BTreeMap<(usize, usize), Pair>,
        keep: Keep,
        times: &[Option<u32>],
    ) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.texts.len()).collect();
        match keep {
            Keep::First => {}
            Keep::Longest => order.sort_by_key(|&i| std::cmp::Reverse(self.texts[i].bytes)),
            Keep::Shortest => order.sort_by_key(|&i| self.texts[i].bytes),
            // Texts without a time are last.
            Keep::Newest => order.sort_by_key(|&i| std::cmp::Reverse(times[i])),
        }
        let mut leader = vec![usize::MAX; self.texts.len()];
        let mut leaders: Vec<usize> = Vec::new();
        for &i in &order {
            if leader[i] != usize::MAX {
                continue;
            }
            let mut best: Option<(f64, u32, usize)> = None;
            for &earlier in &leaders {
                let key = (i.min(earlier), i.max(earlier));
                let Some(pair) = duplicates.get(&key) else {
                    continue;
                };
                let better = best.is_none_or(|(jaccard, hamming, _)| {
                    pair.jaccard > jaccard || pair.jaccard >= jaccard && pair.hamming < hamming
                });
                if better {
                    best = Some((pair.jaccard, pair.hamming, earlier));
                }
            }
            let leader_of_text = best.map_or(i, |best| best.2);
            if leader_of_text == i {
                leaders.push(i);
            }
            for (j, leader) in leader.iter_mut().enumerate() {
                if i == j || self.equal(i, j) {
                    *leader = leader_of_text;
                }
            }
        }
        leader
    }
}
