//! The places and measures of the texts of items, by which their shingle sets are made.

use twinprint_io::work::TextRef;
use twinprint_text::Measure;

use super::{Classes, ItemClasses};
use crate::ids::{IdVec, ItemId};

/// The texts of items, wherever they are listed.
#[derive(Clone, Copy)]
pub(crate) enum ItemTexts<'c> {
    /// The items are classes in an order.
    Classes {
        classes: &'c Classes,
        order: &'c ItemClasses,
    },
    /// The items have a table of their own.
    Table(&'c TextTable),
}

/// A table of the texts of items. An item takes 13 bytes.
#[derive(Default)]
pub(crate) struct TextTable {
    texts: IdVec<ItemId, TextRef>,
    measures: IdVec<ItemId, Measure>,
}

impl TextTable {
    /// An empty table with room for `items` items.
    pub(crate) fn with_capacity(items: usize) -> Self {
        Self {
            texts: Vec::with_capacity(items).into(),
            measures: Vec::with_capacity(items).into(),
        }
    }

    /// Adds the next item.
    pub(crate) fn push(&mut self, text: TextRef, measure: Measure) {
        self.texts.push(text);
        self.measures.push(measure);
    }
}

impl ItemTexts<'_> {
    /// The place of an item's text in the spool.
    pub(crate) fn text(self, item: ItemId) -> TextRef {
        match self {
            Self::Classes { classes, order } => classes.text(order.of(item)),
            Self::Table(table) => table.texts[item],
        }
    }

    /// The block of the spool that has an item's text.
    pub(crate) fn block(self, item: ItemId) -> u32 {
        match self {
            Self::Classes { classes, order } => classes.block(order.of(item)),
            Self::Table(table) => table.texts[item].block,
        }
    }

    /// The length of an item's text in bytes.
    pub(crate) fn bytes(self, item: ItemId) -> usize {
        match self {
            Self::Classes { classes, order } => classes.bytes(order.of(item)) as usize,
            Self::Table(table) => table.texts[item].len(),
        }
    }

    /// The measure of an item's text: words or characters.
    pub(crate) fn measure(self, item: ItemId) -> Measure {
        match self {
            Self::Classes { classes, order } => classes.measure(order.of(item)),
            Self::Table(table) => table.measures[item],
        }
    }
}
