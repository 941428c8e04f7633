//! Generates distinct documents with the same vocabulary: stretches of several sources, with some words replaced.
//!
//! Document number i depends only on the seed, i and the sources, so it can be generated again and need not be stored.

use fastrand::Rng;

use crate::documents::{Document, Language, Pools};
use crate::edit::{Piece, Strength, edit};

/// Sentences with fewer units are not used: they are headings, table cells or lines of code.
pub const MIN_UNITS: usize = 6;
/// Sentences with more units are not used: they are tables and listings.
pub const MAX_UNITS: usize = 120;
/// The share of units that are replaced, so that two documents with the same source sentence still differ in it.
const EXCHANGE_RATE: f64 = 0.1;

/// Generates documents. All sentences of the sources are different (see
/// [`keep_new_sentences`](crate::documents::keep_new_sentences)).
#[derive(Debug)]
pub struct Variation<'d> {
    pools: Pools<'d>,
    languages: Vec<Language>,
    seed: u64,
}

impl<'d> Variation<'d> {
    /// Creates a generator from sources. It generates documents in the languages of the sources.
    pub fn new(sources: &'d [Document], seed: u64) -> anyhow::Result<Self> {
        anyhow::ensure!(!sources.is_empty(), "no source has three sentences of its own");
        let pools = Pools::new(sources);
        let languages = [Language::English, Language::Chinese]
            .into_iter()
            .filter(|&language| !pools.of(language).is_empty())
            .collect();
        Ok(Self {
            pools,
            languages,
            seed,
        })
    }

    /// Returns the random-number generator of document `i`. Different values of `stream` give independent generators.
    pub fn rng(&self, i: u64, stream: u64) -> Rng {
        // Consecutive seeds give independent streams, because the generator scrambles its seed.
        let mut seeds = Rng::with_seed(self.seed ^ stream.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        Rng::with_seed(seeds.u64(..) ^ i.wrapping_mul(0xD6E8_FEB8_6659_FD93))
    }

    /// Returns the sources of a language.
    pub fn pool(&self, language: Language) -> &[&'d Document] {
        self.pools.of(language)
    }

    /// Returns document number `i`. `units` returns the minimum and the approximate maximum number of units for a
    /// language; the minimum holds before words are replaced. Stretches of sentences come from two to five sources, or
    /// from more if these have too few sentences.
    pub fn document(&self, i: u64, units: impl Fn(Language) -> (usize, usize)) -> Document {
        let mut rng = self.rng(i, 1);
        let language = self.languages[rng.usize(..self.languages.len())];
        let pool = self.pool(language);
        let (least, most) = units(language);
        // The lengths are skewed, because few documents on the web are long.
        let wanted = (least as f64 * (most as f64 / least as f64).powf(rng.f64())) as usize;
        let share = wanted.div_ceil(rng.usize(2..=5));
        let mut pieces = Vec::new();
        let mut total = 0;
        while total < wanted {
            let source = pool[rng.usize(..pool.len())];
            let start = rng.usize(..source.sentences.len());
            let mut taken = 0;
            for range in source.sentences.iter().skip(start) {
                taken += source.units_within(range).len();
                pieces.push(Piece {
                    document: source,
                    range: range.clone(),
                });
                if taken >= share {
                    break;
                }
            }
            total += taken;
        }
        let strength = Strength {
            rate: EXCHANGE_RATE,
            ..Strength::default()
        };
        let text = edit(pieces, pool, strength, &mut rng);
        Document::new(format!("d{i}"), language, text)
    }
}
