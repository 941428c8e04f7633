//! Generates millions of distinct documents, and near-duplicates of some of them with known Jaccard.

use super::TruePair;
use super::output::{GeneratedDocument, Output};
use super::variation::Variation;
use crate::documents::{Document, Language};
use crate::edit::{Piece, Strength, edit};
use crate::truth::Truth;

/// The minimum and maximum Jaccard of a near-duplicate and its base.
const MIN_JACCARD: f64 = 0.8;
const MAX_JACCARD: f64 = 0.98;
/// The maximum number of copies drawn from one base until one has an allowed Jaccard, and of bases tried for one copy.
const MAX_TRIES: usize = 20;

/// Options of the corpus.
#[derive(Clone, Copy, Debug)]
pub struct DistinctOptions {
    /// Number of documents.
    pub count: u64,
    /// The share of the documents that are near-duplicates of an earlier one.
    pub near_share: f64,
    /// The minimum and approximate maximum number of words of an English document. A Chinese document has twice as many
    /// characters.
    pub words: (usize, usize),
}

/// Writes the documents and the planted near-duplicate pairs, and returns the number of pairs. The first n documents
/// are a corpus too; its pairs are those between these documents. Only pairs of a copy and its base are listed,
/// although two copies of one document may also be duplicates.
pub fn distinct(
    variation: &Variation<'_>,
    options: DistinctOptions,
    out: &mut Output,
    pairs: &mut Output,
) -> anyhow::Result<u64> {
    let mut truth = Truth::default();
    let mut found = 0;
    for i in 0..options.count {
        let (document, pair) = match copy(variation, i, options, &mut truth) {
            Some((document, pair)) => (document, Some(pair)),
            None => (
                variation.document(i, |language| units(language, options.words)),
                None,
            ),
        };
        if let Some(pair) = pair {
            pairs.write(&pair)?;
            found += 1;
        }
        out.write(&GeneratedDocument {
            id: &document.id,
            lang: document.language.tag(),
            base: None,
            text: &document.text,
        })?;
    }
    Ok(found)
}

/// Returns the minimum and maximum number of units of a document: words, or characters.
fn units(language: Language, (least, most): (usize, usize)) -> (usize, usize) {
    match language {
        Language::English => (least, most),
        Language::Chinese => (2 * least, 2 * most),
    }
}

fn is_copy(variation: &Variation<'_>, i: u64, near: f64) -> bool {
    variation.rng(i, 2).f64() < near
}

/// Makes document `i` as a near-duplicate of an earlier document. Returns it with the pair; `None` if it is not meant
/// to be a near-duplicate or none could be made.
fn copy(
    variation: &Variation<'_>,
    i: u64,
    options: DistinctOptions,
    truth: &mut Truth,
) -> Option<(Document, TruePair)> {
    let near = options.near_share;
    if i == 0 || !is_copy(variation, i, near) {
        return None;
    }
    let mut rng = variation.rng(i, 3);
    // For about one document in five thousand, no base gives an allowed Jaccard. Such a document becomes a distinct
    // one.
    for _ in 0..MAX_TRIES {
        let earlier = rng.u64(..i);
        if is_copy(variation, earlier, near) {
            continue;
        }
        let base = variation.document(earlier, |language| units(language, options.words));
        let shingles = truth.shingles(&base.text);
        let target = MIN_JACCARD + (MAX_JACCARD - MIN_JACCARD) * rng.f64();
        for _ in 0..MAX_TRIES {
            let text = edit(
                Piece::all(&base),
                variation.pool(base.language),
                strength(base.language, target, rng.u8(..4) == 0),
                &mut rng,
            );
            let jaccard = shingles.jaccard(&truth.shingles(&text));
            if (MIN_JACCARD..=MAX_JACCARD).contains(&jaccard) {
                let pair = TruePair {
                    a: base.id,
                    b: format!("d{i}"),
                    jaccard,
                };
                return Some((Document::new(pair.b.clone(), base.language, text), pair));
            }
        }
    }
    None
}

/// Returns the strength of edits that leave about the given Jaccard. If a share s of the shingles of each side
/// survives, J = s / (2 − s). An edited unit changes three word 3-grams or five character 5-grams.
fn strength(language: Language, jaccard: f64, moved: bool) -> Strength {
    let survive = 2.0 * jaccard / (1.0 + jaccard);
    let width = match language {
        Language::English => 3.0,
        Language::Chinese => 5.0,
    };
    Strength {
        rate: 1.0 - survive.powf(1.0 / width),
        moved: usize::from(moved),
        cut: 0,
        added: 0,
    }
}
