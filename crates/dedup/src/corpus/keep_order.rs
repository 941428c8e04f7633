//! The order in which documents become leaders, by [`DedupOptions::keep`](crate::DedupOptions::keep).
//!
//! Items are classes. They are numbered first by rank in keep order, later by the [`schedule`](crate::verify::schedule)
//! in which they are decided.

use std::cmp::Reverse;

use twinprint_io::source::SortValue;

use super::{Documents, SortKey};
use crate::ids::{ClassId, DocumentId, Id, IdVec, ItemId, ids};
use crate::options::Keep;

/// The sort key of a document in keep order, from the length of its text in bytes and the value of its sort field. The
/// document with the smallest key of a group is kept.
pub(crate) fn sort_key(keep: Keep, text_bytes: u64, field: Option<SortValue>) -> SortKey {
    match keep {
        Keep::First => SortKey::Input,
        Keep::Longest => SortKey::Longest(Reverse(text_bytes)),
        Keep::Shortest => SortKey::Shortest(text_bytes),
        Keep::Newest => SortKey::Newest(Reverse(field)),
    }
}

/// Classes in keep order, each with the document that represents it.
pub(crate) struct KeepOrder {
    /// The class of each item.
    pub(crate) classes: IdVec<ItemId, ClassId>,
    /// The item of each class.
    pub(crate) item: IdVec<ClassId, ItemId>,
    /// The document that stands for each item: the first of its class in keep order.
    pub(crate) representative: IdVec<ItemId, DocumentId>,
    /// The place of each item in keep order, from 0.
    pub(crate) rank: IdVec<ItemId, u32>,
}

impl KeepOrder {
    /// Sorts the classes by their document with the smallest sort key. O(documents), plus a sort if documents have sort
    /// keys.
    pub(crate) fn new(documents: &Documents, classes: usize) -> Self {
        /// The entry of a class of which no document has been seen yet.
        const NONE: u32 = u32::MAX;
        let none = DocumentId::new(NONE);
        let mut best: IdVec<ClassId, DocumentId> = IdVec::filled(none, classes);
        let key = |document: DocumentId| (documents.sort.get(document), document);
        for (document, &class) in documents.class.entries() {
            let best = &mut best[class];
            if *best == none || key(document) < key(*best) {
                *best = document;
            }
        }
        let mut order: Vec<ClassId> = ids(classes).collect();
        // Classes are numbered by their first document, so without sort keys they are already in keep order.
        if !documents.sort.is_empty() {
            order.sort_unstable_by_key(|&class| key(best[class]));
        }
        let order = IdVec::from(order);
        let mut item = IdVec::filled(ItemId::new(0), classes);
        for (i, &class) in order.entries() {
            item[class] = i;
        }
        Self {
            rank: (0..classes as u32).collect(),
            representative: best.permuted(&order),
            classes: order,
            item,
        }
    }

    /// The number of items, which is the number of classes.
    pub(crate) fn len(&self) -> usize {
        self.classes.len()
    }

    /// The document that stands for a class.
    pub(crate) fn representative_of(&self, class: ClassId) -> DocumentId {
        self.representative[self.item[class]]
    }

    /// Moves the classes of the documents `first` to the front of the keep order, and makes these documents their
    /// representatives.
    pub(crate) fn put_first(&mut self, first: &[DocumentId], documents: &Documents) {
        let mut is_first = IdVec::filled(false, self.len());
        for &document in first {
            let item = self.item[documents.class[document]];
            self.representative[item] = document;
            is_first[item] = true;
        }
        let (mut order, rest): (Vec<ItemId>, Vec<ItemId>) =
            self.classes.ids().partition(|&item| is_first[item]);
        order.extend(rest);
        self.renumber(&order.into());
        self.rank = (0..self.len() as u32).collect();
    }

    /// Renumbers the items: item i is the former item `order[i]`.
    pub(crate) fn renumber(&mut self, order: &IdVec<ItemId, ItemId>) {
        self.classes = self.classes.permuted(order);
        self.representative = self.representative.permuted(order);
        self.rank = self.rank.permuted(order);
        for (item, &class) in self.classes.entries() {
            self.item[class] = item;
        }
    }
}
