//! The distinct texts of a run, numbered in the input order of the documents that stand for them.

use std::sync::{Mutex, PoisonError};

use twinprint_text::Measure;

use super::ids::TextId;
use crate::error::DedupError;
use crate::ids::IdVec;
use twinprint_io::work::{BlockBuffer, Spool, TextRef};

/// Texts with more bytes than this are measured one at a time, so that the peak memory does not grow with the number of
/// threads.
pub(super) const MAX_PARALLEL_TEXT_BYTES: usize = 1 << 20;

/// The place of a text in the spool, and its measure: words or characters.
#[derive(Clone, Copy)]
pub(crate) struct TextPlace {
    pub(crate) text: TextRef,
    pub(crate) measure: Measure,
}

/// A table of texts, in memory or on disk.
pub(crate) trait TextPlaces: Sync {
    /// The number of texts.
    fn len(&self) -> usize;

    /// The place of a text.
    ///
    /// # Errors
    /// The table is on disk and cannot be read.
    fn place(&self, text: TextId) -> Result<TextPlace, DedupError>;
}

impl TextPlaces for IdVec<TextId, TextPlace> {
    fn len(&self) -> usize {
        Self::len(self)
    }

    fn place(&self, text: TextId) -> Result<TextPlace, DedupError> {
        Ok(self[text])
    }
}

/// The distinct texts of a run, or a part of them.
pub(crate) struct Texts<'r> {
    places: &'r dyn TextPlaces,
    spool: &'r Spool,
    /// Locked while one thread measures a long text.
    long: Mutex<()>,
}

impl<'r> Texts<'r> {
    pub(crate) fn new(places: &'r dyn TextPlaces, spool: &'r Spool) -> Self {
        Self {
            places,
            spool,
            long: Mutex::new(()),
        }
    }

    /// The number of texts.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// The place and the measure of a text.
    pub(crate) fn place(&self, text: TextId) -> Result<TextPlace, DedupError> {
        self.places.place(text)
    }

    /// Reads a canonical text from the spool.
    pub(super) fn canonical<'b>(
        &'b self,
        place: TextPlace,
        buffer: &'b mut BlockBuffer,
    ) -> Result<&'b str, DedupError> {
        Ok(self.spool.text(place.text, buffer)?)
    }

    /// Calls `measure` with buffers, for texts of which the longest has `bytes` bytes. Short texts use the buffers
    /// `own` of the thread. Long texts are measured by one thread at a time, with new buffers that are freed
    /// afterwards.
    pub(super) fn measured<B, R>(
        &self,
        bytes: usize,
        own: &mut B,
        new: impl FnOnce() -> B,
        measure: impl FnOnce(&mut B) -> R,
    ) -> R {
        if bytes <= MAX_PARALLEL_TEXT_BYTES {
            return measure(own);
        }
        let _alone = self.long.lock().unwrap_or_else(PoisonError::into_inner);
        measure(&mut new())
    }
}

impl TextPlace {
    /// The length of the canonical text, in bytes.
    pub(crate) fn bytes(self) -> usize {
        self.text.len()
    }
}
