//! The different texts of a run in the order in which rows name them.

use text::Measure;

use crate::corpus::Classes;
use crate::error::DedupError;
use crate::keep::KeepOrder;
use crate::spool::{BlockBuffer, Spool};

/// Texts, one a class, numbered in the input order of the documents that stand for them.
pub(super) struct Texts<'r> {
    classes: &'r Classes,
    spool: &'r Spool,
    /// The document that stands for each text, and its class.
    order: Vec<(u32, u32)>,
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
        self.spool.text(self.classes.text[self.class(text)], buffer)
    }

    fn class(&self, text: u32) -> usize {
        self.order[text as usize].1 as usize
    }
}
