//! Columns of numbers as bytes, which NumPy reads without a copy.

use std::marker::PhantomData;

use pyo3::prelude::*;
use pyo3::types::PyByteArray;

/// A number with a fixed number of bytes.
pub(crate) trait Fixed: Copy {
    /// Appends the number in little-endian order.
    fn put(self, bytes: &mut Vec<u8>);

    /// Reads the number from its bytes in little-endian order; `None` for another number of bytes.
    fn get(bytes: &[u8]) -> Option<Self>;
}

macro_rules! fixed {
    ($($number:ty),*) => {$(
        impl Fixed for $number {
            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            fn get(bytes: &[u8]) -> Option<Self> {
                Some(Self::from_le_bytes(bytes.try_into().ok()?))
            }
        }
    )*};
}

fixed!(u8, i32, u32, i64, u64, f64, u128);

/// A column of numbers that is filled number by number.
pub(crate) struct Column<T> {
    bytes: Vec<u8>,
    number: PhantomData<T>,
}

impl<T: Fixed> Column<T> {
    /// Creates an empty column with room for `numbers` numbers.
    pub(crate) fn with_capacity(numbers: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(numbers * size_of::<T>()),
            number: PhantomData,
        }
    }

    pub(crate) fn push(&mut self, number: T) {
        number.put(&mut self.bytes);
    }

    /// The numbers as bytes in little-endian order, in an array that NumPy may write to.
    pub(crate) fn into_array(self, py: Python<'_>) -> Bound<'_, PyByteArray> {
        PyByteArray::new(py, &self.bytes)
    }
}

/// The numbers as bytes in little-endian order, in an array that NumPy may write to.
pub(crate) fn column<T: Fixed>(
    py: Python<'_>,
    numbers: impl ExactSizeIterator<Item = T>,
) -> Bound<'_, PyByteArray> {
    let mut column = Column::with_capacity(numbers.len());
    numbers.for_each(|number| column.push(number));
    column.into_array(py)
}

/// The numbers of bytes in little-endian order. A rest that is no whole number is left out.
pub(crate) fn numbers<T: Fixed>(bytes: &[u8]) -> Vec<T> {
    bytes.chunks_exact(size_of::<T>()).filter_map(T::get).collect()
}
