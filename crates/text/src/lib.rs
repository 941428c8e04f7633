//! From text to SimHash fingerprints, and exact overlap of texts.
//!
//! [`Analyzer`] turns a text into its [canonical text](canonical()) and the fingerprint of its features, by the rules
//! of a [`Profile`]. [`TextPreparer`] does the same, but returns an owned [`PreparedText`] with shingle sets.
//! [`charset`] decodes bytes. [`overlap`] compares two texts exactly, [`passages`] finds their common passages, and
//! [`origin`] finds the positions of passages in the original texts. [`compare`](mod@compare) computes every distance
//! between two texts, and [`compat`] computes the fingerprints of other libraries.
//!
//! ```
//! use twinprint_fingerprint::{HashKey, Width};
//! use twinprint_text::{Analyzer, Profile};
//!
//! let mut analyzer = Analyzer::new(&Profile::parse("tp1-words-lntf-64")?, HashKey::PUBLIC);
//! let a = analyzer.analyze("The quick brown fox jumps over the lazy dog.").fingerprint as u64;
//! let b = analyzer.analyze("the QUICK brown fox — jumps over the lazy dog").fingerprint as u64;
//! assert_eq!(a.distance(b), 0);
//! # Ok::<(), twinprint_text::ProfileError>(())
//! ```
#![forbid(unsafe_code)]

mod analysis;
mod analyzer;
mod canonical;
mod chars;
pub mod charset;
mod checksum;
pub mod compare;
pub mod compat;
mod feature_hash;
mod feature_votes;
mod features;
mod fingerprinter;
mod given_features;
mod hash_number;
mod hex;
#[cfg(feature = "html")]
pub mod html;
mod idf;
mod keyed_hasher;
mod keywords;
pub mod measures;
mod normal;
pub mod origin;
pub mod overlap;
pub mod passages;
mod prepared_text;
mod product_hash;
mod profile;
mod script;
mod segment;
#[cfg(test)]
#[path = "../tests/shared/mod.rs"]
mod shared_data;
mod short_tally;
mod spaces;
mod stop_words;
mod tally;
#[cfg(test)]
mod test_text;
mod weight;
mod weight_table;
mod windows;
mod words;

pub use analysis::{Analysis, Feature};
pub use analyzer::Analyzer;
pub use canonical::canonical;
pub use feature_hash::FeatureHash;
pub use feature_votes::{FeatureVotes, VotingFeature, WeightedFeature};
pub use features::{Features, MAX_SHINGLE, MIN_FEATURES};
pub use given_features::{GivenFeatures, GivenFeaturesError, MAX_TOTAL_WEIGHT};
pub use hash_number::parse_hash_number;
pub use hex::fingerprint_hex;
pub use idf::{IdfBuilder, IdfError, IdfPower, IdfTable};
pub use keyed_hasher::KeyedHasher;
pub use keywords::{KeywordExtractor, KeywordsError};
pub use normal::normalise;
pub use prepared_text::{PreparationKeys, PreparedText, TextPreparer};
pub use profile::{Profile, ProfileError, ProfileMismatch};
pub use script::Measure;
pub use stop_words::StopWords;
pub use weight::Weight;
pub use words::Words;
