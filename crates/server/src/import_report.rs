//! The report of an import, which is part of the answer or of the problem object.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

/// The maximum number of rejected lines that a report lists.
const MAX_LISTED_REJECTS: usize = 100;
/// The maximum length of a reject's reason in characters. A reason quotes the invalid value, which may be long.
const MAX_REASON_CHARS: usize = 300;

/// The report of an import. If the import ended early, it covers the lines that were imported until then.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
#[schema(as = Imported)]
pub(crate) struct ImportReport {
    /// The number of lines that are not blank: the sum of `taken` and `rejected`.
    pub(crate) lines: u64,
    /// The number of lines whose documents were added.
    pub(crate) taken: u64,
    /// The number of lines that are not valid documents, or whose documents the collection refused.
    pub(crate) rejected: u64,
    /// The number of added documents, by verdict.
    pub(crate) verdicts: BTreeMap<String, u64>,
    /// The first 100 rejected lines, with the reasons.
    #[schema(max_items = 100)]
    pub(crate) rejects: Vec<RejectedLine>,
}

/// A line of an import that was rejected.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Reject)]
pub(crate) struct RejectedLine {
    /// The number of the line in the body, from 1. Blank lines are counted, too.
    pub(crate) line: u64,
    /// The reason why the line was rejected.
    pub(crate) reason: String,
}

impl ImportReport {
    /// Counts a line whose document was added.
    pub(crate) fn add_taken(&mut self, verdict: &str) {
        self.lines += 1;
        self.taken += 1;
        *self.verdicts.entry(verdict.to_owned()).or_default() += 1;
    }

    /// Counts a rejected line and lists it, unless the list is full.
    pub(crate) fn add_rejected(&mut self, line: u64, reason: &str) {
        self.lines += 1;
        self.rejected += 1;
        if self.rejects.len() < MAX_LISTED_REJECTS {
            let reason = reason.chars().take(MAX_REASON_CHARS).collect();
            self.rejects.push(RejectedLine { line, reason });
        }
    }

    /// Adds the report of the lines that follow.
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
