//! The measured recall of a run in memory.

use rayon::prelude::*;
use twinprint_io::results::RecallReport;
use twinprint_io::work::{BlockBuffer, Spool};
use twinprint_text::overlap::Shingler;

use super::sample::{Choice, CorpusText, Meetings, Sample, wanted_texts};
use crate::candidates::Candidates;
use crate::corpus::keep_order::KeepOrder;
use crate::corpus::shingle_sets::{SetCache, SetKey, key_of};
use crate::corpus::{Classes, TextValues};
use crate::error::DedupError;
use crate::ids::{Id, IdVec, ItemId, par_ids};

/// The number of texts that one thread joins at a time.
const TEXTS_PER_TASK: usize = 256;

/// The number of items among which one thread chooses, at least.
const ITEMS_PER_CHOICE: usize = 4096;

/// The largest number of chosen texts of which shingles are made at a time. The sample may not need the shingles of all chosen
/// texts.
const TEXTS_AT_A_TIME: usize = 128;

/// The number of bytes of text at which no more texts are added to those of which shingles are made at a time.
const BYTES_AT_A_TIME: u64 = 2 << 20;

/// The search whose recall is measured.
#[derive(Clone, Copy)]
pub(crate) struct MeasuredSearch<'m> {
    pub(crate) classes: &'m Classes,
    pub(crate) keep: &'m KeepOrder,
    pub(crate) spool: &'m Spool,
    pub(crate) candidates: &'m Candidates,
    /// The width of the fingerprints that distances are measured in.
    pub(crate) bits: u32,
    /// The minimum Jaccard of a duplicate.
    pub(crate) threshold: f64,
    pub(crate) seed: u64,
}

/// The sample of a run in memory, while it is joined with the corpus.
pub(crate) struct SampledRun<'m> {
    search: MeasuredSearch<'m>,
    /// For each item, true if it may be a duplicate.
    takes_part: IdVec<ItemId, bool>,
    /// For each item, true if it has candidates.
    connected: IdVec<ItemId, bool>,
    sample: Sample,
}

impl<'m> SampledRun<'m> {
    /// Draws the sample. Items for which `is_decided` is true take no part.
    pub(crate) fn draw(
        search: MeasuredSearch<'m>,
        is_decided: impl Fn(ItemId) -> bool,
    ) -> Result<Self, DedupError> {
        let MeasuredSearch { classes, keep, .. } = search;
        let takes_part: IdVec<ItemId, bool> = keep
            .classes
            .items()
            .map(|item| !classes.is_empty_text(keep.classes.of(item)) && !is_decided(item))
            .collect();
        let connected = search.candidates.connected();
        let count = connected.iter().filter(|&&connected| connected).count();
        let wanted = wanted_texts(count as u64, connected.len() as u64);
        let none = || Choice::new(search.seed, wanted);
        let choice = par_ids::<ItemId>(takes_part.len())
            .with_min_len(ITEMS_PER_CHOICE)
            .filter(|&item| takes_part[item])
            .fold(none, |mut choice, item| {
                choice.offer(&search.text(item));
                choice
            })
            .reduce(none, Choice::with);
        let key = key_of(classes);
        let shingles = |(buffer, shingler): &mut (BlockBuffer, Shingler), &text: &CorpusText| {
            let class = keep.classes.of(ItemId::new(text.item as u32));
            let canonical = search.spool.text(classes.text(class), buffer)?;
            Ok::<_, DedupError>((text, shingler.shingle(canonical, text.measure)))
        };
        let chosen = choice.finish().into_iter();
        let mut texts = chosen.map(|item| search.text(ItemId::new(item as u32)));
        let shingled = std::iter::from_fn(|| {
            let texts = next_texts(&mut texts)?;
            let buffers = || (BlockBuffer::default(), Shingler::for_one_run(key));
            let shingled: Vec<_> = texts.par_iter().map_init(buffers, shingles).collect();
            Some(shingled)
        });
        let sample = Sample::new(key, search.threshold, search.seed, shingled.flatten())?;
        Ok(Self {
            search,
            takes_part,
            connected,
            sample,
        })
    }

    /// The approximate memory of the sample in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.sample.bytes() + 2 * self.takes_part.len() as u64
    }

    /// Joins items whose shingle sets are loaded. An item may be joined more than once.
    pub(crate) fn join_sets(&self, items: &[ItemId], sets: &SetCache<'_>) {
        items
            .par_chunks(TEXTS_PER_TASK)
            .for_each_init(Meetings::default, |meetings, items| {
                for &item in items.iter().filter(|&&item| self.takes_part[item]) {
                    let measure = sets.measure(item);
                    if let Some(set) = sets.get(SetKey { item, measure }) {
                        self.sample.join_set(&self.search.text(item), set, meetings);
                    }
                }
            });
    }

    /// Joins the items that have no candidates, whose texts verification does not load. Reads their texts.
    pub(crate) fn join_others(
        &self,
        check_cancelled: &(dyn Fn() -> Result<(), DedupError> + Sync),
    ) -> Result<(), DedupError> {
        let MeasuredSearch {
            classes, keep, spool, ..
        } = self.search;
        let mut others: Vec<ItemId> = keep
            .classes
            .items()
            .filter(|&item| self.takes_part[item] && !self.connected[item])
            .collect();
        // Texts that are next to each other in the spool are read by one task.
        others.sort_unstable_by_key(|&item| keep.classes.of(item));
        others.par_chunks(TEXTS_PER_TASK).try_for_each_init(
            || (BlockBuffer::default(), self.sample.scratch()),
            |(buffer, scratch), items| {
                check_cancelled()?;
                for &item in items {
                    let text = self.search.text(item);
                    if self.sample.has_measure(text.measure) {
                        let canonical = spool.text(classes.text(keep.classes.of(item)), buffer)?;
                        self.sample.join_text(&text, canonical, scratch);
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
            keep,
            candidates,
            bits,
            ..
        } = self.search;
        let drawn = self.sample.drawn();
        let sampled = drawn.len() as u64;
        let pairs = drawn.filter_map(|(item, drawn)| Some([item, drawn?.item]));
        let is_found = |pair: [u64; 2]| {
            let [a, b] = pair.map(|item| ItemId::new(item as u32));
            let distance = || classes.distance(keep.classes.of(a), keep.classes.of(b), bits);
            candidates.contains(a, b, distance)
        };
        super::of_trials(sampled, pairs.map(is_found))
    }
}

/// The next texts of which shingles are made together; `None` if there are no more.
fn next_texts(texts: &mut impl Iterator<Item = CorpusText>) -> Option<Vec<CorpusText>> {
    let (mut next, mut bytes) = (Vec::new(), 0);
    while next.len() < TEXTS_AT_A_TIME
        && bytes < BYTES_AT_A_TIME
        && let Some(text) = texts.next()
    {
        bytes += u64::from(text.bytes);
        next.push(text);
    }
    (!next.is_empty()).then_some(next)
}

impl MeasuredSearch<'_> {
    /// Describes the text of an item. Classes are numbered in input order.
    fn text(&self, item: ItemId) -> CorpusText {
        let (classes, class) = (self.classes, self.keep.classes.of(item));
        let TextValues {
            text,
            features,
            measure,
            ..
        } = classes.values(class);
        CorpusText {
            item: item.get().into(),
            order: class.get().into(),
            fingerprint: classes.fingerprint[class],
            features,
            bytes: text.len() as u32,
            measure,
        }
    }
}
