//! The distinct texts of a run, numbered in the input order of the documents that stand for them.

use std::sync::{Mutex, PoisonError};

use twinprint_text::Measure;

use super::ids::TextId;
use crate::corpus::Classes;
use crate::corpus::keep_order::KeepOrder;
use crate::error::DedupError;
use crate::ids::{ClassId, DocumentId, IdVec};
use twinprint_io::work::{BlockBuffer, Spool};

/// Texts with more bytes than this are measured one at a time, so that the peak memory does not grow with the number of
/// threads.
pub(super) const MAX_PARALLEL_TEXT_BYTES: usize = 1 << 20;

/// The distinct texts of a run: one text for each class.
pub(super) struct Texts<'r> {
    classes: &'r Classes,
    spool: &'r Spool,
    /// The document that stands for each text, and its class.
    order: IdVec<TextId, (DocumentId, ClassId)>,
    /// Locked while one thread measures a long text.
    long: Mutex<()>,
}

impl<'r> Texts<'r> {
    pub(super) fn new(classes: &'r Classes, spool: &'r Spool, keep: &KeepOrder) -> Self {
        let of_classes = classes.class_ids();
        let mut order: Vec<(DocumentId, ClassId)> = of_classes
            .map(|class| (keep.representative_of(class), class))
            .collect();
        order.sort_unstable();
        Self {
            classes,
            spool,
            order: order.into(),
            long: Mutex::new(()),
        }
    }

    /// The number of texts.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// The document that stands for a text.
    pub(super) fn document(&self, text: TextId) -> DocumentId {
        self.order[text].0
    }

    /// The number of documents with this text.
    pub(super) fn documents(&self, text: TextId) -> u32 {
        self.classes.copies(self.order[text].1)
    }

    /// The measure of a text: words or characters.
    pub(super) fn measure(&self, text: TextId) -> Measure {
        self.classes.measure(self.class(text))
    }

    /// Reads the canonical text of a text from the spool.
    pub(super) fn canonical<'b>(
        &self,
        text: TextId,
        buffer: &'b mut BlockBuffer,
    ) -> Result<&'b str, DedupError> {
        Ok(self.spool.text(self.classes.text(self.class(text)), buffer)?)
    }

    /// The length of the canonical text of a text, in bytes.
    pub(super) fn bytes(&self, text: TextId) -> usize {
        self.classes.text(self.class(text)).len()
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

    fn class(&self, text: TextId) -> ClassId {
        self.order[text].1
    }
}
