//! The names of verdicts in JSON, and the metrics that count them.

use twinprint_collection::{Answer, Verdict};

use crate::app::App;

/// Counts the verdicts of answers in the metrics of the service.
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

/// Returns the name of a verdict, as JSON and metrics contain it.
pub(crate) fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::New => "new",
        Verdict::Exact => "exact",
        Verdict::Near => "near",
        Verdict::Updated => "updated",
    }
}
