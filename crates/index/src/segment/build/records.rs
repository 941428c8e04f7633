//! Permuted fingerprints, with an id or without, as bytes.

use twinprint_fingerprint::Width;

use super::spill::DIVISION_BITS;
use crate::segment::bits::{row_at, word_at};

/// The number of bytes of a fingerprint.
pub(super) fn bytes<W: Width>() -> usize {
    (W::BITS / 8) as usize
}

/// Returns the division of a permuted fingerprint, which is the number formed by its leading bits.
#[inline]
pub(super) fn division<W: Width>(permuted: W) -> usize {
    (permuted >> (W::BITS - DIVISION_BITS)).low_u64() as usize
}

/// Writes a fingerprint and the `id_bytes` low bytes of an id. Returns the number of bytes written.
#[inline]
pub(super) fn write<W: Width>(to: &mut [u8; 24], permuted: W, id: u64, id_bytes: usize) -> usize {
    let of = bytes::<W>();
    to[..16].copy_from_slice(&permuted.widen().to_le_bytes());
    to[of..of + 8].copy_from_slice(&id.to_le_bytes());
    of + id_bytes
}

/// Decodes the records that [`write`] encoded one after the other in `from`, to which padding is appended.
pub(super) fn read<W: Width>(from: &mut Vec<u8>, id_bytes: usize) -> Vec<(W, u64)> {
    let of = bytes::<W>();
    let record = of + id_bytes;
    let count = from.len() / record;
    from.resize(from.len() + 24, 0);
    let id_mask = u64::MAX >> (64 - 8 * id_bytes as u32);
    (0..count)
        .map(|i| (row_at(from, i * record), word_at(from, i * record + of) & id_mask))
        .collect()
}

/// Like [`read`], but for fingerprints without ids.
pub(super) fn read_alone<W: Width>(from: &mut Vec<u8>) -> Vec<W> {
    let of = bytes::<W>();
    let count = from.len() / of;
    from.resize(from.len() + 24, 0);
    (0..count).map(|i| row_at(from, i * of)).collect()
}
