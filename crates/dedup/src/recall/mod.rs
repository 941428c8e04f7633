//! The measured recall of a run: a seeded sample of texts is joined exactly with all texts.
//!
//! The sample is joined with the whole corpus by the shingles, without fingerprints. For each sampled text that has
//! duplicates in the corpus, one of them is drawn at random. The trial succeeds if the search has this pair among its
//! candidates, because verification then finds it. So the share of successes estimates the *recall*: the share of a
//! text's duplicates that the search finds, averaged over the texts that have duplicates. The trials are independent, and
//! the interval of Clopper and Pearson contains the true recall with a probability of at least 95 %. Pairs of a text
//! measured by words and a text measured by characters take no part.
//!
//! The join looks up the smallest tokens of every text, its *head* ([`head`]), among those of the sampled texts, and compares
//! a text with those that have enough of its head. A pair at the threshold is missed with a probability below 10⁻¹². The
//! texts that verification loads are joined when it loads them; the other texts are read afterwards. So the measurement
//! takes a small part of a run's time.
//!
//! Drawn pairs come from priorities: a hash of the seed and the pair. The duplicate with the smallest priority is drawn,
//! so the result does not depend on threads, and a text in a crowd is compared with few of its duplicates.

mod head;
mod interval;
mod tokens;

use std::hash::Hasher;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use siphasher::sip::SipHasher13;
use twinprint_fingerprint::HashKey;
use twinprint_io::results::RecallReport;
use twinprint_io::work::{BlockBuffer, Spool};
use twinprint_text::Measure;
use twinprint_text::overlap::{ShingleSet, Shingler};

use self::head::HeadRule;
use self::interval::clopper_pearson;
use self::tokens::SampledTokens;
use crate::candidates::Candidates;
use crate::corpus::Classes;
use crate::corpus::shingle_sets::{SetCache, SetKey, key_of};
use crate::error::DedupError;
use crate::ids::{ClassId, Id, IdVec, ItemId};

/// The number of trials that a sample is large enough for, if as many texts have duplicates as have candidates. With 368
/// successes the lower bound of the interval is 0.99.
const WANTED_TRIALS: f64 = 720.0;
/// The largest number of sampled texts.
const MAX_SAMPLE: usize = 8192;
/// The largest number of tokens of the sampled texts, which are in memory during the join.
const MAX_TOKENS: usize = 1 << 21;
/// The bytes that a token of a sampled text takes, with its part of the histogram and of the index.
const TOKEN_BYTES: u64 = 16;
/// The number of texts that one thread joins at a time.
const TEXTS_PER_TASK: usize = 256;
/// The largest number of postings of a head that are counted, for each sampled text. Beyond it, the texts that may
/// still be drawn are searched in the postings.
const MAX_COUNTED: usize = 8;

/// The recall of a run in which the set join finds every pair at the threshold.
pub(crate) fn exact() -> RecallReport {
    RecallReport {
        exact: true,
        recall: Some(1.0),
        low: 1.0,
        high: 1.0,
        ..RecallReport::default()
    }
}

/// The search whose recall is measured.
#[derive(Clone, Copy)]
pub(crate) struct MeasuredSearch<'m> {
    pub(crate) classes: &'m Classes,
    /// The class of each item.
    pub(crate) order: &'m IdVec<ItemId, ClassId>,
    pub(crate) spool: &'m Spool,
    pub(crate) candidates: &'m Candidates,
    /// The width of the fingerprints that distances are measured in.
    pub(crate) bits: u32,
    /// The minimum Jaccard of a duplicate.
    pub(crate) threshold: f64,
    pub(crate) seed: u64,
}

/// The sampled texts, while they are joined with the corpus.
pub(crate) struct RecallSample<'m> {
    search: MeasuredSearch<'m>,
    key: HashKey,
    rule: HeadRule,
    /// For each item, true if it may be a duplicate.
    takes_part: IdVec<ItemId, bool>,
    /// For each item, true if it has candidates.
    connected: IdVec<ItemId, bool>,
    texts: Vec<SampledText>,
    /// The smallest tokens of the texts that are measured by words, and of those measured by characters.
    tokens: [SampledTokens; 2],
}

/// A sampled text with its shingle set, and the duplicate drawn for it so far.
struct SampledText {
    item: ItemId,
    measure: Measure,
    set: ShingleSet,
    /// The hash of the item, see [`priority`].
    hash: u64,
    /// The priority of `drawn`, or more while that is changed.
    best: AtomicU64,
    /// The duplicate with the smallest priority so far.
    drawn: Mutex<Option<(u64, ItemId)>>,
}

/// The buffers of one thread.
#[derive(Default)]
struct Scratch {
    /// The ranges of sampled texts that have a token of the current head.
    hits: Vec<(u32, u32)>,
    /// The number of tokens that the current head shares with each sampled text.
    shared: Vec<u16>,
    /// The sampled texts that the current text must be compared with.
    met: Vec<u32>,
}

impl<'m> RecallSample<'m> {
    /// Draws the sample: the items with the smallest hashes. Items for which `is_decided` is true take no part.
    pub(crate) fn draw(
        search: MeasuredSearch<'m>,
        is_decided: impl Fn(ItemId) -> bool,
    ) -> Result<Self, DedupError> {
        let MeasuredSearch {
            classes,
            order,
            spool,
            ..
        } = search;
        let takes_part: IdVec<ItemId, bool> = order
            .entries()
            .map(|(item, &class)| classes.features[class] > 0 && !is_decided(item))
            .collect();
        let connected = search.candidates.connected();
        let wanted = wanted_texts(&connected);
        // Enough items have a hash below this bound, but not nearly all of a large corpus.
        let bound = (4.0 * wanted as f64 / order.len().max(1) as f64).min(1.0) * u64::MAX as f64;
        let mut hashed: Vec<(u64, ClassId, ItemId)> = order
            .entries()
            .map(|(item, &class)| (hash(search.seed, 0, class), class, item))
            .filter(|&(hash, _, item)| hash as f64 <= bound && takes_part[item])
            .collect();
        hashed.sort_unstable();
        hashed.truncate(wanted);
        let key = key_of(classes);
        let mut buffer = BlockBuffer::default();
        let mut shingler = Shingler::new(key);
        let (mut texts, mut count) = (Vec::new(), 0);
        for (_, class, item) in hashed {
            let measure = classes.measure[class];
            let text = spool.text(classes.text[class], &mut buffer)?;
            let set = ShingleSet::new(shingler.shingle(text, measure));
            count += set.shingles().len();
            if count > MAX_TOKENS && !texts.is_empty() {
                break;
            }
            texts.push(SampledText {
                item,
                measure,
                set,
                hash: hash(search.seed, 1, class),
                best: AtomicU64::new(u64::MAX),
                drawn: Mutex::new(None),
            });
        }
        let rule = HeadRule::new(search.threshold);
        let tokens = [Measure::WordGrams, Measure::CharGrams].map(|measure| {
            let sets = (0u32..).zip(&texts).filter(|(_, text)| text.measure == measure);
            SampledTokens::new(sets.map(|(number, text)| {
                let tokens = text.set.shingles();
                (number, &tokens[..rule.indexed.min(tokens.len())])
            }))
        });
        Ok(Self {
            search,
            key,
            rule,
            takes_part,
            connected,
            texts,
            tokens,
        })
    }

    /// The approximate memory of the sample in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let tokens = self.texts.iter().map(|text| text.set.shingles().len() as u64);
        tokens.sum::<u64>() * TOKEN_BYTES + 2 * self.takes_part.len() as u64
    }

    /// Joins items whose shingle sets are loaded. An item may be joined more than once.
    pub(crate) fn join_sets(&self, items: &[ItemId], sets: &SetCache<'_>) {
        items
            .par_chunks(TEXTS_PER_TASK)
            .for_each_init(Scratch::default, |scratch, items| {
                for &item in items {
                    let measure = sets.measure(item);
                    let Some(set) = sets.get(SetKey { item, measure }) else {
                        continue;
                    };
                    self.meet(item, measure, self.rule.of_set(set), scratch);
                    self.draw_for(item, set, scratch);
                }
            });
    }

    /// Joins the items that have no candidates, whose texts verification does not load. Reads their texts.
    pub(crate) fn join_others(
        &self,
        check_cancelled: &(dyn Fn() -> Result<(), DedupError> + Sync),
    ) -> Result<(), DedupError> {
        let MeasuredSearch {
            classes,
            order,
            spool,
            ..
        } = self.search;
        let mut others: Vec<ItemId> = order
            .ids()
            .filter(|&item| self.takes_part[item] && !self.connected[item])
            .collect();
        // Texts that are next to each other in the spool are read by one task.
        others.sort_unstable_by_key(|&item| order[item]);
        others.par_chunks(TEXTS_PER_TASK).try_for_each_init(
            || {
                (
                    BlockBuffer::default(),
                    Shingler::new(self.key),
                    Scratch::default(),
                    Vec::new(),
                )
            },
            |(buffer, shingler, scratch, head), items| {
                check_cancelled()?;
                for &item in items {
                    let class = order[item];
                    let measure = classes.measure[class];
                    if self.tokens[position(measure)].is_empty() {
                        continue;
                    }
                    let text = spool.text(classes.text[class], buffer)?;
                    self.rule.of_text(text, measure, shingler, head);
                    self.meet(item, measure, head, scratch);
                    if !scratch.met.is_empty() {
                        self.draw_for(item, &ShingleSet::new(shingler.shingle(text, measure)), scratch);
                    }
                }
                Ok(())
            },
        )
    }

    /// The recall, after all items have been joined.
    pub(crate) fn report(&self) -> RecallReport {
        let MeasuredSearch {
            classes,
            order,
            candidates,
            bits,
            ..
        } = self.search;
        let (mut trials, mut found) = (0, 0);
        for text in &self.texts {
            let drawn = text.drawn.lock().ok().and_then(|drawn| *drawn);
            if let Some((_, other)) = drawn {
                trials += 1;
                let distance = || classes.distance(order[text.item], order[other], bits);
                found += u64::from(candidates.contains(text.item, other, distance));
            }
        }
        let [low, high] = clopper_pearson(found, trials);
        RecallReport {
            exact: false,
            sampled: self.texts.len() as u64,
            trials,
            found,
            recall: (trials > 0).then(|| found as f64 / trials as f64),
            low,
            high,
        }
    }

    /// Sets `met` to the sampled texts that `item` may be drawn for: those that share enough tokens of its head.
    fn meet(&self, item: ItemId, measure: Measure, head: &[u64], scratch: &mut Scratch) {
        let Scratch { hits, shared, met } = scratch;
        met.clear();
        hits.clear();
        let tokens = &self.tokens[position(measure)];
        let least = self.rule.least_shared(head);
        let mut left = head.len();
        for &token in head {
            left -= 1;
            hits.extend(tokens.range(token));
            if hits.len() + left < least {
                return;
            }
        }
        if hits.len() < least || !self.takes_part[item] {
            return;
        }
        let own = hash(self.search.seed, 2, self.search.order[item]);
        let may_be_drawn = |&(_, text): &(u32, &SampledText)| {
            text.measure == measure
                && text.item != item
                && priority(text.hash, own) < text.best.load(Ordering::Relaxed)
        };
        let numbered = (0u32..).zip(&self.texts);
        let postings: usize = hits.iter().map(|&(from, to)| (to - from) as usize).sum();
        if postings < MAX_COUNTED * self.texts.len() {
            shared.clear();
            shared.resize(self.texts.len(), 0);
            for &range in &*hits {
                for &text in tokens.texts(range) {
                    shared[text as usize] = shared[text as usize].saturating_add(1);
                }
            }
            let least = u16::try_from(least).unwrap_or(u16::MAX);
            let counted = numbered.zip(&*shared).filter(|&(_, &shared)| shared >= least);
            met.extend(
                counted
                    .map(|(text, _)| text)
                    .filter(may_be_drawn)
                    .map(|(number, _)| number),
            );
        } else {
            // In a crowd nearly every text has the tokens, but few may still be drawn.
            let has = |number: u32, range: (u32, u32)| tokens.texts(range).binary_search(&number).is_ok();
            let drawable = numbered.filter(may_be_drawn).map(|(number, _)| number);
            met.extend(
                drawable.filter(|&number| hits.iter().filter(|&&range| has(number, range)).count() >= least),
            );
        }
    }

    /// Draws `item` for the sampled texts in `met` that it is a duplicate of.
    fn draw_for(&self, item: ItemId, set: &ShingleSet, scratch: &Scratch) {
        let own = hash(self.search.seed, 2, self.search.order[item]);
        for &number in &scratch.met {
            let text = &self.texts[number as usize];
            let overlap = text.set.overlap_at_least(set, self.search.threshold);
            if overlap.is_none_or(|overlap| overlap.jaccard() < self.search.threshold) {
                continue;
            }
            let key = (priority(text.hash, own), item);
            if let Ok(mut drawn) = text.drawn.lock()
                && drawn.is_none_or(|drawn| key < drawn)
            {
                *drawn = Some(key);
                // An equal priority is still smaller than this, so that ties are decided by the item.
                text.best.store(key.0.saturating_add(1), Ordering::Relaxed);
            }
        }
    }
}

/// The number of texts to sample, so that [`WANTED_TRIALS`] of them have candidates.
fn wanted_texts(connected: &IdVec<ItemId, bool>) -> usize {
    let count = connected.iter().filter(|&&connected| connected).count();
    let share = count as f64 / connected.len().max(1) as f64;
    (WANTED_TRIALS / share.max(1e-9)).min(MAX_SAMPLE as f64) as usize
}

/// A hash of the seed and a class; classes are numbered in input order. Different values of `use` are independent.
fn hash(seed: u64, r#use: u64, class: ClassId) -> u64 {
    let mut hasher = SipHasher13::new_with_keys(seed, r#use);
    hasher.write_u32(class.get());
    hasher.finish()
}

/// The priority of an item for a sampled text, from both hashes: the finalizer of SplitMix64 (Steele, Lea and Flood 2014).
fn priority(sampled: u64, item: u64) -> u64 {
    let z = sampled ^ item;
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
