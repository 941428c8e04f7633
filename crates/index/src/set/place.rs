//! The places of tokens in tables: the shard and the tag under which the postings of a token are stored, and the element of
//! a bitmap or of an array of counters; and the size classes of sets.
//!
//! The shard and the tag come from a hash of the token: its leading 10 bits choose one of 1024 shards, and the next 28 are the tag. Two
//! tokens have the same shard and tag with probability 2⁻³⁸. Among 10⁹ entries every tenth prefix of 29 tokens meets an
//! unrelated entry, which adds a needless candidate. No candidate is lost.

/// log₂ of the number of shards.
const SHARD_BITS: u32 = 10;
pub(super) const SHARDS: usize = 1 << SHARD_BITS;
/// The number of bits of a tag.
pub(super) const TAG_BITS: u32 = 28;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PostingPlace {
    /// The number of the shard, below [`SHARDS`].
    pub(super) shard: usize,
    /// The tag within the shard, below 2^[`TAG_BITS`].
    pub(super) tag: u32,
}

impl PostingPlace {
    /// Computes the shard and the tag of a token from a hash of all its bits.
    pub(super) fn of(token: u64) -> Self {
        let mut x = token;
        x = (x ^ (x >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        x = (x ^ (x >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        Self {
            shard: (x >> (64 - SHARD_BITS)) as usize,
            tag: (x >> (64 - SHARD_BITS - TAG_BITS)) as u32 & ((1 << TAG_BITS) - 1),
        }
    }
}

/// Returns the element of a table of 2^`bits` elements, 0 < `bits` < 64, that a token has. The leading bits of a product with an
/// odd constant depend on all bits of the token.
#[inline]
pub(super) fn element(token: u64, bits: u32) -> usize {
    (token.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - bits)) as usize
}

/// Returns log₂ of the number of elements of a table: more than `elements`, and in the range `[fewest, most]`.
pub(super) fn table_bits(elements: u64, [fewest, most]: [u32; 2]) -> u32 {
    (u64::BITS - elements.leading_zeros()).clamp(fewest, most)
}

/// Returns the class of a set size: the position of its leading bit and the three bits after it. It never decreases as
/// the size grows, and sizes of one class differ by less than an eighth.
pub(super) fn class(size: u32) -> u8 {
    let exponent = size.max(1).ilog2();
    // The class is at most 31 * 8 + 7, which fits a u8. The size is shifted up first, so that sizes below 8 have three
    // bits after the leading one too.
    let mantissa = ((u64::from(size.max(1)) << 3) >> exponent) & 7;
    (exponent * 8) as u8 + mantissa as u8
}
