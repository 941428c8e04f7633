//! One permuted table of an open segment: its bit order and its rows.

use twinprint_fingerprint::Width;

use super::codec::{Mismatch, Packed, Pages, StoredRows};
use super::codec_kind::Codec;
use super::layout::{Footer, TableMeta};
use super::order::Order;
use super::sectors::Sectors;

/// A table of a segment.
#[derive(Debug)]
pub(crate) struct StoredTable<W> {
    pub(crate) meta: TableMeta,
    pub(crate) order: Order<W>,
    /// A mask of the address bits in a fingerprint that is not permuted.
    pub(crate) address: W,
    pub(super) rows: StoredRows,
}

impl<W: Width> StoredTable<W> {
    /// Opens table `t` of a footer. The sections that the footer lists must be within the file. The error is the first
    /// mismatch.
    pub(super) fn open(footer: &Footer, t: usize, data: &[u8], sectors: &Sectors) -> Result<Self, Mismatch> {
        let meta = *footer.tables.get(t).ok_or(Mismatch(0, "a table is missing"))?;
        let mask = crate::plan::leading_bits(meta.spec.mask, meta.address_bits);
        if meta.address_bits > meta.spec.mask.count_ones() || meta.address_bits > super::MAX_ADDRESS_BITS {
            return Err(Mismatch(0, "an address is too wide"));
        }
        let order = Order::new(meta.spec.mask, meta.address_bits);
        let unknown = Mismatch(0, "its rows are stored in an unknown format");
        let rows = match Codec::from_numbers([meta.directory, meta.codec, meta.page_rows]).ok_or(unknown)? {
            Codec::Packed(form) => StoredRows::Packed(Packed::open(footer, t, form, &order)?),
            Codec::Huffman { page_rows } => {
                StoredRows::Pages(Pages::open::<W>(footer, t, page_rows, data, sectors)?)
            }
        };
        Ok(Self {
            meta,
            address: W::truncate(mask),
            rows,
            order,
        })
    }
}
