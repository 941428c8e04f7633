//! Keep order: which document of a group leads it.
//!
//! Items are classes, numbered first by rank in keep order, later by the [`schedule`](crate::verify::schedule) of decisions.

use std::cmp::Reverse;

use twinprint_io::source::SortValue;

use super::{Documents, SortKey};
use crate::options::Keep;

/// The key of a document with a text of `text_bytes` bytes and a sort field of value `field`. The smallest key of a group is kept.
pub(crate) fn sort_key(keep: Keep, text_bytes: u64, field: Option<SortValue>) -> SortKey {
    match keep {
        Keep::First => SortKey::Input,
        Keep::Longest => SortKey::Longest(Reverse(text_bytes)),
        Keep::Shortest => SortKey::Shortest(text_bytes),
        Keep::Newest => SortKey::Newest(Reverse(field)),
    }
}

/// Classes in keep order, and the document each is kept by.
pub(crate) struct KeepOrder {
    /// The class of each item.
    pub(crate) classes: Vec<u32>,
    /// The item of each class.
    pub(crate) item: Vec<u32>,
    /// The document that stands for each item: the first of its class in keep order.
    pub(crate) representative: Vec<u32>,
    /// The place of each item in keep order.
    pub(crate) rank: Vec<u32>,
}

impl KeepOrder {
    /// Sorts classes by their best document. O(documents), and a sort where `--keep` asks for one.
    pub(crate) fn new(documents: &Documents, classes: u32) -> Self {
        let mut best = vec![u32::MAX; classes as usize];
        let key = |document: u32| (documents.sort.get(document as usize), document);
        for document in 0..documents.len() {
            let best = &mut best[documents.class[document as usize] as usize];
            if *best == u32::MAX || key(document) < key(*best) {
                *best = document;
            }
        }
        let mut order: Vec<u32> = (0..classes).collect();
        // Classes are numbered by their first document, so without sort keys they are in order already.
        if !documents.sort.is_empty() {
            order.sort_unstable_by_key(|&class| key(best[class as usize]));
        }
        let mut item = vec![0; classes as usize];
        for (i, &class) in order.iter().enumerate() {
            item[class as usize] = i as u32;
        }
        let representative = order.iter().map(|&class| best[class as usize]).collect();
        Self {
            rank: (0..classes).collect(),
            classes: order,
            item,
            representative,
        }
    }

    /// Moves the classes of some documents to the front, and makes these documents their representatives.
    pub(crate) fn put_first(&mut self, first: &[u32], documents: &Documents) {
        let mut is_first = vec![false; self.classes.len()];
        for &document in first {
            let item = self.item[documents.class[document as usize] as usize];
            self.representative[item as usize] = document;
            is_first[item as usize] = true;
        }
        let (mut order, rest): (Vec<u32>, Vec<u32>) =
            (0..self.classes.len() as u32).partition(|&item| is_first[item as usize]);
        order.extend(rest);
        self.renumber(&order);
        self.rank = (0..self.classes.len() as u32).collect();
    }

    /// Numbers the items anew: item i is what was item `order[i]`.
    pub(crate) fn renumber(&mut self, order: &[u32]) {
        let permuted = |old: &[u32]| order.iter().map(|&item| old[item as usize]).collect();
        self.classes = permuted(&self.classes);
        self.representative = permuted(&self.representative);
        self.rank = permuted(&self.rank);
        for (item, &class) in (0u32..).zip(&self.classes) {
            self.item[class as usize] = item;
        }
    }
}
