//! Features of at most 7 bytes as numbers of 64 bits, so that they are compared and counted without their text.
//!
//! Windows of a few characters of an ASCII text are this short. The number is the only block that SipHash takes of such a
//! feature.

use crate::feature::Span;
use crate::short_feature::ShortFeature;

/// A feature of at most 7 bytes as a number: its bytes in little-endian order, zeros, and its length in the top byte.
/// Different features are different numbers.
///
/// ```
/// use twinprint_fingerprint::{WindowFeature, ShortFeature, Span};
///
/// let feature = WindowFeature::cut(b"the cat sat", Span { start: 4, end: 7 });
/// assert_eq!(feature.map(ShortFeature::from), ShortFeature::new(b"cat"));
/// assert_eq!(WindowFeature::cut(b"elephant", Span { start: 0, end: 8 }), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct WindowFeature(u64);

impl WindowFeature {
    /// The maximum length of a block feature, in bytes.
    pub const MAX_BYTES: usize = 7;

    /// Makes the number of the feature at `span` of `bytes`; `None` if the feature is longer than
    /// [`MAX_BYTES`](Self::MAX_BYTES). A span is clamped to the buffer, as [`hash_features`](crate::hash_features) does.
    #[inline]
    #[must_use]
    pub fn cut(bytes: &[u8], span: Span) -> Option<Self> {
        let (start, end) = span.clamped(bytes.len());
        let near = bytes.get(start..).and_then(|rest| rest.first_chunk());
        if let Some(near) = near {
            return Self::first(near, end - start);
        }
        let mut padded = [0; 8];
        padded.get_mut(..end - start)?.copy_from_slice(&bytes[start..end]);
        Self::first(&padded, end - start)
    }

    /// Makes the number of the first `length` bytes; `None` if `length` exceeds [`MAX_BYTES`](Self::MAX_BYTES).
    #[inline(always)]
    #[must_use]
    pub fn first(bytes: &[u8; 8], length: usize) -> Option<Self> {
        let unused = Self::MAX_BYTES.checked_sub(length)?;
        let used = (u64::MAX >> 8) >> (8 * unused);
        Some(Self(u64::from_le_bytes(*bytes) & used | (length as u64) << 56))
    }

    /// The number: the bytes of the feature from the lowest byte on, and the length in the top byte.
    #[inline]
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }
}

impl From<WindowFeature> for ShortFeature {
    #[inline]
    fn from(feature: WindowFeature) -> Self {
        let length = feature.0 >> 56;
        Self::from_number(u128::from(feature.0 << 8 >> 8) | u128::from(length) << 120)
    }
}
