//! The classes of the items.

use crate::ids::{ClassId, Id, IdVec, ItemId, ids};

/// The class of each item. It takes no memory until the items are put in an order other than that of their classes.
#[derive(Debug)]
pub(crate) enum ItemClasses {
    /// Each item has the number of its class; with the number of items.
    InOrder(usize),
    /// The classes are listed.
    Listed(IdVec<ItemId, ClassId>),
}

impl ItemClasses {
    /// The number of items.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::InOrder(items) => *items,
            Self::Listed(classes) => classes.len(),
        }
    }

    /// The class of an item.
    #[inline]
    pub(crate) fn of(&self, item: ItemId) -> ClassId {
        match self {
            Self::InOrder(_) => ClassId::new(item.get()),
            Self::Listed(classes) => classes[item],
        }
    }

    /// The ids of all items.
    pub(crate) fn items(
        &self,
    ) -> impl DoubleEndedIterator<Item = ItemId> + ExactSizeIterator + Clone + use<> {
        ids(self.len())
    }

    /// The classes of all items.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = ClassId> + ExactSizeIterator + Clone {
        self.items().map(|item| self.of(item))
    }

    /// Renumbers the items: item i is the former item `order[i]`.
    pub(super) fn renumber(&mut self, order: &IdVec<ItemId, ItemId>) {
        *self = Self::Listed(order.iter().map(|&item| self.of(item)).collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_listed_once_they_are_put_in_another_order() {
        let mut classes = ItemClasses::InOrder(3);
        let found = |classes: &ItemClasses| classes.iter().map(ClassId::get).collect::<Vec<_>>();
        assert_eq!(found(&classes), [0, 1, 2]);
        for expected in [[2, 0, 1], [1, 2, 0]] {
            classes.renumber(&[2, 0, 1].map(ItemId::new).into_iter().collect());
            assert_eq!(found(&classes), expected);
        }
        assert_eq!((classes.len(), classes.of(ItemId::new(1))), (3, ClassId::new(2)));
    }
}
