//! Short texts: distinct titles, and variants of titles and sentences with all their true pairs.

use std::ops::Range;

use fastrand::Rng;

use super::TruePair;
use super::output::{GeneratedDocument, Output};
use crate::documents::{Document, Pools};
use crate::truth::{Shingles, Truth};

/// Titles at or above this Jaccard with an earlier one are omitted.
const MAX_TITLE_JACCARD: f64 = 0.5;
/// All pairs of variants at or above this Jaccard are listed.
const MIN_LISTED_JACCARD: f64 = 0.5;
/// Units of a base text: from a headline to a few sentences.
const BASE_UNITS: Range<usize> = 5..70;
/// Variants of one base, itself included, on average.
const VARIANTS_PER_BASE: u64 = 4;
/// Suffixes that sites and editors append to a text.
const SUFFIXES: [&str; 8] = [" (2)", "…", " - updated", "！", "（图）", " v2", "（更新）", "?"];

/// Writes the first `count` documents, no two of which are similar. Returns the number written.
pub fn titles(documents: &[Document], count: usize, out: &mut Output) -> anyhow::Result<usize> {
    let mut truth = Truth::default();
    let mut taken: Vec<Shingles> = Vec::new();
    for document in documents {
        if taken.len() == count {
            break;
        }
        let shingles = truth.shingles(&document.text);
        if taken
            .iter()
            .all(|other| shingles.jaccard(other) < MAX_TITLE_JACCARD)
        {
            write(out, &document.id, document, &document.text)?;
            taken.push(shingles);
        }
    }
    Ok(taken.len())
}

/// Writes `count` texts, each one of `count` / 4 short bases drawn from the documents' beginnings with a character or two changed or
/// a suffix added, and every pair of them at a Jaccard of 0.5 or more. Returns the number of pairs. Compares all with all.
pub fn short_variants(
    documents: &[Document],
    count: u64,
    seed: u64,
    out: &mut Output,
    pairs: &mut Output,
) -> anyhow::Result<u64> {
    let mut rng = Rng::with_seed(seed);
    let pools = Pools::new(documents);
    let bases: Vec<(&Document, &str)> = (0..(count / VARIANTS_PER_BASE).max(1))
        .map(|_| {
            let document = &documents[rng.usize(..documents.len())];
            let units = rng.usize(BASE_UNITS).min(document.units.len());
            let end = document.units[units - 1].end;
            (document, &document.text[..end as usize])
        })
        .collect();
    let mut truth = Truth::default();
    let mut made: Vec<Shingles> = Vec::new();
    let mut found = 0;
    for i in 0..count {
        let (document, base) = bases[rng.usize(..bases.len())];
        let text = vary(base, pools.of(document.language), &mut rng);
        let id = format!("s{i}");
        write(out, &id, document, &text)?;
        let shingles = truth.shingles(&text);
        for (earlier, other) in made.iter().enumerate() {
            let jaccard = shingles.jaccard(other);
            if jaccard >= MIN_LISTED_JACCARD {
                found += 1;
                pairs.write(&TruePair {
                    a: format!("s{earlier}"),
                    b: id.clone(),
                    jaccard,
                })?;
            }
        }
        made.push(shingles);
    }
    Ok(found)
}

fn write(out: &mut Output, id: &str, document: &Document, text: &str) -> anyhow::Result<()> {
    out.write(&GeneratedDocument {
        id,
        lang: document.language.tag(),
        base: None,
        text,
    })
}

/// Returns the text itself, or with one or two characters changed, a suffix, or both.
fn vary(base: &str, pool: &[&Document], rng: &mut Rng) -> String {
    let mut characters: Vec<char> = base.chars().collect();
    let kind = rng.u8(..8);
    if matches!(kind, 1..=5) {
        for _ in 0..rng.usize(1..=2) {
            let at = rng.usize(..characters.len());
            let other = pool[rng.usize(..pool.len())];
            let unit = &other.units[rng.usize(..other.units.len())];
            if let Some(new) = other.slice(unit).chars().next() {
                characters[at] = new;
            }
        }
    }
    let mut text: String = characters.into_iter().collect();
    if matches!(kind, 5..=7) {
        text.push_str(SUFFIXES[rng.usize(..SUFFIXES.len())]);
    }
    text
}
