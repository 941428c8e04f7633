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
//! a text with those that have enough of its head. A pair at the threshold is missed with a probability below 10⁻¹². In a
//! run in memory ([`SampledRun`]), the texts that verification loads are joined when it loads them; the other texts are read
//! afterwards. So the measurement takes a small part of a run's time. A run on disk joins all texts in a stage of its own.
//!
//! Drawn pairs come from priorities: a hash of the seed and the pair. The duplicate with the smallest priority is drawn,
//! so the result does not depend on threads or on the numbers of texts, and a text in a crowd is compared with few of its
//! duplicates.

mod head;
mod interval;
mod sample;
mod sampled_run;
mod tokens;

use twinprint_io::progress::Progress;
use twinprint_io::results::RecallReport;

use self::interval::clopper_pearson;
pub(crate) use self::sample::{Choice, CorpusText, Drawn, Sample, wanted_texts};
pub(crate) use self::sampled_run::{MeasuredSearch, SampledRun};

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

/// The recall by the pairs drawn for a sample of `sampled` texts. For each pair, `trials` is true if the search has it among
/// its candidates.
pub(crate) fn of_trials(sampled: u64, trials: impl Iterator<Item = bool>) -> RecallReport {
    let (mut count, mut found) = (0, 0);
    for is_found in trials {
        count += 1;
        found += u64::from(is_found);
    }
    let [low, high] = clopper_pearson(found, count);
    RecallReport {
        exact: false,
        sampled,
        trials: count,
        found,
        recall: (count > 0).then(|| found as f64 / count as f64),
        low,
        high,
    }
}

/// Warns if the measured recall may be low.
pub(crate) fn warn_if_low(recall: Option<&RecallReport>, progress: &dyn Progress) {
    let Some(recall) = recall.filter(|recall| recall.may_be_low()) else {
        return;
    };
    progress.warn(&format!(
        "the recall may be below {}: of {} sampled pairs of duplicates, {} are not among the candidates; a larger radius \
         finds more",
        RecallReport::WANTED,
        recall.trials,
        recall.trials - recall.found
    ));
}
