//! How much two texts overlap: exact Jaccard and containment of their shingle sets.
//!
//! The shingles of a text are a set, cut by [`Shingler`] from its canonical text: character 5-grams where the pair
//! is measured by characters, word 3-grams otherwise (Broder 1997). A set is held as the sorted distinct 64-bit
//! hashes of its members under a key; hashes are never given out, so with a random key nobody can prepare texts
//! that collide, and by chance two sets of a million shingles share a false member once in 10⁷ comparisons.

mod merge;
mod shingle_set;
mod shingler;
mod sorting;

pub use merge::{Overlap, overlap, overlap_at_least};
pub use shingle_set::ShingleSet;
pub use shingler::{CHAR_GRAM, Shingler, WORD_GRAM};
pub(crate) use shingler::{counts, mixed_words};
