//! Distinct documents of the same words: parts of several sources, with words replaced.
//!
//! Document number i is a function of the seed, i and the sources, so each can be generated again without being stored.

use fastrand::Rng;

use crate::documents::{Document, Language, Pools};
use crate::edit::{Piece, Strength, edit};

/// Sentences shorter than this many units are fragments: headings, cells, lines of code.
pub const MIN_UNITS: usize = 6;
/// Sentences longer than this many units are tables and listings.
pub const MAX_UNITS: usize = 120;
/// The share of the units that are replaced, so that two documents with the same sentence do not share all of it.
const EXCHANGE_RATE: f64 = 0.1;

/// A generator of documents whose sentences all differ (see [`keep_new_sentences`](crate::documents::keep_new_sentences)).
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

    /// Returns the random numbers of document `i`, independent for each `stream`.
    pub fn rng(&self, i: u64, stream: u64) -> Rng {
        // Consecutive seeds give independent streams, because the generator scrambles its counter.
        let mut seeds = Rng::with_seed(self.seed ^ stream.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        Rng::with_seed(seeds.u64(..) ^ i.wrapping_mul(0xD6E8_FEB8_6659_FD93))
    }

    /// Returns the sources of a language.
    pub fn pool(&self, language: Language) -> &[&'d Document] {
        self.pools.of(language)
    }

    /// Returns document number `i`, of about `least` to `most` units: at least `least` before words are exchanged. Two to five
    /// sources contribute a stretch of sentences each, and further ones if those are used up.
    pub fn document(&self, i: u64, units: impl Fn(Language) -> (usize, usize)) -> Document {
        let mut rng = self.rng(i, 1);
        let language = self.languages[rng.usize(..self.languages.len())];
        let pool = self.pool(language);
        let (least, most) = units(language);
        // Few documents are long, as on the web.
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
