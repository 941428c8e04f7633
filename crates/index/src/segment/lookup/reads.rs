//! The bytes of tables that lookups read.
//!
//! A probe reads one entry of a directory and the packed rows of its bucket. With pages, it reads the last row and the
//! start of a page, and the page as a whole, unless that page was decoded for a query just before. The bits of a packed row
//! count as whole bytes. Ids are not counted.
//! Bytes that are read again count again, although the second read is mostly from a cache of the processor.

use twinprint_fingerprint::Width;

use crate::segment::directory::DirectoryForm;
use crate::segment::layout::SectionKind;
use crate::segment::table::StoredTable;
use crate::segment::{Codec, Segment};

/// The bytes that a probe reads to find a bucket in a codec: in a compact or plain directory the first row of a group and
/// two offsets, in an Elias–Fano directory a position and two words of bits, and for pages a last row and two starts.
pub(crate) fn bounds_bytes(codec: Codec, bits: u32) -> u64 {
    match codec {
        Codec::Packed(DirectoryForm::Compact) => 4 + 2,
        Codec::Packed(DirectoryForm::Plain) => 4 + 4,
        Codec::Packed(DirectoryForm::EliasFano) => 8 + 16,
        Codec::Huffman { .. } => u64::from(bits / 8) + 10,
    }
}

impl<W: Width> StoredTable<W> {
    /// The storage format of the rows.
    fn codec(&self) -> Codec {
        let numbers = [self.meta.directory, self.meta.codec, self.meta.page_rows];
        Codec::from_numbers(numbers).unwrap_or_default()
    }

    /// The bytes that `probes` probes read to find their buckets.
    pub(in crate::segment) fn bounds_bytes(&self, probes: u64) -> u64 {
        probes * bounds_bytes(self.codec(), W::BITS)
    }

    /// The bytes that probes read. `pages` is the number of bytes of the pages that were decoded for them.
    pub(super) fn bytes_read(&self, probes: u64, candidates: u64, pages: u64) -> u64 {
        let rows = match self.codec() {
            Codec::Packed(_) => candidates * u64::from(self.order.rest_bits().div_ceil(8)),
            Codec::Huffman { .. } => pages,
        };
        self.bounds_bytes(probes) + rows
    }
}

impl<W: Width> Segment<W> {
    /// The bytes of the first table, which a scan reads.
    pub(crate) fn scanned_bytes(&self) -> u64 {
        let kinds = [
            SectionKind::DirectoryCoarse,
            SectionKind::DirectoryFine,
            SectionKind::Rows,
        ];
        let sections = kinds.iter().filter_map(|&kind| self.footer.section(kind, 0));
        sections.map(|section| section.length).sum()
    }
}
