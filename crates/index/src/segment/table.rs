//! One permuted table of an open segment: where its parts lie, and its bit order.

use std::ops::Range;

use fingerprint::Width;
use fingerprint::kernel::PackedRows;

use super::bits::packed_bytes;
use super::directory::Form;
use super::layout::{Footer, Kind, TableMeta};
use super::order::Order;

/// A table of a segment.
#[derive(Debug)]
pub(crate) struct Stored<W> {
    pub(crate) meta: TableMeta,
    pub(crate) order: Order<W>,
    pub(crate) form: Form,
    /// The mask of the address.
    pub(crate) address: W,
    pub(crate) coarse: Range<usize>,
    pub(crate) fine: Range<usize>,
    pub(crate) rows: Range<usize>,
    pub(crate) packed: PackedRows,
}

impl<W: Width> Stored<W> {
    /// Table `t` of a footer whose sections lie within the file; what does not fit, if anything.
    pub(crate) fn open(footer: &Footer, t: usize) -> Result<Self, &'static str> {
        let meta = *footer.tables.get(t).ok_or("a table is missing")?;
        let mask = crate::plan::leading_bits(meta.spec.mask, meta.address_bits);
        if meta.address_bits > meta.spec.mask.count_ones() || meta.address_bits > super::MAX_ADDRESS_BITS {
            return Err("an address is too wide");
        }
        if (meta.codec, meta.page_rows) != (1, 0) {
            return Err("its rows are packed in an unknown way");
        }
        let order = Order::new(meta.spec.mask, meta.address_bits);
        let needed = packed_bytes(footer.rows, order.rest_bits());
        let rows = footer.range(Kind::Rows, t).filter(|r| r.len() as u64 == needed);
        Ok(Self {
            meta,
            form: Form::from(meta.directory).ok_or("a directory has an unknown form")?,
            address: W::truncate(mask),
            coarse: footer
                .range(Kind::DirectoryCoarse, t)
                .ok_or("a directory is missing")?,
            fine: footer
                .range(Kind::DirectoryFine, t)
                .ok_or("a directory is missing")?,
            packed: PackedRows::new(order.rest_bits()),
            rows: rows.ok_or("rows are missing")?,
            order,
        })
    }
}
