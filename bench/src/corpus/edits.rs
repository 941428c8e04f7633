//! Copies of documents with light and heavy edits.

use fastrand::Rng;

use super::output::{GeneratedDocument, Output};
use crate::documents::{Document, Language, Pools};
use crate::edit::{Piece, Strength, edit};

/// One copy in this many is exact.
const EXACT_EVERY: u8 = 5;

/// Writes copies of randomly drawn documents, until there are `bytes` bytes. A fifth are exact. In the others the share of edited
/// units is log-uniform around the rate that leaves a Jaccard of 0.8, and in some of them sentences are moved and stretches cut or
/// added. So about half stay duplicates of their source. Returns the number of documents.
pub fn edits(documents: &[Document], bytes: u64, seed: u64, out: &mut Output) -> anyhow::Result<u64> {
    let pools = Pools::new(documents);
    let mut rng = Rng::with_seed(seed);
    let mut count = 0;
    while out.bytes() < bytes {
        let base = &documents[rng.usize(..documents.len())];
        let pool = pools.of(base.language);
        let text = if rng.u8(..EXACT_EVERY) == 0 {
            base.text.clone()
        } else {
            edit(
                Piece::all(base),
                pool,
                strength(base.language, &mut rng),
                &mut rng,
            )
        };
        out.write(&GeneratedDocument {
            id: &format!("e{count}"),
            lang: base.language.tag(),
            base: Some(&base.id),
            text: &text,
        })?;
        count += 1;
    }
    Ok(count)
}

fn strength(language: Language, rng: &mut Rng) -> Strength {
    // An edited unit breaks three word 3-grams or five character 5-grams: J = 0.8 at 3.9 % of the words or 2.3 % of the
    // characters.
    let (low, high): (f64, f64) = match language {
        Language::English => (0.003, 0.3),
        Language::Chinese => (0.002, 0.2),
    };
    let rate = low * (high / low).powf(rng.f64());
    let often = |rng: &mut Rng, share: f64| if rng.f64() < share { rng.usize(1..=2) } else { 0 };
    Strength {
        rate,
        moved: often(rng, 0.3),
        cut: often(rng, 0.2),
        added: often(rng, 0.2),
    }
}
