//! Overlap of two texts: exact Jaccard and containment of their shingle sets.
//!
//! [`Shingler`] makes the shingle set of a canonical text: character 5-grams if the pair is measured by characters,
//! word 3-grams otherwise (Broder 1997). A set is stored as the sorted distinct 64-bit hashes of its shingles under a
//! key. Callers do not publish the hashes, so with a random key nobody can prepare texts that collide. By chance, a
//! comparison of two sets of a million shingles has one false common shingle in 10⁷ comparisons.
//!
//! ```
//! use twinprint_fingerprint::HashKey;
//! use twinprint_text::overlap::{Shingler, overlap};
//! use twinprint_text::{Measure, canonical};
//!
//! let (a, b) = (canonical("The cat sat on the mat."), canonical("The cat sat on the rug."));
//! let measure = Measure::of(&a).with(Measure::of(&b));
//! let mut shingler = Shingler::new(HashKey::PUBLIC);
//! let shared = overlap(&shingler.shingle(&a, measure), &shingler.shingle(&b, measure));
//! assert_eq!((shared.common, shared.union), (3, 5));
//! assert_eq!(shared.jaccard(), 0.6);
//! ```

mod merge;
mod shingle_set;
mod shingler;
mod sketch;
mod sorting;

pub use merge::{Overlap, overlap, overlap_at_least};
pub use shingle_set::ShingleSet;
pub use shingler::{CHAR_GRAM, Shingler, WORD_GRAM};
pub(crate) use shingler::{is_letter_or_number, mixed_word};
pub use sketch::ShingleSketch;
