//! The table that finds a class by its key while the input is read.

use crate::ids::{ClassId, Id, IdVec};

/// The key of a class: a hash of its text under a secret that is drawn for every run. Because of the secret, nobody can
/// prepare two texts that collide.
pub(crate) type ClassKey = [u64; 2];

/// The mark of a slot without a class.
const EMPTY: u8 = 0;
/// The number of slots of the first table.
const FIRST_SLOTS: usize = 64;

/// The keys of all classes, with an open-addressed table of them. A key takes 16 bytes, and 6 to 9 in the table.
///
/// A slot is a mark and a class. The mark is a byte of the key, so most keys are compared with one key at most. The
/// slots are at most seven eighths full, and are half as many more after each growth. The table is then made again, so
/// that the old one need not stay in memory.
#[derive(Default)]
pub(super) struct ClassKeys {
    keys: IdVec<ClassId, ClassKey>,
    marks: Vec<u8>,
    classes: Vec<ClassId>,
}

impl ClassKeys {
    /// The class with this key.
    pub(super) fn find(&self, key: ClassKey) -> Option<ClassId> {
        if self.marks.is_empty() {
            return None;
        }
        let mark = mark(key);
        let mut slot = first_slot(key, self.marks.len());
        // The loop ends, because some slot is always empty.
        while self.marks[slot] != EMPTY {
            if self.marks[slot] == mark && self.keys[self.classes[slot]] == key {
                return Some(self.classes[slot]);
            }
            slot = next(slot, self.marks.len());
        }
        None
    }

    /// Adds the key of the next class. The table must not have the key.
    pub(super) fn push(&mut self, key: ClassKey) {
        let class = self.keys.push(key);
        if self.keys.len() * 8 > self.marks.len() * 7 {
            self.grow();
        } else {
            self.place(key, class);
        }
    }

    /// The keys with their classes, in the order of the classes.
    pub(super) fn iter(&self) -> impl Iterator<Item = (ClassKey, ClassId)> {
        self.keys.entries().map(|(class, &key)| (key, class))
    }

    fn grow(&mut self) {
        let slots = FIRST_SLOTS.max(self.marks.len() + self.marks.len() / 2);
        // The old slots are freed first.
        (self.marks, self.classes) = (Vec::new(), Vec::new());
        self.marks = vec![EMPTY; slots];
        self.classes = vec![ClassId::new(0); slots];
        for class in self.keys.ids() {
            self.place(self.keys[class], class);
        }
    }

    fn place(&mut self, key: ClassKey, class: ClassId) {
        let mut slot = first_slot(key, self.marks.len());
        while self.marks[slot] != EMPTY {
            slot = next(slot, self.marks.len());
        }
        self.marks[slot] = mark(key);
        self.classes[slot] = class;
    }
}

/// The slot at which the search for a key begins. A key is a hash, so its bits are uniform.
fn first_slot([high, _]: ClassKey, slots: usize) -> usize {
    ((u128::from(high) * slots as u128) >> u64::BITS) as usize
}

fn next(slot: usize, slots: usize) -> usize {
    if slot + 1 == slots { 0 } else { slot + 1 }
}

/// The mark of a key, never [`EMPTY`].
fn mark([_, low]: ClassKey) -> u8 {
    (low as u8).max(EMPTY + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_finds_its_class() {
        // Keys that begin their searches at few slots, and keys with few marks.
        let spread = |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let key = |i: u64| [spread(i) | spread(i % 7), spread(i) << (i % 9)];
        let mut keys = ClassKeys::default();
        assert_eq!(keys.find(key(0)), None);
        for i in 0..3000 {
            assert_eq!(keys.find(key(i)), None);
            keys.push(key(i));
        }
        for i in 0..3000 {
            assert_eq!(keys.find(key(i)), Some(ClassId::new(i as u32)));
        }
        assert!(
            keys.iter()
                .eq((0..3000).map(|i| (key(i), ClassId::new(i as u32))))
        );
        assert!(keys.marks.len() * 7 >= 3000 * 8 && keys.marks.len() < 3000 * 12 / 7);
    }
}
