//! The fingerprints of texts as the search for passages of many texts reads them, in memory or on disk.

use super::ids::{FingerprintId, TextId};
use crate::error::DedupError;

/// A fingerprint of a text that at least one other text has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TextFingerprint {
    /// The hash value.
    pub(crate) value: u64,
    /// The position in the table of the fingerprints of all texts, see [`Covered`](super::covered::Covered).
    pub(crate) position: u64,
    /// The number of the fingerprint if it is common: if many texts have it.
    pub(crate) common: Option<FingerprintId>,
}

/// The fingerprints that at least two texts have.
pub(crate) trait FingerprintIndex: Sync {
    /// The number of texts above which a fingerprint is common.
    fn many(&self) -> usize;

    /// The number of numbered fingerprints. All common fingerprints have smaller numbers.
    fn numbers(&self) -> usize;

    /// The number of entries in the table of the fingerprints of all texts.
    fn entries(&self) -> u64;

    /// The fingerprints of a text, ascending by value and by position.
    ///
    /// # Errors
    /// The index is on disk and cannot be read.
    fn of_text(&self, text: TextId) -> Result<Vec<TextFingerprint>, DedupError>;

    /// Adds the texts that have a common fingerprint to `texts`, ascending.
    ///
    /// # Errors
    /// The index is on disk and cannot be read.
    fn add_texts(&self, common: FingerprintId, texts: &mut Vec<TextId>) -> Result<(), DedupError>;

    /// Calls `f` with the position and the number of every common fingerprint of every text, in the order of the
    /// positions.
    ///
    /// # Errors
    /// The index is on disk and cannot be read.
    fn each_common(&self, f: &mut dyn FnMut(u64, FingerprintId)) -> Result<(), DedupError>;
}
