//! The flow of records into what became of them, as bands of their breadth.

use twinprint_io::number::{count, percent};
use twinprint_io::results::RecordCounts;

/// Pixels of all records.
const ALL: f64 = 200.0;
/// Pixels that the two lines of a label take.
const LABEL: f64 = 46.0;
/// Pixels between two bands at their end.
const GAP: f64 = 8.0;

/// What became of some records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Kept,
    Near,
    Equal,
    EqualFingerprint,
    Known,
    Empty,
    Rejected,
}

impl Fate {
    /// The class of its colour in the style sheet.
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

    /// Its name in English and Chinese.
    pub(super) fn names(self) -> [&'static str; 2] {
        match self {
            Self::Kept => ["kept", "保留"],
            Self::Near => ["near-duplicates", "近似重复"],
            Self::Equal => ["of equal text", "文本相同"],
            Self::EqualFingerprint => ["of equal fingerprint", "指纹相同"],
            Self::Known => ["known from before", "此前已有"],
            Self::Empty => ["without words", "没有字词"],
            Self::Rejected => ["rejected", "被拒收"],
        }
    }
}

/// A band from all records to a fate.
pub(super) struct Band {
    pub(super) class: &'static str,
    pub(super) names: [&'static str; 2],
    pub(super) count: String,
    pub(super) percent: String,
    /// Its outline, 100 wide.
    pub(super) path: String,
    pub(super) y: String,
    pub(super) height: String,
    /// Baselines of its label's two lines.
    pub(super) lines: [f64; 2],
}

/// See the module.
pub(super) struct Flow {
    pub(super) bands: Vec<Band>,
    pub(super) height: f64,
    /// Where the bar of all records begins, and how high it is.
    pub(super) y: String,
    pub(super) breadth: String,
}

impl Flow {
    /// The flow of a run's records. `verified`: true if equal texts were distinguished from equal fingerprints.
    pub(super) fn of(records: &RecordCounts, verified: bool) -> Self {
        let equal = if verified {
            Fate::Equal
        } else {
            Fate::EqualFingerprint
        };
        let fates = [
            (Fate::Kept, records.kept),
            (Fate::Near, records.removed_near()),
            (equal, records.removed_equal),
            (Fate::Known, records.removed_known),
            (Fate::Empty, records.removed_empty),
            (Fate::Rejected, records.rejected),
        ];
        let parts: Vec<(Fate, u64, f64)> = fates
            .into_iter()
            .filter(|&(_, n)| n > 0)
            .map(|(fate, n)| (fate, n, (ALL * n as f64 / records.read.max(1) as f64).max(1.5)))
            .collect();
        let breadth: f64 = parts.iter().map(|part| part.2).sum();
        let ends: f64 = parts.iter().map(|part| part.2.max(LABEL) + GAP).sum::<f64>() - GAP;
        let height = ends.max(breadth).max(LABEL);
        let first = (height - breadth) / 2.0;
        let (mut from, mut to) = (first, 0.0);
        let bands = parts
            .into_iter()
            .map(|(fate, n, thick)| {
                let slot = thick.max(LABEL);
                let at = to + (slot - thick) / 2.0;
                let (a, b, c, d) = (from, from + thick, at, at + thick);
                let path = format!(
                    "M0,{a:.1}C50,{a:.1} 50,{c:.1} 100,{c:.1}L100,{d:.1}C50,{d:.1} 50,{b:.1} 0,{b:.1}Z"
                );
                let middle = to + slot / 2.0;
                from += thick;
                to += slot + GAP;
                Band {
                    class: fate.class(),
                    names: fate.names(),
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
