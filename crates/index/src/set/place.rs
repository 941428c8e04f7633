//! The place of a token's postings: 38 bits of the mixed token, and the class of a set's size.
//!
//! The leading 10 bits choose one of 1024 shards, the next 28 are the tag. Two tokens share a place with probability
//! 2⁻³⁸; among 10⁹ entries every tenth prefix of 29 tokens meets an unrelated entry, which adds a needless candidate.
//! No candidate is lost.

/// log₂ of the number of shards.
const SHARD_BITS: u32 = 10;
pub(super) const SHARDS: usize = 1 << SHARD_BITS;
/// Bits of a tag.
pub(super) const TAG_BITS: u32 = 28;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PostingPlace {
    /// Below [`SHARDS`].
    pub(super) shard: usize,
    /// Below 2^[`TAG_BITS`].
    pub(super) tag: u32,
}

impl PostingPlace {
    /// The place of a token, computed from a hash of all its bits.
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

/// The class of a size: the position of its leading bit and the three bits after it. It never decreases as the size
/// grows, and sizes of one class differ by less than an eighth.
pub(super) fn class(size: u32) -> u8 {
    let exponent = size.max(1).ilog2();
    // The class is at most 31 * 8 + 7. The size is shifted up first, so that small sizes have three such bits too.
    let mantissa = ((u64::from(size.max(1)) << 3) >> exponent) & 7;
    (exponent * 8) as u8 + mantissa as u8
}
