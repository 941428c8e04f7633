//! Features of at most 15 bytes as numbers, so that they are compared and hashed without their text.
//!
//! Most words and character n-grams are this short. Such a feature is one or two blocks of SipHash, and the number
//! contains these blocks, so vectors of them are hashed without gathering bytes.

use crate::feature::Span;
use crate::kernel::{self, BATCH};
use crate::key::HashKey;
use crate::level::{Level, level};
use crate::width::Width;

/// A feature of at most 15 bytes as a number: its bytes in little-endian order, zeros, and its length in the top byte.
/// Different features are different numbers.
///
/// ```
/// use twinprint_fingerprint::{ShortFeature, Span};
///
/// let feature = ShortFeature::cut(b"the cat sat", Span { start: 4, end: 7 });
/// assert_eq!(feature, ShortFeature::new(b"cat"));
/// assert_eq!(ShortFeature::new(b"internationalisation"), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct ShortFeature(u128);

/// For each length, the bytes of a number that a feature of this length uses.
const USED: [u128; ShortFeature::MAX_BYTES + 1] = {
    let mut masks = [0; ShortFeature::MAX_BYTES + 1];
    let mut length = 1;
    while length < masks.len() {
        masks[length] = u128::MAX >> (128 - 8 * length);
        length += 1;
    }
    masks
};

impl ShortFeature {
    /// The maximum length of a short feature, in bytes.
    pub const MAX_BYTES: usize = 15;

    /// Makes the number of a feature; `None` if the feature is longer than [`MAX_BYTES`](Self::MAX_BYTES).
    #[must_use]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut padded = [0; 16];
        padded.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Self::first(&padded, bytes.len())
    }

    /// Makes the number of the feature at `span` of `bytes`; `None` if the feature is longer than
    /// [`MAX_BYTES`](Self::MAX_BYTES). A span is clamped to the buffer, as [`hash_features`](crate::hash_features)
    /// does.
    #[inline]
    #[must_use]
    pub fn cut(bytes: &[u8], span: Span) -> Option<Self> {
        let near = bytes
            .get(span.start as usize..)
            .and_then(|rest| rest.first_chunk());
        match near {
            // A span whose end is before its start wraps around to a long one.
            Some(near) if span.start <= span.end => Self::first(near, (span.end - span.start) as usize),
            _ => Self::at_the_end(bytes, span),
        }
    }

    /// The general case of [`cut`](Self::cut), for a feature that begins fewer than 16 bytes before the end of the text. Many
    /// features of a short text do.
    #[inline(never)]
    fn at_the_end(bytes: &[u8], span: Span) -> Option<Self> {
        let (start, end) = span.clamped(bytes.len());
        let Some(last) = bytes.last_chunk::<16>() else {
            return Self::new(&bytes[start..end]);
        };
        // The number of the last bytes that are before the feature. A span that ends before it begins is empty, and may begin
        // earlier than these bytes.
        let before = (start + last.len()).saturating_sub(bytes.len());
        let rest = u128::from_le_bytes(*last).checked_shr(8 * before as u32);
        Self::first(&rest.unwrap_or_default().to_le_bytes(), end - start)
    }

    /// Makes the number of the first `length` bytes; `None` if `length` exceeds [`MAX_BYTES`](Self::MAX_BYTES).
    #[inline]
    #[must_use]
    pub fn first(bytes: &[u8; 16], length: usize) -> Option<Self> {
        let used = USED.get(length)?;
        Some(Self(u128::from_le_bytes(*bytes) & used | (length as u128) << 120))
    }

    /// The feature of a number that [`number`](Self::number) returns.
    #[inline]
    pub(crate) fn from_number(number: u128) -> Self {
        Self(number)
    }

    /// Writes the bytes of the feature to `buffer` and returns them.
    #[must_use]
    pub fn bytes(self, buffer: &mut [u8; Self::MAX_BYTES]) -> &[u8] {
        let [bytes @ .., length] = self.0.to_le_bytes();
        *buffer = bytes;
        &buffer[..usize::from(length).min(Self::MAX_BYTES)]
    }

    /// The number: the bytes of the feature from the lowest byte on, and the length in the top byte.
    #[inline]
    #[must_use]
    pub fn number(self) -> u128 {
        self.0
    }
}

/// Clears `out` and pushes the hash of each feature, in order. Pushes as many low bits of each hash as the integer type
/// of `out` has. The hashes equal those of [`hash_features`](crate::hash_features). O(features).
///
/// ```
/// use twinprint_fingerprint::{HashKey, ShortFeature, hash_one, hash_short_features};
///
/// let features = [b"the".as_slice(), b"cat"].map(|word| ShortFeature::new(word).unwrap_or_default());
/// let mut hashes = Vec::<u128>::new();
/// hash_short_features(&HashKey::PUBLIC, &features, &mut hashes);
/// assert_eq!(hashes[1], hash_one(&HashKey::PUBLIC, b"cat"));
/// ```
pub fn hash_short_features<W: Width>(key: &HashKey, features: &[ShortFeature], out: &mut Vec<W>) {
    hash_short_features_at(level(), key, features, out);
}

/// [`hash_short_features`] at a given SIMD level.
pub fn hash_short_features_at<W: Width>(
    level: Level,
    key: &HashKey,
    features: &[ShortFeature],
    out: &mut Vec<W>,
) {
    out.clear();
    out.reserve(features.len());
    let (mut low, mut high) = ([0; BATCH], [0; BATCH]);
    let mut messages = [0; BATCH];
    for features in features.chunks(BATCH) {
        for (message, feature) in messages.iter_mut().zip(features) {
            *message = feature.0;
        }
        if W::BITS <= 64 {
            kernel::siphash_short::<false>(
                level,
                key.words(),
                &messages,
                &mut low,
                &mut high,
                features.len(),
            );
            let hashes = low.iter().map(|&low| W::truncate(u128::from(low)));
            out.extend(hashes.take(features.len()));
        } else {
            kernel::siphash_short::<true>(level, key.words(), &messages, &mut low, &mut high, features.len());
            let halves = low.iter().zip(&high);
            let hashes = halves.map(|(&low, &high)| W::truncate(u128::from(high) << 64 | u128::from(low)));
            out.extend(hashes.take(features.len()));
        }
    }
}
