//! Sizes of tables and costs of probes, by codec.
//!
//! Sizes are those of uniform fingerprints. A row in a page takes the entropy of its difference to the row before, plus
//! about two bits that the code loses. This is fitted to the sizes in `docs/scale.md` at 10⁶ to 10⁹ rows. On clumped
//! fingerprints pages take less. The costs are fitted to the lookups of the same page at 10⁷.

use crate::segment::{Codec, DirectoryForm};

/// A coded row of a page takes f − log₂ n bits, which is the average for n sorted rows of f bits, and this number of
/// bits in addition.
const CODE_BITS: f64 = 3.45;
/// The number of bits of the offset at which a page starts.
const START_BITS: f64 = 40.0;

/// Estimates the bytes of a table of `n` rows of `bits` bits, with addresses of `u` bits.
pub(super) fn table_bytes(codec: Codec, n: f64, bits: u32, u: u32) -> f64 {
    let addresses = 2f64.powi(u as i32);
    let rest = f64::from(bits - u);
    match codec.bounded() {
        // The directory takes eight bits for each address, and four bytes for a group of about 200 rows: the largest
        // power of two of addresses with fewer than 256.
        Codec::Packed(DirectoryForm::Compact) => {
            let group = (200.0 * addresses / n).log2().floor().clamp(3.0, 6.0);
            n * rest / 8.0 + addresses * (1.0 + 4.0 / group.exp2())
        }
        // The directory takes sixteen bits for each address, and four bytes for every 256 addresses.
        Codec::Packed(DirectoryForm::Plain) => n * rest / 8.0 + addresses * (2.0 + 4.0 / 256.0),
        // The directory takes one bit for each row, one for each address, and eight bytes for every 64 addresses.
        Codec::Packed(DirectoryForm::EliasFano) => {
            n * (rest + 1.0) / 8.0 + addresses * (1.0 / 8.0 + 8.0 / 64.0)
        }
        Codec::Huffman { page_rows } => {
            let coded = coded_bits(n, bits);
            // The first and the last row of a page are stored uncompressed.
            let page = 2.0 * f64::from(bits) + START_BITS - coded;
            n * (coded + page / f64::from(page_rows)) / 8.0
        }
    }
}

/// The bits of a coded row of a page. The average is clamped to 0 for more than 2^bits rows, which cannot all be
/// distinct.
fn coded_bits(n: f64, bits: u32) -> f64 {
    (f64::from(bits) - n.log2()).max(0.0) + CODE_BITS
}

/// Estimates the bytes of a page of `page_rows` rows, of which the first is not coded.
pub(super) fn page_bytes(n: f64, bits: u32, page_rows: u32) -> f64 {
    let rows = f64::from(page_rows).min(n);
    (f64::from(bits) + (rows - 1.0) * coded_bits(n, bits)) / 8.0
}

/// The cost of a probe for a single query, as a multiple of its cost in packed rows with plain directories.
pub(super) fn online_factor(codec: Codec) -> f64 {
    match codec.bounded() {
        Codec::Packed(DirectoryForm::Compact | DirectoryForm::Plain) => 1.0,
        Codec::Packed(DirectoryForm::EliasFano) => 1.8,
        // A probe searches for the page and decodes it.
        Codec::Huffman { page_rows } => 2.7 + 0.07 * f64::from(page_rows),
    }
}

/// Like [`online_factor`], but for one of very many queries, of which several probe the same page.
pub(super) fn batch_factor(codec: Codec) -> f64 {
    match codec.bounded() {
        Codec::Packed(DirectoryForm::Compact | DirectoryForm::Plain) => 1.0,
        Codec::Packed(DirectoryForm::EliasFano) => 3.0,
        Codec::Huffman { .. } => 7.7,
    }
}
