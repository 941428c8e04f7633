//! The kinds of the bytes of a text, as masks of 64 bits: spaces, bytes that are not ASCII, and ideographs. Texts are split
//! into words and characters by these masks, without a branch for each byte. The code points of the characters that begin at the
//! bits of a mask are read together.

use super::dispatch::dispatch;
use super::lanes::ByteBlock;
use crate::level::{Level, level};

/// The kinds of the bytes of a block of 64 bytes of a text. Bit i of a mask stands for byte i of the block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ByteKinds {
    /// The spaces (U+0020). The end of the text counts as a space; bytes after it have no bits.
    pub spaces: u64,
    /// The bytes of characters that are not ASCII.
    pub high: u64,
    /// The first bytes of the ideographs from U+4E00 to U+9FFF, which have three bytes each.
    pub ideographs: u64,
}

const BLOCK: usize = ByteKinds::BLOCK_BYTES;

impl ByteKinds {
    /// The number of bytes of a block.
    pub const BLOCK_BYTES: usize = 64;
    /// The largest number of blocks that [`byte_kinds`] returns at a time. What a caller makes of them fits into the first-level
    /// cache.
    pub const MAX_BLOCKS: usize = 32;
    /// The number of bytes of [`MAX_BLOCKS`](Self::MAX_BLOCKS) blocks.
    pub const MAX_BYTES: usize = Self::MAX_BLOCKS * Self::BLOCK_BYTES;
}

/// Replaces the content of `out` by the kinds of the bytes of `text` from byte `from` on, a block for each 64 bytes, at most
/// [`ByteKinds::MAX_BLOCKS`]. `from` must be a multiple of 64. The last block has the end of the text, so it is empty but for one
/// space if the length of the text is a multiple of 64. Nothing is returned if `from` is greater than the length. Linear.
///
/// ```
/// use twinprint_fingerprint::kernel::{ByteKinds, byte_kinds};
///
/// let mut blocks = Vec::new();
/// byte_kinds("ab é 中", 0, &mut blocks);
/// assert_eq!(blocks, [ByteKinds { spaces: 0b10_0010_0100, high: 0b01_1101_1000, ideographs: 0b00_0100_0000 }]);
/// byte_kinds("ab é 中", 64, &mut blocks);
/// assert!(blocks.is_empty());
/// ```
pub fn byte_kinds(text: &str, from: usize, out: &mut Vec<ByteKinds>) {
    byte_kinds_at(level(), text, from, out);
}

/// [`byte_kinds`] at a given SIMD level.
pub fn byte_kinds_at(level: Level, text: &str, from: usize, out: &mut Vec<ByteKinds>) {
    out.clear();
    let Some(rest) = text.as_bytes().get(from..) else {
        return;
    };
    let blocks = rest.len() / BLOCK + 1;
    out.resize(blocks.min(ByteKinds::MAX_BLOCKS), ByteKinds::default());
    run(level, rest, out);
    if blocks > out.len() {
        return;
    }
    let end = rest.len() % BLOCK;
    if let Some(last) = out.last_mut() {
        let used = (1 << end) - 1;
        last.spaces = last.spaces & used | 1 << end;
        last.high &= used;
        last.ideographs &= used;
    }
}

/// Writes the code points of characters of a block to `out` and returns their number. `bytes` begin with the block, and bit i of
/// `begins` is set if a character begins at byte i. Each of these characters must be ASCII or have three bytes; other bytes give
/// any code. Elements of `out` after the code points may be overwritten.
///
/// ```
/// use twinprint_fingerprint::kernel::code_points;
///
/// let bytes = [b"a\xE4\xB8\xAD b".as_slice(), &[0; 60]].concat();
/// let mut codes = [0; 64];
/// let count = code_points(bytes.first_chunk().unwrap(), 0b10_0011, &mut codes);
/// assert_eq!(codes[..count], ['a', '中', 'b'].map(u32::from));
/// ```
pub fn code_points(bytes: &[u8; BLOCK + 2], begins: u64, out: &mut [u32; BLOCK]) -> usize {
    code_points_at(level(), bytes, begins, out)
}

/// [`code_points`] at a given SIMD level.
pub fn code_points_at(level: Level, bytes: &[u8; BLOCK + 2], begins: u64, out: &mut [u32; BLOCK]) -> usize {
    let mut count = 0;
    run_code_points(level, bytes, begins, out, &mut count);
    count
}

dispatch!(run [] [] (text: &[u8], out: &mut [ByteKinds]) = run_body::<Bytes>);

dispatch!(run_code_points [] [] (bytes: &[u8; BLOCK + 2], begins: u64, out: &mut [u32; BLOCK], count: &mut usize)
    = code_points_body::<Bytes>);

/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn code_points_body<V: ByteBlock>(
    bytes: &[u8; BLOCK + 2],
    begins: u64,
    out: &mut [u32; BLOCK],
    count: &mut usize,
) {
    // SAFETY: the caller guarantees that the CPU has the instructions of V. The arrays have 66 bytes and 64 values.
    *count = unsafe { V::store_code_points(bytes.as_ptr(), begins, out.as_mut_ptr()) };
}

/// Finds the kinds of the bytes of the first blocks of `text`, as many as `out` has. Bytes after its end count as zeros.
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn run_body<V: ByteBlock>(text: &[u8], out: &mut [ByteKinds]) {
    let (blocks, tail) = text.as_chunks::<BLOCK>();
    let mut padded = [0; BLOCK];
    padded[..tail.len()].copy_from_slice(tail);
    let all = blocks.iter().chain([&padded]);
    let next = all.clone().skip(1).chain([&[0; BLOCK]]);
    for ((block, next), kinds) in all.zip(next).zip(out) {
        // SAFETY: the caller guarantees that the CPU has the instructions of V. A block has 64 bytes.
        let block = unsafe { V::load(block.as_ptr()) };
        // The first byte of U+4000 to U+4FFF is E4; the second byte of U+4E00 to U+4FFF is B8 or larger.
        let second =
            block.in_range(0xB8, 0xBF) >> 1 | u64::from(matches!(next[0], 0xB8..=0xBF)) << (BLOCK - 1);
        *kinds = ByteKinds {
            spaces: block.equal(b' '),
            high: block.high(),
            ideographs: block.in_range(0xE5, 0xE9) | block.equal(0xE4) & second,
        };
    }
}
