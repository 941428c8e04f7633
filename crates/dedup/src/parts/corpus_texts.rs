//! The distinct texts of a run whose tables are in memory.

use super::ids::TextId;
use super::rows::{TextDocument, TextDocuments};
use super::texts::{TextPlace, TextPlaces};
use crate::corpus::Classes;
use crate::corpus::keep_order::KeepOrder;
use crate::error::DedupError;
use crate::ids::{ClassId, DocumentId, IdVec};

/// The distinct texts of a corpus: one text for each class.
pub(super) struct CorpusTexts<'c> {
    classes: &'c Classes,
    /// The document that stands for each text, and its class.
    order: IdVec<TextId, (DocumentId, ClassId)>,
}

impl<'c> CorpusTexts<'c> {
    pub(super) fn new(classes: &'c Classes, keep: &KeepOrder) -> Self {
        let of_classes = classes.class_ids();
        let mut order: Vec<(DocumentId, ClassId)> = of_classes
            .map(|class| (keep.representative_of(class), class))
            .collect();
        order.sort_unstable();
        Self {
            classes,
            order: order.into(),
        }
    }
}

impl TextPlaces for CorpusTexts<'_> {
    fn len(&self) -> usize {
        self.order.len()
    }

    fn place(&self, text: TextId) -> Result<TextPlace, DedupError> {
        let class = self.order[text].1;
        Ok(TextPlace {
            text: self.classes.text(class),
            measure: self.classes.measure(class),
        })
    }
}

impl TextDocuments for CorpusTexts<'_> {
    fn document(&self, text: TextId) -> Result<TextDocument, DedupError> {
        let (document, class) = self.order[text];
        Ok(TextDocument {
            document,
            documents: self.classes.copies(class),
        })
    }
}
