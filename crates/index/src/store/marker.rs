//! The marker of a writer: a file that exists while a process may write to an index.
//!
//! An interrupted writer may leave complete files that the manifest does not name, but then its marker is left too. So
//! such files are removed only if there is a marker that fits the manifest. Without one, they belong to a manifest that
//! was replaced by an earlier one or by that of another index, and are kept.

use crate::bytes::{Reader, sealed, unsealed};
use crate::digest::Digest;

/// The first eight bytes of a marker.
const MAGIC: [u8; 8] = *b"twinwri\n";
/// The version that is written and read.
const VERSION: u32 = 1;

/// The marker of a writer, which records the manifest with which the writer opened the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marker {
    /// The generation of the manifest.
    pub(super) generation: u64,
    /// The digest of the manifest's file.
    pub(super) manifest: Digest,
}

impl Marker {
    /// Encodes the marker.
    pub(super) fn encode(self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend(VERSION.to_le_bytes());
        out.extend(self.generation.to_le_bytes());
        out.extend(Digest::stored(Some(self.manifest)).to_le_bytes());
        sealed(out)
    }

    /// Decodes a marker; `None` if the bytes are not a marker of this version.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = Reader(unsealed(bytes)?.strip_prefix(&MAGIC)?);
        let marker = (from.u32()? == VERSION).then_some(Self {
            generation: from.u64()?,
            manifest: Digest::from_stored(from.u128()?)?,
        });
        marker.filter(|_| from.0.is_empty())
    }

    /// Returns `true` if the writer of this marker opened the index with the current manifest, or may have written it.
    /// `now` is the marker of a writer that would open the index with the current manifest.
    pub(super) fn fits(self, now: Self) -> bool {
        self == now || self.generation < now.generation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_marker_is_read_back_and_a_damaged_one_is_not() {
        let marker = Marker {
            generation: 7,
            manifest: Digest::of(b"manifest"),
        };
        let bytes = marker.encode();
        assert_eq!(Marker::decode(&bytes), Some(marker));
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 1;
            assert_eq!(Marker::decode(&other), None, "byte {at}");
            assert_eq!(Marker::decode(&bytes[..at]), None, "{at} bytes");
        }
    }

    #[test]
    fn a_marker_fits_its_own_manifest_and_later_ones() {
        let of = |generation, content: &[u8]| Marker {
            generation,
            manifest: Digest::of(content),
        };
        let marker = of(3, b"own");
        assert!(marker.fits(of(3, b"own")) && marker.fits(of(4, b"later")));
        assert!(!marker.fits(of(3, b"other")) && !marker.fits(of(2, b"earlier")));
    }
}
