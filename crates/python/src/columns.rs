//! Columns of numbers as bytes, which NumPy reads without a copy.

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

/// The numbers as bytes in little-endian order, in an array that NumPy may write to.
pub(crate) fn column<T: Fixed>(
    py: Python<'_>,
    numbers: impl ExactSizeIterator<Item = T>,
) -> Bound<'_, PyByteArray> {
    let mut bytes = Vec::with_capacity(numbers.len() * size_of::<T>());
    for number in numbers {
        number.put(&mut bytes);
    }
    PyByteArray::new(py, &bytes)
}

/// The numbers of bytes in little-endian order. A rest that is no whole number is left out.
pub(crate) fn numbers<T: Fixed>(bytes: &[u8]) -> Vec<T> {
    bytes.chunks_exact(size_of::<T>()).filter_map(T::get).collect()
}
