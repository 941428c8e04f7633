//! Fingerprints and ids as bytes of little-endian numbers, which is the form of NumPy arrays.

use twinprint::Width;

/// A width of fingerprints that arrays can have.
pub(crate) trait Row: Width {
    /// Reads fingerprints.
    fn read(bytes: &[u8]) -> Vec<Self>;

    /// Appends a fingerprint to bytes.
    fn write(self, bytes: &mut Vec<u8>);
}

macro_rules! row {
    ($($int:ty),*) => {$(
        impl Row for $int {
            fn read(bytes: &[u8]) -> Vec<Self> {
                let (rows, _) = bytes.as_chunks();
                rows.iter().map(|row| Self::from_le_bytes(*row)).collect()
            }

            fn write(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}

row!(u32, u64, u128);

/// Reads ids.
pub(super) fn read_ids(bytes: &[u8]) -> Vec<u64> {
    u64::read(bytes)
}

/// Writes ids.
pub(super) fn write_ids(ids: impl IntoIterator<Item = u64>) -> Vec<u8> {
    ids.into_iter().flat_map(u64::to_le_bytes).collect()
}
