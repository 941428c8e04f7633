//! Names and metrics of verdicts.

use twinprint_collection::{Answer, Verdict};

use crate::app::App;

/// Adds the verdicts of some answers to the metrics.
pub(crate) fn count_verdicts<'a>(app: &App, answers: impl Iterator<Item = &'a Answer>) {
    let mut counts = [0u64; 4];
    for answer in answers {
        counts[answer.verdict as usize] += 1;
    }
    let verdicts = [Verdict::New, Verdict::Exact, Verdict::Near, Verdict::Updated];
    for (verdict, count) in verdicts.into_iter().zip(counts).filter(|(_, count)| *count > 0) {
        app.metrics.count_verdicts(verdict_name(verdict), count);
    }
}

/// The name of a verdict in JSON and in metrics.
pub(crate) fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::New => "new",
        Verdict::Exact => "exact",
        Verdict::Near => "near",
        Verdict::Updated => "updated",
    }
}
