//! The winnowed fingerprints of texts.

use std::ops::Range;

use rayon::prelude::*;
use twinprint_fingerprint::HashKey;
use twinprint_io::work::BlockBuffer;
use twinprint_text::passages::Winnower;

use super::ids::TextId;
use super::texts::Texts;
use super::{CheckCancelled, MIN_TEXTS_PER_TASK};
use crate::error::DedupError;
use crate::ids::Id;

/// Selects the fingerprints of consecutive texts, in parallel. The fingerprints of a text are ascending and distinct.
///
/// # Errors
/// The error of `check_cancelled`, and an error if the texts cannot be read.
pub(crate) fn fingerprints(
    texts: &Texts<'_>,
    range: Range<u32>,
    key: HashKey,
    check_cancelled: CheckCancelled<'_>,
) -> Result<Vec<Vec<u64>>, DedupError> {
    let buffers = || (Winnower::new(key), BlockBuffer::default());
    let pick = |own: &mut (Winnower, BlockBuffer), text: TextId| {
        check_cancelled()?;
        let place = texts.place(text)?;
        texts.measured(place.bytes(), own, buffers, |(winnower, block)| {
            Ok(winnower.fingerprints(texts.canonical(place, block)?, place.measure))
        })
    };
    range
        .into_par_iter()
        .map(TextId::new)
        .with_min_len(MIN_TEXTS_PER_TASK)
        .map_init(buffers, pick)
        .collect()
}
