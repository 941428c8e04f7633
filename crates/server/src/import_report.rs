//! The result of an import, as answers and problems contain it.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

/// Maximum rejected lines that a report lists.
const MAX_LISTED_REJECTS: usize = 100;
/// Maximum characters of a reason. A reason quotes the invalid value, which may be long.
const MAX_REASON_CHARS: usize = 300;

/// The result of an import, or of the part that was imported before the import ended early.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
#[schema(as = Imported)]
pub(crate) struct ImportReport {
    /// Lines that are not blank: those taken and those rejected.
    pub(crate) lines: u64,
    /// Lines whose documents were added.
    pub(crate) taken: u64,
    /// Lines that are not valid documents, and documents that the collection refused.
    pub(crate) rejected: u64,
    /// Documents added, by verdict.
    pub(crate) verdicts: BTreeMap<String, u64>,
    /// The first rejected lines, at most 100, with their reasons.
    #[schema(max_items = 100)]
    pub(crate) rejects: Vec<RejectedLine>,
}

/// A line that was rejected.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Reject)]
pub(crate) struct RejectedLine {
    /// The line number, from 1. Blank lines count.
    pub(crate) line: u64,
    /// The reason.
    pub(crate) reason: String,
}

impl ImportReport {
    /// Counts a document that was added.
    pub(crate) fn add_taken(&mut self, verdict: &str) {
        self.lines += 1;
        self.taken += 1;
        *self.verdicts.entry(verdict.to_owned()).or_default() += 1;
    }

    /// Counts a rejected line.
    pub(crate) fn add_rejected(&mut self, line: u64, reason: &str) {
        self.lines += 1;
        self.rejected += 1;
        if self.rejects.len() < MAX_LISTED_REJECTS {
            let reason = reason.chars().take(MAX_REASON_CHARS).collect();
            self.rejects.push(RejectedLine { line, reason });
        }
    }

    /// Adds the report of later lines.
    pub(crate) fn merge(&mut self, later: Self) {
        self.lines += later.lines;
        self.taken += later.taken;
        self.rejected += later.rejected;
        for (verdict, count) in later.verdicts {
            *self.verdicts.entry(verdict).or_default() += count;
        }
        let room = MAX_LISTED_REJECTS - self.rejects.len();
        self.rejects.extend(later.rejects.into_iter().take(room));
    }
}
