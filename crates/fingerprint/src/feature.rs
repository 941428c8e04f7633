//! Feature hashes: SipHash-1-3 with 128 bits of output, computed for many features at once.
//!
//! SimHash needs independent bits. A duplicate filter for untrusted input needs more: nobody may be able to
//! write features that collide, or texts that do. SipHash (Aumasson and Bernstein 2012) is a pseudo-random
//! function under its key, designed and analysed for this purpose; its 1-3 variant protects the hash maps of
//! several languages against flooding. The faster public hashes do not: for XXH3 and the wyhash family,
//! colliding inputs that work under every seed are known or easy to make, because these hashes multiply by
//! secrets that an input can cancel. Hashes built on AES rounds are fast only with the CPU's AES instructions,
//! and a few rounds of AES are not a pseudo-random function. SipHash consists of additions, rotations and XOR on
//! 64-bit words, so that every CPU computes it in vector lanes: most features are one or two blocks long, and
//! the lanes hash 8 (AVX-512), 4 (AVX2) or 2 (NEON) of them in parallel. A weaker hash would save little time.
//!
//! The bits of the output are independent, so that a narrower fingerprint votes with the low bits. The low 64
//! bits are ready after the first finalisation, and [`hash_features_64`] stops there.

use crate::kernel::{self, BATCH, Batch, GROUP, MAX_BLOCKS};
use crate::key::HashKey;
use crate::level::{Level, level};
use crate::width::Width;

/// The byte range of one feature in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// Returns the start and the end of the range, clamped to a buffer of `length` bytes.
    #[inline]
    pub(crate) fn clamped(self, length: usize) -> (usize, usize) {
        let end = (self.end as usize).min(length);
        ((self.start as usize).min(end), end)
    }
}

/// Computes the 128-bit hash of one feature's bytes under a key.
///
/// ```
/// use twinprint_fingerprint::{HashKey, hash_one};
///
/// let public = hash_one(&HashKey::PUBLIC, b"cat");
/// let private = hash_one(&HashKey::new(1, 2), b"cat");
/// assert_ne!(public, private);
/// ```
#[must_use]
pub fn hash_one(key: &HashKey, bytes: &[u8]) -> u128 {
    kernel::siphash_one(key.words(), bytes)
}

/// Clears `out` and pushes the 128-bit hash of each span's bytes, in order.
///
/// A span is clamped to the buffer: bytes past the end are not hashed, and a span with `end < start` is empty.
/// O(bytes of the spans).
///
/// ```
/// use twinprint_fingerprint::{HashKey, Span, hash_features, hash_one};
///
/// let spans = [Span { start: 0, end: 3 }, Span { start: 4, end: 7 }];
/// let mut hashes = Vec::new();
/// hash_features(&HashKey::PUBLIC, b"the cat", &spans, &mut hashes);
/// assert_eq!(hashes[1], hash_one(&HashKey::PUBLIC, b"cat"));
/// ```
pub fn hash_features(key: &HashKey, bytes: &[u8], spans: &[Span], out: &mut Vec<u128>) {
    hash_features_at(level(), key, bytes, spans, out);
}

/// Clears `out` and pushes the low 64 bits of the hash of each span's bytes, in order. Faster than [`hash_features`],
/// which computes 128 bits.
pub fn hash_features_64(key: &HashKey, bytes: &[u8], spans: &[Span], out: &mut Vec<u64>) {
    hash_features_at(level(), key, bytes, spans, out);
}

/// Like [`hash_features`], at a given SIMD level. Pushes as many low bits of each hash as the integer type of `out`
/// has.
pub fn hash_features_at<W: Width>(
    level: Level,
    key: &HashKey,
    bytes: &[u8],
    spans: &[Span],
    out: &mut Vec<W>,
) {
    out.clear();
    out.reserve(spans.len());
    let mut batch = Batch::new();
    for spans in spans.chunks(BATCH) {
        let mut any_long = false;
        for (i, span) in spans.iter().enumerate() {
            any_long |= !fill(&mut batch, i, bytes, *span);
        }
        let first = out.len();
        if W::BITS <= 64 {
            batch.hash_low(level, key.words(), spans.len());
            out.extend(
                batch.low[..spans.len()]
                    .iter()
                    .map(|&low| W::truncate(u128::from(low))),
            );
        } else {
            batch.hash_full(level, key.words(), spans.len());
            let halves = batch.low[..spans.len()].iter().zip(&batch.high);
            out.extend(halves.map(|(&low, &high)| W::truncate(u128::from(high) << 64 | u128::from(low))));
        }
        if any_long {
            for (out, span) in out[first..].iter_mut().zip(spans) {
                let (start, end) = span.clamped(bytes.len());
                if (end - start) / 8 >= MAX_BLOCKS {
                    *out = W::truncate(hash_one(key, &bytes[start..end]));
                }
            }
        }
    }
}

/// Writes the bytes of a span into the batch as message `i`, in blocks of 8 bytes. Returns `false` if the message has
/// more than [`MAX_BLOCKS`] blocks; the caller must then hash it by itself.
#[inline]
fn fill(batch: &mut Batch, i: usize, bytes: &[u8], span: Span) -> bool {
    let blocks = &mut batch.blocks[i / GROUP];
    let lane = i % GROUP;
    // Most features have one or two blocks and are not at the end of the text. Two blocks are written even for a
    // feature of one block, because a branch on the number of blocks would often be mispredicted.
    let near = bytes
        .get(span.start as usize..)
        .and_then(|near| near.as_chunks::<8>().0.first_chunk());
    let length = span.end.wrapping_sub(span.start) as usize;
    if let (Some([first, second]), 0..16) = (near, length) {
        let (first, second) = (u64::from_le_bytes(*first), u64::from_le_bytes(*second));
        let short = length < 8;
        let last = kernel::last_block(if short { first } else { second }, length);
        blocks[0][lane] = if short { last } else { first };
        blocks[1][lane] = last;
        batch.counts[i] = 2 - u64::from(short);
        return true;
    }
    fill_any(batch, i, bytes, span)
}

/// The general case of [`fill`]: a feature of any number of blocks, anywhere in the text.
#[inline(never)]
fn fill_any(batch: &mut Batch, i: usize, bytes: &[u8], span: Span) -> bool {
    let blocks = &mut batch.blocks[i / GROUP];
    let lane = i % GROUP;
    let (start, end) = span.clamped(bytes.len());
    let (before, length) = ((end - start) / 8, end - start);
    if before >= MAX_BLOCKS {
        batch.counts[i] = 1;
        return false;
    }
    for (b, block) in blocks.iter_mut().enumerate().take(before) {
        block[lane] = word(bytes, start + 8 * b);
    }
    blocks[before][lane] = kernel::last_block(word(bytes, start + 8 * before), length);
    batch.counts[i] = before as u64 + 1;
    true
}

/// Reads eight bytes from `start` on as a little-endian integer. Bytes past the end count as zeros.
#[inline]
fn word(bytes: &[u8], start: usize) -> u64 {
    match bytes.get(start..).unwrap_or_default() {
        [b0, b1, b2, b3, b4, b5, b6, b7, ..] => u64::from_le_bytes([*b0, *b1, *b2, *b3, *b4, *b5, *b6, *b7]),
        rest => rest
            .iter()
            .rev()
            .fold(0, |word, &byte| word << 8 | u64::from(byte)),
    }
}

/// Clears `out` and pushes the low 64 bits of the hash of every window of `width` bytes, one byte apart:
/// the features of an ASCII text cut into character n-grams.
///
/// Equal to [`hash_features_64`] on the spans `i..i + width`. Nothing is pushed if `width` is 0 or greater than
/// `bytes.len()`. Windows of up to 7 bytes, which are one block, are hashed in parallel; wider ones one by one.
///
/// ```
/// use twinprint_fingerprint::{HashKey, hash_one, hash_windows_64};
///
/// let mut hashes = Vec::new();
/// hash_windows_64(&HashKey::PUBLIC, b"banana", 3, &mut hashes);
/// assert_eq!(hashes.len(), 4); // ban, ana, nan, ana
/// assert_eq!(hashes[1], hashes[3]);
/// assert_eq!(hashes[2], hash_one(&HashKey::PUBLIC, b"nan") as u64);
/// ```
pub fn hash_windows_64(key: &HashKey, bytes: &[u8], width: usize, out: &mut Vec<u64>) {
    hash_windows_64_at(level(), key, bytes, width, out);
}

/// [`hash_windows_64`] at a given SIMD level.
pub fn hash_windows_64_at(level: Level, key: &HashKey, bytes: &[u8], width: usize, out: &mut Vec<u64>) {
    out.clear();
    if width == 0 || bytes.len() < width {
        return;
    }
    if width > 7 {
        out.extend(bytes.windows(width).map(|window| hash_one(key, window) as u64));
        return;
    }
    let windows = bytes.len() - width + 1;
    out.resize(windows, 0);
    let done = kernel::siphash_windows(level, key.words(), bytes, width, out);
    for (out, window) in out[done..].iter_mut().zip(bytes[done..].windows(width)) {
        *out = hash_one(key, window) as u64;
    }
}
