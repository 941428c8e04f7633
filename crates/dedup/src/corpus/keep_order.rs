//! The order in which documents become leaders, by [`DedupOptions::keep`](crate::DedupOptions::keep).
//!
//! Items are classes. They are numbered first by rank in keep order, later by the [`schedule`](crate::verify::schedule)
//! in which they are decided.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;
use twinprint_io::source::SortValue;

use super::{Documents, ItemClasses, SortKey};
use crate::ids::{ClassId, DocumentId, Id, IdVec, ItemId, ids};
use crate::options::Keep;
use crate::packed::PackedNumbers;

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

/// Classes in keep order, each with the document that represents it. An item takes about 1 byte, 4 more once the
/// items are renumbered, and 8 more if documents have sort keys.
pub(crate) struct KeepOrder {
    /// The class of each item.
    pub(crate) classes: ItemClasses,
    /// The document that stands for each class: the first of its class in keep order.
    representative: PackedNumbers<ClassId>,
    /// The place of each class in keep order, from 0; `None` if that is the number of the class.
    rank: Option<IdVec<ClassId, u32>>,
}

impl KeepOrder {
    /// Sorts the classes by their document with the smallest sort key. O(documents), plus a sort if documents have sort
    /// keys.
    pub(crate) fn new(documents: &Documents, classes: usize) -> Self {
        if documents.sort.is_empty() {
            // Classes are numbered by their first document, so they are already in keep order.
            let mut order = Self::of_first_documents(0);
            order.classes = ItemClasses::InOrder(classes);
            for (document, class) in documents.class.entries() {
                if class.index() == order.representative.len() {
                    order.representative.push([document.get().into()]);
                }
            }
            return order;
        }
        // The entry of a class of which no document has been seen yet.
        let none = DocumentId::new(u32::MAX);
        let mut best: IdVec<ClassId, DocumentId> = IdVec::filled(none, classes);
        let key = |document: DocumentId| (documents.sort.get(document), document);
        for (document, &class) in documents.class.entries() {
            let best = &mut best[class];
            if *best == none || key(document) < key(*best) {
                *best = document;
            }
        }
        let mut order: Vec<ClassId> = ids(classes).collect();
        order.sort_unstable_by_key(|&class| key(best[class]));
        Self::of_order(order.into(), best.iter().copied())
    }

    /// Classes of one document each, in the order of the input.
    pub(crate) fn of_first_documents(classes: usize) -> Self {
        let mut representative = PackedNumbers::default();
        for class in ids::<ClassId>(classes) {
            representative.push([class.get().into()]);
        }
        Self {
            classes: ItemClasses::InOrder(classes),
            representative,
            rank: None,
        }
    }

    /// Classes in an order, and for each class the document that stands for it.
    fn of_order(classes: IdVec<ItemId, ClassId>, representatives: impl Iterator<Item = DocumentId>) -> Self {
        let mut representative = PackedNumbers::default();
        for document in representatives {
            representative.push([document.get().into()]);
        }
        let mut rank = IdVec::filled(0, classes.len());
        for (item, &class) in classes.entries() {
            rank[class] = item.get();
        }
        Self {
            classes: ItemClasses::Listed(classes),
            representative,
            rank: Some(rank),
        }
    }

    /// The number of items, which is the number of classes.
    pub(crate) fn len(&self) -> usize {
        self.classes.len()
    }

    /// The document that stands for a class.
    pub(crate) fn representative_of(&self, class: ClassId) -> DocumentId {
        DocumentId::new(self.representative.get(class, 0) as u32)
    }

    /// The document that stands for an item.
    pub(crate) fn representative(&self, item: ItemId) -> DocumentId {
        self.representative_of(self.classes.of(item))
    }

    /// The place of an item in keep order, from 0.
    pub(crate) fn rank(&self, item: ItemId) -> u32 {
        let class = self.classes.of(item);
        self.rank.as_ref().map_or(class.get(), |rank| rank[class])
    }

    /// The item of each class.
    pub(crate) fn items(&self) -> IdVec<ClassId, ItemId> {
        let mut items = IdVec::filled(ItemId::new(0), self.len());
        for item in self.classes.items() {
            items[self.classes.of(item)] = item;
        }
        items
    }

    /// Moves the classes of the documents `first` to the front of the keep order, and makes these documents their
    /// representatives. The items must be in keep order.
    pub(crate) fn put_first(&mut self, first: &[DocumentId], documents: &Documents) {
        let first: FxHashMap<ClassId, DocumentId> = first
            .iter()
            .map(|&document| (documents.class[document], document))
            .collect();
        let (mut order, rest): (Vec<ClassId>, Vec<ClassId>) =
            self.classes.iter().partition(|class| first.contains_key(class));
        order.extend(rest);
        let representatives = ids(self.len()).map(|class| {
            first
                .get(&class)
                .copied()
                .unwrap_or_else(|| self.representative_of(class))
        });
        *self = Self::of_order(order.into(), representatives);
    }

    /// Renumbers the items: item i is the former item `order[i]`.
    pub(crate) fn renumber(&mut self, order: &IdVec<ItemId, ItemId>) {
        self.classes.renumber(order);
    }
}
