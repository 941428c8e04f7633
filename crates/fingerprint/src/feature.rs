//! Feature hashes.

use crate::{HashKey, kernel};

/// A byte range of a text: one feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The bytes of the span, clamped to `bytes`.
    #[inline]
    fn of(self, bytes: &[u8]) -> &[u8] {
        let end = (self.end as usize).min(bytes.len());
        &bytes[(self.start as usize).min(end)..end]
    }
}

/// The 128-bit hash of one feature's bytes.
#[must_use]
pub fn hash_one(key: &HashKey, bytes: &[u8]) -> u128 {
    kernel::siphash_one(key.words(), bytes)
}

/// Clears `out` and pushes the 128-bit hash of each span's bytes, in order.
///
/// A span is clamped to the buffer: what lies past its end is not hashed, and a span with `end < start` is
/// empty.
pub fn hash_features(key: &HashKey, bytes: &[u8], spans: &[Span], out: &mut Vec<u128>) {
    out.clear();
    out.extend(spans.iter().map(|span| hash_one(key, span.of(bytes))));
}

/// Clears `out` and pushes the low 64 bits of [`hash_features`]'s hashes, for less work.
pub fn hash_features_64(key: &HashKey, bytes: &[u8], spans: &[Span], out: &mut Vec<u64>) {
    out.clear();
    out.extend(spans.iter().map(|span| hash_one(key, span.of(bytes)) as u64));
}

/// Clears `out` and pushes the low 64 bits of the hash of every window of `width` bytes, one byte apart:
/// the features of an ASCII text cut into character n-grams.
///
/// Equal to [`hash_features_64`] on the spans `i..i + width`. Nothing is pushed when `width` is 0 or more than
/// the bytes there are; widths of 1 to 7 take the fast route.
pub fn hash_windows_64(key: &HashKey, bytes: &[u8], width: usize, out: &mut Vec<u64>) {
    out.clear();
    if width > 0 {
        out.extend(bytes.windows(width).map(|window| hash_one(key, window) as u64));
    }
}
