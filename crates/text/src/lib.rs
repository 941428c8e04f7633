//! From text to what the engine compares: canonical text, weighted features, fingerprints, shingle sets.
//!
//! [`Analyzer`] turns a text into its [canonical form](canonical()) and the fingerprint of its features, as a
//! [`Profile`] lays down. [`charset`] makes text of bytes, [`overlap`] holds the exact check on two texts, [`passages`] what
//! they have in common and where, [`origin`] where that stands in the original texts, [`measures`] the distances of the textbooks.
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

mod analyzer;
mod canonical;
mod chars;
pub mod charset;
pub mod compare;
pub mod compat;
mod features;
mod hex;
#[cfg(feature = "html")]
pub mod html;
mod idf;
pub mod measures;
mod normal;
pub mod origin;
pub mod overlap;
pub mod passages;
mod profile;
mod scale;
mod script;
mod segment;
#[cfg(test)]
#[path = "../tests/shared/mod.rs"]
mod shared_data;
mod spaces;
mod stop_words;
mod tally;
#[cfg(test)]
mod test_text;
mod voter;
mod weight;
mod windows;
mod words;

pub use analyzer::{Analysis, Analyzer, Feature};
pub use canonical::canonical;
pub use features::{Features, MAX_SHINGLE};
pub use hex::fingerprint_hex;
pub use idf::{IdfBuilder, IdfError, IdfPower, IdfTable};
pub use normal::normalise;
pub use profile::{Profile, ProfileError, ProfileMismatch};
pub use script::Measure;
pub use stop_words::StopWords;
pub use weight::Weight;
pub use words::Words;
