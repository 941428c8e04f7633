//! The measured recall of a run: a seeded sample of texts is joined exactly with all texts.
//!
//! The sample is joined with the whole corpus by the shingles, without fingerprints. For each sampled text that has
//! duplicates in the corpus, one of them is drawn at random. The trial succeeds if the search has this pair among its
//! candidates, because verification then finds it. So the share of successes estimates the *recall*: the share of a
//! text's duplicates that the search finds, averaged over the texts that have duplicates. The trials are independent, and
//! the interval of Clopper and Pearson contains the true recall with a probability of at least 95 %.
//!
//! The join uses the prefix filter (see [`twinprint_index::set`]): a text at the threshold has one of the prefix tokens of
//! a sampled text. A bitmap of these tokens rejects nearly all texts without sorting their shingles. Drawn pairs come
//! from priorities: a hash of the seed and the pair. The duplicate with the smallest priority is drawn, so the result does
//! not depend on threads, and a text in a crowd is compared with few of its duplicates.

mod interval;
mod tokens;

use std::hash::Hasher;
use std::sync::Mutex;

use rayon::prelude::*;
use siphasher::sip::SipHasher13;
use twinprint_fingerprint::HashKey;
use twinprint_index::set::PrefixFilter;
use twinprint_io::results::RecallReport;
use twinprint_io::work::{BlockBuffer, Spool};
use twinprint_text::Measure;
use twinprint_text::overlap::{Shingler, ShingleSet};

use self::interval::clopper_pearson;
use self::tokens::SampledTokens;
use crate::candidates::Candidates;
use crate::corpus::Classes;
use crate::corpus::shingle_sets::key_of;
use crate::error::DedupError;
use crate::ids::{ClassId, Id, IdVec, ItemId};

/// The number of trials that a sample is large enough for, if as many texts have duplicates as have candidates. With 370
/// successes the lower bound of the interval is above 0.99.
const WANTED_TRIALS: f64 = 600.0;
/// The largest number of sampled texts.
const MAX_SAMPLE: usize = 8192;
/// The largest number of tokens of the sampled texts, which are in memory during the join.
const MAX_TOKENS: usize = 1 << 20;
/// The number of texts that one thread joins at a time.
const TEXTS_PER_TASK: usize = 256;

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

/// A sampled text with its shingle set, and the duplicate drawn for it so far.
struct SampledText {
    item: ItemId,
    measure: Measure,
    /// The sets by words and by characters. A set is empty if no text of the corpus needs it.
    sets: [ShingleSet; 2],
    /// The duplicate with the smallest priority so far.
    drawn: Mutex<Option<(u64, ItemId)>>,
}

/// The buffers of one thread.
struct Joiner {
    buffer: BlockBuffer,
    shingler: Shingler,
    /// The number of tokens that the current text shares with the prefix of each sampled text.
    shared: Vec<u16>,
}

impl MeasuredSearch<'_> {
    /// Measures the recall. Items for which `is_decided` is true take no part. Reads all texts once.
    pub(crate) fn measure(
        &self,
        is_decided: &(dyn Fn(ItemId) -> bool + Sync),
        check_cancelled: &(dyn Fn() -> Result<(), DedupError> + Sync),
    ) -> Result<RecallReport, DedupError> {
        let takes_part = |item: ItemId| self.classes.features[self.order[item]] > 0 && !is_decided(item);
        let key = key_of(self.classes);
        let sample = self.sample(&takes_part, key)?;
        let tokens: [SampledTokens; 2] = [Measure::WordGrams, Measure::CharGrams].map(|measure| {
            let sets = sample.iter().map(|text| text.sets[position(measure)].shingles());
            SampledTokens::new(sets, PrefixFilter::new(self.threshold))
        });
        let items: Vec<ItemId> = self.order.ids().filter(|&item| takes_part(item)).collect();
        // Texts that are next to each other in the spool are read by one task.
        let mut by_place = items;
        by_place.sort_unstable_by_key(|&item| self.order[item]);
        by_place.par_chunks(TEXTS_PER_TASK).try_for_each_init(
            || Joiner {
                buffer: BlockBuffer::default(),
                shingler: Shingler::new(key),
                shared: vec![0; sample.len()],
            },
            |joiner, items| {
                check_cancelled()?;
                for &item in items {
                    self.join(item, &sample, &tokens, joiner)?;
                }
                Ok::<(), DedupError>(())
            },
        )?;
        let (mut trials, mut found) = (0, 0);
        for text in sample.iter() {
            let drawn = text.drawn.lock().ok().and_then(|drawn| *drawn);
            if let Some((_, other)) = drawn {
                trials += 1;
                let distance = || self.classes.distance(self.order[text.item], self.order[other], self.bits);
                found += u64::from(self.candidates.contains(text.item, other, distance));
            }
        }
        let [low, high] = clopper_pearson(found, trials);
        Ok(RecallReport {
            exact: false,
            sampled: sample.len() as u64,
            trials,
            found,
            recall: (trials > 0).then(|| found as f64 / trials as f64),
            low,
            high,
        })
    }

    /// Draws the sample: the items with the smallest hashes.
    fn sample(
        &self,
        takes_part: &dyn Fn(ItemId) -> bool,
        key: HashKey,
    ) -> Result<Vec<SampledText>, DedupError> {
        let n = self.order.len();
        let connected = self.candidates.connected_share();
        let wanted = (WANTED_TRIALS / connected.max(1e-9)).min(MAX_SAMPLE as f64) as usize;
        // Enough items have a hash below this bound, but not nearly all of a large corpus.
        let bound = (4.0 * wanted as f64 / n.max(1) as f64).min(1.0) * u64::MAX as f64;
        let mut hashed: Vec<(u64, ItemId)> = self
            .order
            .ids()
            .map(|item| (self.priority(item, item), item))
            .filter(|&(hash, item)| hash as f64 <= bound && takes_part(item))
            .collect();
        hashed.sort_unstable();
        hashed.truncate(wanted);
        let needs_chars = self
            .classes
            .measure
            .iter()
            .any(|&measure| measure == Measure::CharGrams);
        let mut buffer = BlockBuffer::default();
        let mut shingler = Shingler::new(key);
        let (mut sample, mut tokens) = (Vec::new(), 0);
        for (_, item) in hashed {
            let class = self.order[item];
            let own = self.classes.measure[class];
            let text = self.spool.text(self.classes.text[class], &mut buffer)?;
            let sets = [Measure::WordGrams, Measure::CharGrams].map(|measure| {
                // A pair is measured by characters if either text is.
                let is_needed = measure == own || (measure == Measure::CharGrams && needs_chars);
                let shingles = if is_needed {
                    shingler.shingle(text, measure)
                } else {
                    Vec::new()
                };
                ShingleSet::new(shingles)
            });
            tokens += sets.iter().map(|set| set.shingles().len()).sum::<usize>();
            if tokens > MAX_TOKENS && !sample.is_empty() {
                break;
            }
            sample.push(SampledText {
                item,
                measure: own,
                sets,
                drawn: Mutex::new(None),
            });
        }
        Ok(sample)
    }

    /// A hash of the seed and a pair of items. It depends on their classes, which are numbered in input order.
    fn priority(&self, a: ItemId, b: ItemId) -> u64 {
        let mut hasher = SipHasher13::new_with_keys(self.seed, 0);
        hasher.write_u32(self.order[a].get());
        hasher.write_u32(self.order[b].get());
        hasher.finish()
    }

    /// Joins a text with the sample, and draws it for the sampled texts that it is a duplicate of.
    fn join(
        &self,
        item: ItemId,
        sample: &[SampledText],
        tokens: &[SampledTokens; 2],
        joiner: &mut Joiner,
    ) -> Result<(), DedupError> {
        let class = self.order[item];
        let own = self.classes.measure[class];
        let text = self.spool.text(self.classes.text[class], &mut joiner.buffer)?;
        for measure in [Measure::WordGrams, Measure::CharGrams] {
            let tokens = &tokens[position(measure)];
            // A text measured by words meets a text measured by characters by characters.
            if own.with(measure) != measure || tokens.is_empty() {
                continue;
            }
            let grams = joiner.shingler.grams(text, measure);
            if grams.iter().all(|&gram| tokens.texts(gram).is_empty()) {
                continue;
            }
            let set = ShingleSet::new(joiner.shingler.shingle(text, measure));
            joiner.shared.fill(0);
            for &token in set.shingles() {
                for &sampled in tokens.texts(token) {
                    joiner.shared[sampled as usize] = joiner.shared[sampled as usize].saturating_add(1);
                }
            }
            for (sampled, &shared) in sample.iter().zip(&joiner.shared) {
                let is_candidate = shared > 0 && sampled.measure.with(own) == measure && sampled.item != item;
                if is_candidate && self.may_reach(&sampled.sets[position(measure)], &set, shared) {
                    self.draw(sampled, item, &set, measure);
                }
            }
        }
        Ok(())
    }

    /// True if two sets may reach the threshold, if the second one has `shared` tokens of the prefix of the first one: all
    /// other shared tokens are after that prefix.
    fn may_reach(&self, sampled: &ShingleSet, set: &ShingleSet, shared: u16) -> bool {
        let filter = PrefixFilter::new(self.threshold);
        let [size, other] = [sampled, set].map(|set| set.shingles().len());
        let shared = if shared == u16::MAX { other } else { usize::from(shared) };
        shared + size - filter.prefix_len(size) >= filter.needed(size, other)
    }

    /// Draws `item` for a sampled text if it is a duplicate and has the smallest priority so far.
    fn draw(&self, sampled: &SampledText, item: ItemId, set: &ShingleSet, measure: Measure) {
        let priority = (self.priority(sampled.item, item), item);
        let is_first = |drawn: &Option<(u64, ItemId)>| drawn.is_none_or(|drawn| priority < drawn);
        if !sampled.drawn.lock().is_ok_and(|drawn| is_first(&drawn)) {
            return;
        }
        let own = &sampled.sets[position(measure)];
        if own.overlap_at_least(set, self.threshold).is_none_or(|overlap| overlap.jaccard() < self.threshold) {
            return;
        }
        if let Ok(mut drawn) = sampled.drawn.lock()
            && is_first(&drawn)
        {
            *drawn = Some(priority);
        }
    }
}

/// The position of a measure in the pairs of this module.
fn position(measure: Measure) -> usize {
    match measure {
        Measure::WordGrams => 0,
        Measure::CharGrams => 1,
    }
}
