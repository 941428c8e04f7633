//! The different texts of a run in the order in which rows name them.

use std::sync::{Mutex, PoisonError};

use twinprint_text::Measure;

use crate::corpus::Classes;
use crate::corpus::keep_order::KeepOrder;
use crate::error::DedupError;
use twinprint_io::work::{BlockBuffer, Spool};

/// Bytes of a text beyond which it is measured alone, so that memory grows with one long text and not with the threads.
pub(super) const LONG: usize = 1 << 20;

/// Texts, one a class, numbered in the input order of the documents that stand for them.
pub(super) struct Texts<'r> {
    classes: &'r Classes,
    spool: &'r Spool,
    /// The document that stands for each text, and its class.
    order: Vec<(u32, u32)>,
    /// Held by the thread that measures a long text.
    long: Mutex<()>,
}

impl<'r> Texts<'r> {
    pub(super) fn new(classes: &'r Classes, spool: &'r Spool, keep: &KeepOrder) -> Self {
        let of_items = keep.representative.iter().zip(&keep.classes);
        let mut order: Vec<(u32, u32)> = of_items.map(|(&document, &class)| (document, class)).collect();
        order.sort_unstable();
        Self {
            classes,
            spool,
            order,
            long: Mutex::new(()),
        }
    }

    pub(super) fn len(&self) -> u32 {
        self.order.len() as u32
    }

    /// The document that stands for a text.
    pub(super) fn document(&self, text: u32) -> u32 {
        self.order[text as usize].0
    }

    /// Documents of this text.
    pub(super) fn documents(&self, text: u32) -> u32 {
        self.classes.copies(self.order[text as usize].1)
    }

    pub(super) fn measure(&self, text: u32) -> Measure {
        self.classes.measure[self.class(text)]
    }

    /// The canonical text.
    pub(super) fn canonical<'b>(
        &self,
        text: u32,
        buffer: &'b mut BlockBuffer,
    ) -> Result<&'b str, DedupError> {
        Ok(self.spool.text(self.classes.text[self.class(text)], buffer)?)
    }

    /// Bytes of the canonical text.
    pub(super) fn bytes(&self, text: u32) -> usize {
        self.classes.text[self.class(text)].len()
    }

    /// Measures texts of at most so many bytes with the buffers of a thread. Long ones are measured by one thread at a time, with buffers
    /// that are freed afterwards.
    pub(super) fn measured<B, R>(
        &self,
        bytes: usize,
        own: &mut B,
        new: impl FnOnce() -> B,
        measure: impl FnOnce(&mut B) -> R,
    ) -> R {
        if bytes <= LONG {
            return measure(own);
        }
        let _alone = self.long.lock().unwrap_or_else(PoisonError::into_inner);
        measure(&mut new())
    }

    fn class(&self, text: u32) -> usize {
        self.order[text as usize].1 as usize
    }
}
