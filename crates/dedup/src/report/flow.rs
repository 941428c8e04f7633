//! The figure of the records by outcome: each outcome has a band, whose breadth is its share of the records.

use twinprint_io::number::{count, percent};
use twinprint_io::results::RecordCounts;

/// The breadth of the band of all records, in pixels.
const ALL_RECORDS_PX: f64 = 200.0;
/// The height of the two lines of a label, in pixels.
const LABEL_PX: f64 = 46.0;
/// The space between the right ends of two bands, in pixels.
const GAP_PX: f64 = 8.0;

/// The outcome of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordOutcome {
    Kept,
    Near,
    Equal,
    EqualFingerprint,
    Known,
    Empty,
    Rejected,
}

impl RecordOutcome {
    /// The CSS class of the outcome's colour.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Near => "near",
            Self::Equal | Self::EqualFingerprint => "equal",
            Self::Known => "known",
            Self::Empty => "empty",
            Self::Rejected => "rejected",
        }
    }

    /// The name in English and Chinese.
    pub(super) fn names(self) -> [&'static str; 2] {
        match self {
            Self::Kept => ["kept", "保留"],
            Self::Near => ["near-duplicates", "近似重复"],
            Self::Equal => ["of equal text", "文本相同"],
            Self::EqualFingerprint => ["of equal fingerprint", "指纹相同"],
            Self::Known => ["known from before", "此前已有"],
            Self::Empty => ["without words", "没有字词"],
            Self::Rejected => ["rejected", "拒收"],
        }
    }
}

/// The band from all records to one outcome.
pub(super) struct Band {
    pub(super) class: &'static str,
    pub(super) names: [&'static str; 2],
    pub(super) count: String,
    pub(super) percent: String,
    /// The SVG path of the outline, 100 wide.
    pub(super) path: String,
    pub(super) y: String,
    pub(super) height: String,
    /// The baselines of the two lines of the label.
    pub(super) lines: [f64; 2],
}

/// The figure of the records by outcome.
pub(super) struct Flow {
    pub(super) bands: Vec<Band>,
    pub(super) height: f64,
    /// The top of the bar of all records.
    pub(super) y: String,
    /// The height of the bar of all records.
    pub(super) breadth: String,
}

impl Flow {
    /// Makes the figure for a run's records. `verified` is true if the run distinguished equal texts from equal
    /// fingerprints.
    pub(super) fn of(records: &RecordCounts, verified: bool) -> Self {
        let equal = if verified {
            RecordOutcome::Equal
        } else {
            RecordOutcome::EqualFingerprint
        };
        let outcomes = [
            (RecordOutcome::Kept, records.kept),
            (RecordOutcome::Near, records.removed_near()),
            (equal, records.removed_equal),
            (RecordOutcome::Known, records.removed_known),
            (RecordOutcome::Empty, records.removed_empty),
            (RecordOutcome::Rejected, records.rejected),
        ];
        let parts: Vec<(RecordOutcome, u64, f64)> = outcomes
            .into_iter()
            .filter(|&(_, n)| n > 0)
            .map(|(outcome, n)| {
                (
                    outcome,
                    n,
                    (ALL_RECORDS_PX * n as f64 / records.read.max(1) as f64).max(1.5),
                )
            })
            .collect();
        let breadth: f64 = parts.iter().map(|part| part.2).sum();
        let ends: f64 = parts
            .iter()
            .map(|part| part.2.max(LABEL_PX) + GAP_PX)
            .sum::<f64>()
            - GAP_PX;
        let height = ends.max(breadth).max(LABEL_PX);
        let first = (height - breadth) / 2.0;
        let (mut from, mut to) = (first, 0.0);
        let bands = parts
            .into_iter()
            .map(|(outcome, n, thick)| {
                let slot = thick.max(LABEL_PX);
                let at = to + (slot - thick) / 2.0;
                let (a, b, c, d) = (from, from + thick, at, at + thick);
                let path = format!(
                    "M0,{a:.1}C50,{a:.1} 50,{c:.1} 100,{c:.1}L100,{d:.1}C50,{d:.1} 50,{b:.1} 0,{b:.1}Z"
                );
                let middle = to + slot / 2.0;
                from += thick;
                to += slot + GAP_PX;
                Band {
                    class: outcome.class(),
                    names: outcome.names(),
                    count: count(n),
                    percent: percent(n, records.read),
                    path,
                    y: format!("{at:.1}"),
                    height: format!("{thick:.1}"),
                    lines: [middle - 3.0, middle + 15.0],
                }
            })
            .collect();
        Self {
            bands,
            height,
            y: format!("{first:.1}"),
            breadth: format!("{breadth:.1}"),
        }
    }
}
