//! The choice of the radius, and verification with grouping.

use std::cell::Cell;
use std::sync::atomic::Ordering;

use twinprint_cluster::{Outcome, Pairs, leader_follower};

use super::Runner;
use crate::candidates::radius::{self, Radius, RadiusCriteria};
use crate::candidates::{self, Candidates, FeatureLimits, SetJoinCosts, sorted_by_fingerprint};
use crate::corpus::Corpus;
use crate::corpus::keep_order::KeepOrder;
use crate::corpus::shingle_sets::{SetCache, SpooledText, jaccard, key_of};
use crate::error::DedupError;
use crate::ids::{ClassId, Id, ItemId};
use crate::options::PairRows;
use crate::recall::SampledRun;
use crate::verify::matcher::{MatchCriteria, Matcher};
use crate::verify::near_misses::NearMisses;
use crate::write::pairs::PairWriter;
use twinprint_io::work::Spool;

/// The tables that verification and grouping work on.
pub(super) struct Grouping<'g> {
    pub(super) corpus: &'g Corpus,
    pub(super) keep: &'g KeepOrder,
    /// The spool of texts; `None` in a run without verification.
    pub(super) spool: Option<&'g Spool>,
    /// The sample by which the recall is measured; `None` if nothing is measured.
    pub(super) sample: Option<&'g SampledRun<'g>>,
    pub(super) candidates: &'g Candidates,
    /// The width in which the distances of fingerprints are measured.
    pub(super) bits: u32,
    /// The bytes of shingle sets that are loaded at a time.
    pub(super) set_bytes: usize,
    /// The bytes of the tables that stay in memory during the grouping.
    pub(super) table_bytes: u64,
}

/// The result of verification and grouping.
pub(super) struct Grouped {
    pub(super) outcome: Outcome,
    /// The number of candidates of the set join that were verified.
    pub(super) probed: u64,
    /// The pairs just below the threshold.
    pub(super) near_misses: NearMisses,
}

impl Runner<'_> {
    /// Chooses the width and the radius of the candidates from the fingerprints, unless the options give them.
    /// The sample may compare texts, which are read from the spool.
    pub(super) fn choose_radius(
        &self,
        corpus: &Corpus,
        keep: &KeepOrder,
        spool: Option<&Spool>,
    ) -> Result<Radius, DedupError> {
        let classes = &corpus.classes;
        if !self.options.verify {
            return Ok(radius::verdict(self.options));
        }
        let joined = keep
            .classes
            .iter()
            .filter(|&class| classes.counts(class).is_joined(self.options));
        let fingerprint = |class: ClassId| classes.fingerprint[class];
        let mut first = sorted_by_fingerprint(joined.collect(), &fingerprint);
        first.dedup_by_key(|class| fingerprint(*class));
        let rows: Vec<u128> = first.iter().map(|&class| fingerprint(class)).collect();
        let texts = || classes.class_ids().map(|class| classes.counts(class));
        let costs = SetJoinCosts::of(texts(), FeatureLimits::new(texts(), self.options), self.options);
        if candidates::is_exact(costs, rows.len(), self.options) {
            return Ok(radius::exact(self.options.bits));
        }
        let criteria = RadiusCriteria {
            bits: self.options.bits,
            k: self.options.hamming,
            threshold: self.options.threshold,
        };
        let key = key_of(classes);
        let jaccard = |a: usize, b: usize| match spool {
            Some(spool) => {
                let text = |row: usize| SpooledText {
                    spool,
                    text: classes.text(first[row]),
                    measure: classes.measure(first[row]),
                };
                jaccard(key, [text(a), text(b)])
            }
            None => Ok(0.0),
        };
        radius::choose(rows.as_slice(), criteria, self.options.seed, &jaccard)
    }

    /// Verifies the candidates and groups the duplicates. Writes every duplicate pair that the options ask for to
    /// `pairs`.
    pub(super) fn group(
        &self,
        grouping: &Grouping<'_>,
        pairs: &mut PairWriter<'_>,
    ) -> Result<Grouped, DedupError> {
        let &Grouping {
            corpus,
            keep,
            spool,
            candidates,
            sample,
            bits,
            set_bytes,
            table_bytes,
        } = grouping;
        let wanted = if self.options.pairs == PairRows::None {
            Pairs::Leaders
        } else {
            Pairs::All
        };
        let sets =
            spool.map(|spool| SetCache::new(spool, &corpus.classes, &keep.classes, set_bytes, self.cancel));
        let mut matcher = Matcher::new(
            &corpus.classes,
            keep,
            candidates,
            sets,
            sample,
            MatchCriteria {
                bits,
                threshold: self.options.threshold,
                pairs: wanted,
            },
        );
        let budget = self.budget;
        matcher.prepare_join(Box::new(move |join| budget.check_join(table_bytes, join)))?;
        let mut failure = None;
        let failed = Cell::new(false);
        let mut done = 0;
        let outcome = leader_follower(
            keep.len() as u32,
            &mut matcher,
            wanted,
            set_bytes,
            |item, candidate, similarity| {
                if failure.is_none() {
                    failure = pairs.write(ItemId::new(item), candidate, similarity).err();
                    failed.set(failure.is_some());
                }
            },
            |items| {
                self.progress.advance(u64::from(items - done));
                done = items;
                !failed.get() && !self.cancel.load(Ordering::Relaxed)
            },
        );
        self.check_cancelled()?;
        let probed = matcher.probed();
        match (failure, matcher.finish()) {
            (Some(error), _) | (None, Err(error)) => Err(error),
            (None, Ok(near_misses)) => Ok(Grouped {
                outcome,
                probed,
                near_misses,
            }),
        }
    }
}
