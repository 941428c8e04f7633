//! The sampled texts, and the duplicates that are drawn for them.
//!
//! Nothing here depends on how a run numbers its texts, so a run on disk and a run in memory draw the same pairs.

use std::collections::BinaryHeap;
use std::hash::Hasher;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use siphasher::sip::SipHasher13;
use twinprint_fingerprint::HashKey;
use twinprint_text::Measure;
use twinprint_text::overlap::{ShingleSet, Shingler};

use super::head::HeadRule;
use super::tokens::SampledTokens;

/// The number of trials that a sample is large enough for, if as many texts have duplicates as have candidates. With 368
/// successes the lower bound of the interval is 0.99.
const WANTED_TRIALS: f64 = 720.0;
/// The largest number of sampled texts.
const MAX_SAMPLE: usize = 8192;
/// The largest number of tokens of the sampled texts, which are in memory during the join.
const MAX_TOKENS: usize = 1 << 21;
/// The bytes that a token of a sampled text takes, with its part of the sketch and of the index.
const TOKEN_BYTES: u64 = 16;
/// The largest number of postings of a head that are counted, for each sampled text. Beyond it, the texts that may
/// still be drawn are searched in the postings.
const MAX_COUNTED: usize = 8;
/// The number of tokens of a head that are prefetched. At usual thresholds a head has fewer.
const PREFETCHED: usize = 64;

/// A text of the corpus, as the sample describes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CorpusText {
    /// The number of the item in its run.
    pub(crate) item: u64,
    /// The text's place among all texts in the order of the input. It decides between texts with equal hashes.
    pub(crate) order: u64,
    pub(crate) fingerprint: u128,
    pub(crate) features: u32,
    /// The length of the canonical text in bytes.
    pub(crate) bytes: u32,
    pub(crate) measure: Measure,
}

impl CorpusText {
    /// A hash of the text under a seed. Different values of `use` are independent.
    fn hash(&self, seed: u64, r#use: u64) -> u64 {
        let mut hasher = SipHasher13::new_with_keys(seed, r#use);
        hasher.write_u64(self.fingerprint as u64);
        hasher.write_u64((self.fingerprint >> 64) as u64);
        hasher.write_u64(u64::from(self.features) << 32 | u64::from(self.bytes));
        hasher.finish()
    }
}

/// The number of texts to sample from `texts` texts, so that [`WANTED_TRIALS`] of them have candidates. `connected` is
/// the number of texts that have candidates.
pub(crate) fn wanted_texts(connected: u64, texts: u64) -> usize {
    let share = connected as f64 / texts.max(1) as f64;
    (WANTED_TRIALS / share.max(1e-9)).min(MAX_SAMPLE as f64) as usize
}

/// Chooses the sampled texts: those with the smallest hashes.
pub(crate) struct Choice {
    seed: u64,
    wanted: usize,
    /// The hash, the place in input order and the item of each text chosen so far, the largest first.
    chosen: BinaryHeap<(u64, u64, u64)>,
}

impl Choice {
    pub(crate) fn new(seed: u64, wanted: usize) -> Self {
        Self {
            seed,
            wanted,
            chosen: BinaryHeap::new(),
        }
    }

    /// Considers a text that may be a duplicate. O(1), or O(log n) for a text that is chosen.
    pub(crate) fn offer(&mut self, text: &CorpusText) {
        self.consider((text.hash(self.seed, 0), text.order, text.item));
    }

    /// Adds the texts that another choice has chosen among other texts.
    pub(crate) fn with(mut self, other: Self) -> Self {
        for own in other.chosen {
            self.consider(own);
        }
        self
    }

    fn consider(&mut self, own: (u64, u64, u64)) {
        if self.chosen.len() < self.wanted {
            self.chosen.push(own);
        } else if self.chosen.peek().is_some_and(|largest| own < *largest) {
            self.chosen.pop();
            self.chosen.push(own);
        }
    }

    /// The items of the chosen texts, those with the smallest hashes first.
    pub(crate) fn finish(self) -> Vec<u64> {
        let chosen = self.chosen.into_sorted_vec();
        chosen.into_iter().map(|(_, _, item)| item).collect()
    }
}

/// The duplicate that is drawn for a sampled text. The one with the smallest priority is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Drawn {
    pub(crate) priority: u64,
    pub(crate) order: u64,
    pub(crate) item: u64,
}

/// The sampled texts, while they are joined with the corpus.
pub(crate) struct Sample {
    key: HashKey,
    threshold: f64,
    seed: u64,
    rule: HeadRule,
    texts: Vec<SampledText>,
    /// The smallest tokens of the texts that are measured by words, and of those measured by characters.
    tokens: [SampledTokens; 2],
}

/// A sampled text with its shingle set, and the duplicate drawn for it so far.
struct SampledText {
    text: CorpusText,
    set: ShingleSet,
    /// The hash of the text, see [`priority`].
    hash: u64,
    /// The priority of `drawn`, or more while that is changed.
    best: AtomicU64,
    drawn: Mutex<Option<Drawn>>,
}

/// The buffers of a thread that joins texts.
pub(crate) struct Scratch {
    shingler: Shingler,
    head: Vec<u64>,
    meetings: Meetings,
}

/// The sampled texts that a text meets, with buffers.
#[derive(Default)]
pub(crate) struct Meetings {
    /// The ranges of sampled texts that have a token of the current head.
    hits: Vec<(u32, u32)>,
    /// The number of tokens that the current head shares with each sampled text; all zero between two heads.
    shared: Vec<u16>,
    /// The sampled texts that the current text must be compared with.
    met: Vec<u32>,
}

impl Sample {
    /// Makes the sample from the chosen texts with their shingles, those with the smallest hashes first. Stops before
    /// the shingles become too many. `key` is the key of the shingle hash.
    pub(crate) fn new<E>(
        key: HashKey,
        threshold: f64,
        seed: u64,
        chosen: impl IntoIterator<Item = Result<(CorpusText, Vec<u64>), E>>,
    ) -> Result<Self, E> {
        let (mut texts, mut count) = (Vec::new(), 0);
        for chosen in chosen {
            let (text, shingles) = chosen?;
            count += shingles.len();
            if count > MAX_TOKENS && !texts.is_empty() {
                break;
            }
            texts.push(SampledText {
                hash: text.hash(seed, 1),
                text,
                set: ShingleSet::new(shingles),
                best: AtomicU64::new(u64::MAX),
                drawn: Mutex::new(None),
            });
        }
        let rule = HeadRule::new(threshold);
        let tokens = [Measure::WordGrams, Measure::CharGrams].map(|measure| {
            let sets = (0u32..)
                .zip(&texts)
                .filter(|(_, text)| text.text.measure == measure);
            SampledTokens::new(sets.map(|(number, text)| {
                let tokens = text.set.shingles();
                (number, &tokens[..rule.indexed.min(tokens.len())])
            }))
        });
        Ok(Self {
            key,
            threshold,
            seed,
            rule,
            texts,
            tokens,
        })
    }

    /// The approximate memory of the sample in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let tokens = self.texts.iter().map(|text| text.set.shingles().len() as u64);
        tokens.sum::<u64>() * TOKEN_BYTES
    }

    /// The buffers of a thread that joins texts.
    pub(crate) fn scratch(&self) -> Scratch {
        Scratch {
            shingler: Shingler::for_one_run(self.key),
            head: Vec::new(),
            meetings: Meetings::default(),
        }
    }

    /// True if a text of this measure may meet sampled texts.
    pub(crate) fn has_measure(&self, measure: Measure) -> bool {
        !self.tokens[position(measure)].is_empty()
    }

    /// Joins a text of which the shingle set is at hand. A text may be joined more than once.
    pub(crate) fn join_set(&self, text: &CorpusText, set: &ShingleSet, meetings: &mut Meetings) {
        self.meet(text, self.rule.of_set(set), meetings);
        self.draw_for(text, set, meetings);
    }

    /// Joins a text, of which the shingle set is made only if it meets sampled texts.
    pub(crate) fn join_text(&self, text: &CorpusText, canonical: &str, scratch: &mut Scratch) {
        let Scratch {
            shingler,
            head,
            meetings,
        } = scratch;
        self.rule.of_text(canonical, text.measure, shingler, head);
        self.meet(text, head, meetings);
        if !meetings.met.is_empty() {
            let set = ShingleSet::new(shingler.shingle(canonical, text.measure));
            self.draw_for(text, &set, meetings);
        }
    }

    /// The sampled texts with the duplicates drawn for them so far.
    pub(crate) fn drawn(&self) -> impl ExactSizeIterator<Item = (u64, Option<Drawn>)> {
        self.texts.iter().map(|text| {
            let drawn = text.drawn.lock().ok().and_then(|drawn| *drawn);
            (text.text.item, drawn)
        })
    }

    /// Finds the sampled texts that a text may be drawn for: those that share enough tokens of its head.
    fn meet(&self, text: &CorpusText, head: &[u64], meetings: &mut Meetings) {
        let Meetings { hits, shared, met } = meetings;
        met.clear();
        hits.clear();
        let tokens = &self.tokens[position(text.measure)];
        let least = self.rule.least_shared(head);
        let first = head.iter().take(PREFETCHED);
        first.for_each(|&token| tokens.prefetch(token));
        let mut left = head.len();
        for &token in head {
            left -= 1;
            hits.extend(tokens.range(token));
            if hits.len() + left < least {
                return;
            }
        }
        if hits.len() < least {
            return;
        }
        let own = text.hash(self.seed, 2);
        let may_be_drawn = |&(_, sampled): &(u32, &SampledText)| {
            sampled.text.measure == text.measure
                && sampled.text.item != text.item
                && priority(sampled.hash, own) < sampled.best.load(Ordering::Relaxed)
        };
        let postings: usize = hits.iter().map(|&(from, to)| (to - from) as usize).sum();
        if postings < MAX_COUNTED * self.texts.len() {
            // The counts are zero before and after, so only those of the postings are written.
            shared.resize(self.texts.len(), 0);
            let least = u16::try_from(least).unwrap_or(u16::MAX);
            for &number in hits.iter().flat_map(|&range| tokens.texts(range)) {
                // A head has fewer tokens than the counts can hold.
                let count = &mut shared[number as usize];
                *count += 1;
                if *count == least && may_be_drawn(&(number, &self.texts[number as usize])) {
                    met.push(number);
                }
            }
            for &number in hits.iter().flat_map(|&range| tokens.texts(range)) {
                shared[number as usize] = 0;
            }
        } else {
            // In a crowd nearly every text has the tokens, but few may still be drawn.
            let has = |number: u32, range: (u32, u32)| tokens.texts(range).binary_search(&number).is_ok();
            let drawable = (0u32..)
                .zip(&self.texts)
                .filter(may_be_drawn)
                .map(|(number, _)| number);
            met.extend(
                drawable.filter(|&number| hits.iter().filter(|&&range| has(number, range)).count() >= least),
            );
        }
    }

    /// Draws a text for the sampled texts that it met and is a duplicate of.
    fn draw_for(&self, text: &CorpusText, set: &ShingleSet, meetings: &Meetings) {
        let own = text.hash(self.seed, 2);
        for &number in &meetings.met {
            let sampled = &self.texts[number as usize];
            let overlap = sampled.set.overlap_at_least(set, self.threshold);
            if overlap.is_none_or(|overlap| overlap.jaccard() < self.threshold) {
                continue;
            }
            let candidate = Drawn {
                priority: priority(sampled.hash, own),
                order: text.order,
                item: text.item,
            };
            if let Ok(mut drawn) = sampled.drawn.lock()
                && drawn.is_none_or(|drawn| candidate < drawn)
            {
                *drawn = Some(candidate);
                // An equal priority is still smaller than this, so that ties are decided by the order.
                let best = candidate.priority.saturating_add(1);
                sampled.best.store(best, Ordering::Relaxed);
            }
        }
    }
}

/// The priority of a text for a sampled text, from both hashes: the finalizer of SplitMix64 (Steele, Lea and Flood 2014).
fn priority(sampled: u64, text: u64) -> u64 {
    let z = sampled ^ text;
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The position of a measure in the pairs of this module.
fn position(measure: Measure) -> usize {
    match measure {
        Measure::WordGrams => 0,
        Measure::CharGrams => 1,
    }
}

#[cfg(test)]
mod tests;
