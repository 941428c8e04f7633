//! The numberings of a run as types, and tables that are indexed by them.
//!
//! A run numbers its documents, its classes, its items and its rows, each from 0. Each numbering has its own id type,
//! so that an id of one kind cannot index a table of another: [`IdVec`], [`IdSlice`] and [`Lists`] accept one type
//! only. An id is a transparent `u32`, so a table of ids takes four bytes per entry. Other crates use plain numbers;
//! [`Id::new`] and [`Id::get`] convert between ids and numbers.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut, Range};

use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

/// An id: a number in one numbering, such as that of documents.
pub(crate) trait Id: Copy + Send + Sync {
    /// Makes an id from a plain number.
    fn new(number: u32) -> Self;

    /// The id as a plain number.
    fn get(self) -> u32;

    /// The id as a position in a table.
    fn index(self) -> usize {
        self.get() as usize
    }

    /// Makes an id from a position in a table. The table must have fewer than 2³² entries.
    fn from_index(index: usize) -> Self {
        Self::new(index as u32)
    }
}

/// Defines a type that implements [`Id`].
macro_rules! define_id {
    ($(#[$doc:meta])* $visibility:vis struct $name:ident;) => {
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        $visibility struct $name(u32);

        impl $crate::ids::Id for $name {
            fn new(number: u32) -> Self {
                Self(number)
            }

            fn get(self) -> u32 {
                self.0
            }
        }
    };
}
pub(crate) use define_id;

define_id! {
    /// The number of a document: its place in input order. Rejected records are not counted.
    pub(crate) struct DocumentId;
}

define_id! {
    /// A class of documents of equal canonical text, in the order of their first documents.
    pub(crate) struct ClassId;
}

define_id! {
    /// A class, as the join and the grouping number it: first by rank in keep order, later in the order in which the
    /// [schedule](crate::verify::schedule) decides the classes.
    pub(crate) struct ItemId;
}

define_id! {
    /// A row of the join: a distinct fingerprint, in ascending order.
    pub(crate) struct RowId;
}

/// The ids from 0 to `count` - 1.
pub(crate) fn ids<I: Id>(count: usize) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + Clone {
    (0..count as u32).map(I::new)
}

/// The ids from 0 to `count` - 1, as a parallel iterator.
pub(crate) fn par_ids<I: Id>(count: usize) -> impl IndexedParallelIterator<Item = I> {
    (0..count as u32).into_par_iter().map(I::new)
}

/// A vector with one entry for each id from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IdVec<I, T> {
    entries: Vec<T>,
    id: PhantomData<I>,
}

impl<I, T> Default for IdVec<I, T> {
    fn default() -> Self {
        Self::from(Vec::new())
    }
}

impl<I, T> From<Vec<T>> for IdVec<I, T> {
    fn from(entries: Vec<T>) -> Self {
        let id = PhantomData;
        Self { entries, id }
    }
}

impl<I, T> FromIterator<T> for IdVec<I, T> {
    fn from_iter<E: IntoIterator<Item = T>>(entries: E) -> Self {
        Self::from(Vec::from_iter(entries))
    }
}

impl<I: Id, T> IdVec<I, T> {
    /// Makes a table of `count` entries that all are `value`.
    pub(crate) fn filled(value: T, count: usize) -> Self
    where
        T: Clone,
    {
        Self::from(vec![value; count])
    }

    /// The number of entries in the table.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if the table has no entries.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds an entry to the table and returns its id.
    pub(crate) fn push(&mut self, entry: T) -> I {
        let id = I::from_index(self.entries.len());
        self.entries.push(entry);
        id
    }

    /// The entry of an id; `None` if the table has no such id.
    pub(crate) fn get(&self, id: I) -> Option<&T> {
        self.entries.get(id.index())
    }

    /// The entry of an id, mutable; `None` if the table has no such id.
    pub(crate) fn get_mut(&mut self, id: I) -> Option<&mut T> {
        self.entries.get_mut(id.index())
    }

    /// The ids of all entries of the table.
    pub(crate) fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + Clone + use<I, T> {
        ids(self.entries.len())
    }

    /// Applies `f` to every entry and returns the table of the results.
    pub(crate) fn map<U>(self, f: impl FnMut(T) -> U) -> IdVec<I, U> {
        self.entries.into_iter().map(f).collect()
    }

    /// The entries in the order of their ids.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.entries.iter()
    }

    /// The entries in the order of their ids, mutable.
    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.entries.iter_mut()
    }

    /// The entries with their ids, in the order of the ids.
    pub(crate) fn entries(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator + Clone {
        ids(self.entries.len()).zip(&self.entries)
    }

    /// The table as a slice that only ids of type `I` index.
    pub(crate) fn as_slice(&self) -> IdSlice<'_, I, T> {
        IdSlice::new(&self.entries)
    }

    /// Returns a table in the order of `order`: its entry at each id `j` is this table's entry at `order[j]`.
    pub(crate) fn permuted<J>(&self, order: &IdVec<J, I>) -> IdVec<J, T>
    where
        T: Copy,
    {
        order.entries.iter().map(|&id| self[id]).collect()
    }
}

impl<I: Id, T> Index<I> for IdVec<I, T> {
    type Output = T;

    fn index(&self, id: I) -> &T {
        &self.entries[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for IdVec<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.entries[id.index()]
    }
}

impl<'v, I, T> IntoIterator for &'v IdVec<I, T> {
    type Item = &'v T;
    type IntoIter = std::slice::Iter<'v, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.iter()
    }
}

/// A borrowed table with one entry for each id from 0.
#[derive(Debug)]
pub(crate) struct IdSlice<'s, I, T> {
    entries: &'s [T],
    id: PhantomData<I>,
}

impl<I, T> Clone for IdSlice<'_, I, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<I, T> Copy for IdSlice<'_, I, T> {}

impl<'s, I: Id, T> IdSlice<'s, I, T> {
    /// Wraps a slice of another crate, so that ids of type `I` index it instead of plain numbers.
    pub(crate) fn new(entries: &'s [T]) -> Self {
        let id = PhantomData;
        Self { entries, id }
    }

    /// The number of entries in the table.
    pub(crate) fn len(self) -> usize {
        self.entries.len()
    }

    /// The entries with their ids, in the order of the ids.
    pub(crate) fn entries(self) -> impl DoubleEndedIterator<Item = (I, &'s T)> + ExactSizeIterator + Clone {
        ids(self.entries.len()).zip(self.entries)
    }
}

impl<I: Id, T> Index<I> for IdSlice<'_, I, T> {
    type Output = T;

    fn index(&self, id: I) -> &T {
        &self.entries[id.index()]
    }
}

/// The integer type of a position among the values of all lists: `u64`, or `u32` for fewer than 2³² values.
pub(crate) trait Offset: Copy + Send {
    /// Makes an offset from a position.
    fn at(position: usize) -> Self;

    /// The offset as a position.
    fn position(self) -> usize;
}

impl Offset for u32 {
    fn at(position: usize) -> Self {
        position as Self
    }

    fn position(self) -> usize {
        self as usize
    }
}

impl Offset for u64 {
    fn at(position: usize) -> Self {
        position as Self
    }

    fn position(self) -> usize {
        self as usize
    }
}

/// The start of each id's list in a table that contains all lists, one after another.
#[derive(Debug)]
pub(crate) struct Starts<I, N = u64> {
    /// The start of each list, and after them the end of the last list.
    starts: Vec<N>,
    id: PhantomData<I>,
}

impl<I: Id, N: Offset> Default for Starts<I, N> {
    fn default() -> Self {
        let starts = vec![N::at(0)];
        let id = PhantomData;
        Self { starts, id }
    }
}

impl<I: Id, N: Offset> Starts<I, N> {
    /// Returns the end of each list, followed by the number of all values. `values` yields, for each value, the id of
    /// its list.
    fn ends(count: usize, values: impl Iterator<Item = I>) -> Vec<N> {
        let mut ends = vec![N::at(0); count + 1];
        for id in values {
            let end = &mut ends[id.index()];
            *end = N::at(end.position() + 1);
        }
        let mut before = 0;
        for end in &mut ends {
            before += end.position();
            *end = N::at(before);
        }
        ends
    }

    /// Adds the next list, which ends at position `end`. The list after it starts there.
    pub(crate) fn push_end(&mut self, end: usize) {
        self.starts.push(N::at(end));
    }

    /// The number of lists.
    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The positions of an id's list in the table that contains all lists.
    pub(crate) fn range(&self, id: I) -> Range<usize> {
        let i = id.index();
        self.starts[i].position()..self.starts[i + 1].position()
    }
}

/// A list of values for each id, all in one allocation.
#[derive(Debug)]
pub(crate) struct Lists<I, T, N = u64> {
    starts: Starts<I, N>,
    values: Vec<T>,
}

impl<I: Id, T, N: Offset> Default for Lists<I, T, N> {
    fn default() -> Self {
        let (starts, values) = (Starts::default(), Vec::new());
        Self { starts, values }
    }
}

impl<I: Id, T: Copy, N: Offset> Lists<I, T, N> {
    /// Groups values by id into `count` lists, each in the order of the values. Calls `values` several times. O(lists +
    /// values).
    pub(crate) fn group<V: DoubleEndedIterator<Item = (I, T)>>(count: usize, values: impl Fn() -> V) -> Self {
        let mut starts: Vec<N> = Starts::ends(count, values().map(|(id, _)| id));
        let total = starts.last().map_or(0, |end| end.position());
        let mut lists = values().next().map_or_else(Vec::new, |(_, any)| vec![any; total]);
        // Each list is filled backwards from its end. The position stored for the list moves with it, so that it is the
        // start when the list is full.
        for (id, value) in values().rev() {
            let start = &mut starts[id.index()];
            let position = start.position() - 1;
            *start = N::at(position);
            lists[position] = value;
        }
        let id = PhantomData;
        Self {
            starts: Starts { starts, id },
            values: lists,
        }
    }

    /// Divides `values` into lists that begin at `starts`.
    pub(crate) fn new(starts: Starts<I, N>, values: Vec<T>) -> Self {
        Self { starts, values }
    }

    /// Adds a list, which belongs to the next id.
    pub(crate) fn push(&mut self, list: impl Iterator<Item = T>) {
        self.values.extend(list);
        self.starts.push_end(self.values.len());
    }

    /// The number of lists.
    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    /// The list of values of an id.
    pub(crate) fn of(&self, id: I) -> &[T] {
        &self.values[self.starts.range(id)]
    }

    /// The list of values of an id, mutable.
    pub(crate) fn of_mut(&mut self, id: I) -> &mut [T] {
        &mut self.values[self.starts.range(id)]
    }

    /// The positions of an id's list among the values of all lists.
    pub(crate) fn range(&self, id: I) -> Range<usize> {
        self.starts.range(id)
    }

    /// The values of all lists, one list after another.
    pub(crate) fn values(&self) -> &[T] {
        &self.values
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lists_are_the_values_of_each_id_in_order(values in prop::collection::vec((0u32..20, any::<u16>()), 0..80)) {
            let lists: Lists<RowId, u16, u32> =
                Lists::group(20, || values.iter().map(|&(id, value)| (RowId::new(id), value)));
            let mut pushed: Lists<RowId, u16> = Lists::default();
            prop_assert_eq!(lists.len(), 20);
            for id in ids::<RowId>(20) {
                let expected: Vec<u16> =
                    values.iter().filter(|value| value.0 == id.get()).map(|value| value.1).collect();
                prop_assert_eq!(lists.of(id), &expected);
                pushed.push(expected.into_iter());
                prop_assert_eq!(lists.of(id), pushed.of(id));
                prop_assert_eq!(lists.range(id), pushed.range(id));
            }
            prop_assert_eq!(lists.values(), pushed.values());
        }
    }

    #[test]
    fn a_permuted_table_follows_the_order() {
        let names: IdVec<ClassId, char> = IdVec::from(vec!['a', 'b', 'c']);
        let order: IdVec<ItemId, ClassId> = [2, 0, 1].map(ClassId::new).into_iter().collect();
        assert_eq!(names.permuted(&order), IdVec::from(vec!['c', 'a', 'b']));
    }
}
