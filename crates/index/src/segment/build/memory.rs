//! The memory that the build of a segment needs.
//!
//! Whatever the budget is, a build keeps the open blocks of all tables in memory, the directory of one table while its
//! rows are counted, two divisions while they are sorted, and some of the ids. The rest of the budget is for records,
//! which go to disk if they exceed it.

use twinprint_fingerprint::Width;

use super::spill::{DIVISION_BITS, OPEN_BLOCK_BYTES};
use super::tables::orders;
use super::{Options, records, spool};
use crate::segment::{Codec, MAX_ADDRESS_BITS, SegmentError};

impl Options {
    /// The approximate memory in bytes that a build of `rows` distinct fingerprints needs, even if [`Options::memory`]
    /// is less.
    ///
    /// # Errors
    /// The same as for [`super::Builder::new`].
    pub fn least_memory<W: Width>(&self, rows: u64) -> Result<u64, SegmentError> {
        let (plan, _) = self.plan::<W>()?;
        let fingerprint = records::bytes::<W>() as u64;
        let first = fingerprint + self.id_bytes() as u64;
        let open = |record: u64| rows.saturating_mul(record).min(OPEN_BLOCK_BYTES);
        let blocks = open(first) + (plan.tables.len() as u64 - 1) * open(fingerprint);
        let widest = orders::<W>(&plan, self, rows)
            .iter()
            .map(super::Order::address_bits)
            .max();
        let division = rows.div_ceil(1 << DIVISION_BITS);
        // A division is in memory twice: as the bytes that were read and as sorted records.
        let sorted = 2 * division.saturating_mul(first + size_of::<(W, u64)>() as u64);
        let id_bits = rows.checked_ilog2().map_or(0, |log| u64::from(log) + 1);
        let ids = (rows.saturating_mul(id_bits) / 8).min(spool::SPOOL_MEMORY_BYTES as u64);
        Ok(blocks
            .saturating_add(self.directory(widest.unwrap_or_default()))
            .saturating_add(sorted)
            .saturating_add(ids))
    }

    /// The number of bytes of an id in a record, before ids are packed.
    pub(super) fn id_bytes(&self) -> usize {
        let below = self.ids_below.unwrap_or(u64::MAX);
        (64 - below.leading_zeros()).div_ceil(8).max(1) as usize
    }

    /// The memory in bytes for counting rows for a directory with addresses of `address_bits` bits.
    fn directory(&self, address_bits: u32) -> u64 {
        match self.codec {
            Codec::Packed(_) => 4u64 << address_bits.min(MAX_ADDRESS_BITS),
            Codec::Huffman { .. } => 0,
        }
    }

    /// The part of the memory budget, in bytes, for the records of `tables` tables and for sorting them. It is what the
    /// directory and the open blocks leave, but at least a quarter of the budget.
    pub(super) fn for_records(&self, tables: usize) -> u64 {
        let bits = self.address_bits.iter().max().copied().unwrap_or_default();
        let held = self.directory(bits) + tables as u64 * OPEN_BLOCK_BYTES;
        self.memory.saturating_sub(held).max(self.memory / 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;

    #[test]
    fn the_minimum_memory_grows_with_the_rows() {
        let mut options = Options {
            plan: Some(Plan::halves(64, 3).unwrap()),
            ..Options::default()
        };
        let mut before = 0;
        for (rows, most) in [
            (0, 100),
            (1000, 50_000),
            (1_000_000, 40 << 20),
            (100_000_000, 450 << 20),
            (1_000_000_000, 4 << 30),
        ] {
            let least = options.least_memory::<u64>(rows).unwrap();
            assert!(before < least && least < most, "{least} bytes for {rows} rows");
            before = least;
        }
        options.codec = Codec::HUFFMAN;
        assert!(options.least_memory::<u64>(1_000_000_000).unwrap() < before / 2);
    }
}
