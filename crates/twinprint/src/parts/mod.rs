//! Partial copies: pairs of texts of which one holds a share of the other, whatever stands around it, for `--parts`.
//!
//! Rolling fingerprints are picked out of every text by its content ([`text::passages`]), and texts that share enough of them are
//! candidates; a fingerprint that very many texts have, a notice or a menu, says nothing and is passed over. What a pair shares
//! is then measured exactly on its shingle sets: containment is the shared shingles over those of the smaller text. So a copied
//! passage is found however little the whole texts are alike, where the fingerprint of a whole text is blind.
//!
//! One entry a class: of equal texts the first stands for all. Memory: about 12 bytes a fingerprint, one for every six words or twelve
//! letters, while the stage runs.

mod measuring;
mod postings;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use text::passages::Passage;

use self::measuring::Measuring;
use self::postings::Postings;
use crate::corpus::Classes;
use crate::error::DedupError;
use crate::keep::KeepOrder;
use crate::memory::Budget;
use crate::rows::{self, Names, Ratio};
use crate::sets;
use crate::sink::{OutputDir, OutputFile};
use crate::spool::Spool;

/// Classes handed to one task at least: those of one block of the spool go together.
const CLASSES_A_TASK: usize = 16;

/// What the search found, for the report.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct PartsReport {
    /// Least containment told.
    pub least: f64,
    /// Fingerprints picked out of all texts.
    pub fingerprints: u64,
    /// Fingerprints passed over because more than 64 texts have them.
    pub common: u64,
    /// Pairs measured.
    pub candidates: u64,
    /// Rows of `parts.jsonl`.
    pub rows: u64,
}

/// One row of `parts.jsonl`.
#[derive(Serialize)]
struct PartRow<'r> {
    a: &'r str,
    b: &'r str,
    jaccard: Option<Ratio>,
    containment: Option<Ratio>,
    /// Share of its own shingles that each has in common with the other.
    share_of_a: Option<Ratio>,
    share_of_b: Option<Ratio>,
    /// The longest common passages in the order of a, in characters of the canonical texts: from and to in a, from and to in b.
    passages: Vec<[usize; 4]>,
    a_source: &'r str,
    a_line: u64,
    b_source: &'r str,
    b_line: u64,
}

/// A pair that shares enough.
struct Part {
    a: u32,
    b: u32,
    jaccard: f64,
    containment: f64,
    shares: [f64; 2],
    passages: Vec<Passage>,
}

/// Asked for every text: an error ends the search.
type GoOn<'g> = &'g (dyn Fn() -> Result<(), DedupError> + Sync);

/// Finds the pairs with a containment of at least `least` and writes `parts.jsonl`, in input order.
pub(crate) fn write(
    dir: &OutputDir,
    (classes, spool): (&Classes, &Spool),
    keep: &KeepOrder,
    names: &Names<'_>,
    least: f64,
    (budget, held): (Budget, u64),
    go_on: GoOn<'_>,
) -> Result<PartsReport, DedupError> {
    let key = sets::key_of(classes);
    let postings = Postings::of((classes, spool), key, (budget, held), go_on)?;
    let candidates = postings.candidates(least, go_on)?;
    let mut report = PartsReport {
        least,
        fingerprints: postings.picked,
        common: postings.common,
        candidates: candidates.iter().map(|others| others.len() as u64).sum(),
        rows: 0,
    };
    drop(postings);
    let parts: Vec<Vec<Part>> = candidates
        .into_par_iter()
        .enumerate()
        .with_min_len(CLASSES_A_TASK)
        .filter(|(_, others)| !others.is_empty())
        .map_init(
            || Measuring::new(key),
            |measuring, (b, others)| {
                go_on()?;
                measuring.parts((classes, spool), b as u32, &others, least)
            },
        )
        .collect::<Result<_, _>>()?;
    let document = |class: u32| keep.representative[keep.item[class as usize] as usize];
    let mut parts: Vec<Part> = parts.into_iter().flatten().collect();
    parts.sort_by_key(|part| {
        let (a, b) = (document(part.a), document(part.b));
        (a.min(b), a.max(b))
    });
    let mut file = dir.file("parts.jsonl")?;
    let mut buffer = Vec::new();
    for part in parts {
        let sides = [document(part.a), document(part.b)];
        write_row(&mut file, &part, sides, names, &mut buffer)?;
        report.rows += 1;
    }
    file.finish()?;
    Ok(report)
}

/// Writes a row, the document that comes first in the input as a.
fn write_row(
    file: &mut OutputFile,
    part: &Part,
    [first, second]: [u32; 2],
    names: &Names<'_>,
    buffer: &mut Vec<u8>,
) -> Result<(), DedupError> {
    let turned = first > second;
    let (a, b) = (first.min(second), first.max(second));
    let [share_of_a, share_of_b] = if turned {
        [part.shares[1], part.shares[0]]
    } else {
        part.shares
    };
    let passage = |p: &Passage| {
        let (a, b) = if turned { (&p.b, &p.a) } else { (&p.a, &p.b) };
        [a.start, a.end, b.start, b.end]
    };
    let ((a_source, a_line), (b_source, b_line)) = (names.place(a), names.place(b));
    let row = PartRow {
        a: &names.id(a),
        b: &names.id(b),
        jaccard: Ratio::of(part.jaccard),
        containment: Ratio::of(part.containment),
        share_of_a: Ratio::of(share_of_a),
        share_of_b: Ratio::of(share_of_b),
        passages: part.passages.iter().map(passage).collect(),
        a_source,
        a_line,
        b_source,
        b_line,
    };
    Ok(rows::write(file, &row, buffer)?)
}

#[cfg(test)]
mod tests;
