//! The layout of a segment file: header, sections, footer, tail. `FORMAT.md` of the crate specifies it byte by byte.
//!
//! ```text
//! header     64 bytes: magic, version, width
//! sections   each from a multiple of 64 on, zeros between: directories, rows, ids, postings
//! sums       CRC-32 of every sector of 4096 bytes before this section
//! footer     the list of sections
//! tail       32 bytes: the offset of the footer, its CRC-32, the length of the file, magic
//! ```
//!
//! Every byte is under some checksum: the bytes before the sums under that of their sector, the sums under one in the
//! footer, and the footer under one in the tail. The tail states the length of the file.

use std::ops::Range;

use super::codec_kind::Codec;
use crate::bytes::Reader;
use crate::plan::{Plan, TableSpec};

/// The first and the last eight bytes of a segment file.
pub(crate) const MAGIC: [u8; 8] = *b"twinseg\n";
/// The version that is written and read.
pub(crate) const VERSION: u32 = 1;
/// The size of the header in bytes.
pub(crate) const HEADER_BYTES: usize = 64;
/// The size of the tail in bytes.
pub(crate) const TAIL_BYTES: usize = 32;
/// Sections start at multiples of this number of bytes, which is a cache line.
pub(crate) const SECTION_ALIGN: u64 = 64;
/// The number of bytes under one checksum, which is a page of the system.
pub(crate) const SECTOR_BYTES: usize = 4096;

/// The content of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum SectionKind {
    /// The coarse part of a directory, or the last rows of pages.
    DirectoryCoarse = 1,
    /// The fine part of a directory, or the start offsets of pages.
    DirectoryFine = 2,
    /// The rows of a table.
    Rows = 3,
    /// The ids, in the order of the first table's rows.
    Ids = 4,
    /// The numbers of the rows that have several ids.
    PostingRows = 5,
    /// For each row with several ids, the number of ids beyond one per row in all rows before it.
    PostingSums = 6,
    /// The checksums of the sectors.
    Sums = 7,
}

impl SectionKind {
    fn from(number: u32) -> Option<Self> {
        [
            Self::DirectoryCoarse,
            Self::DirectoryFine,
            Self::Rows,
            Self::Ids,
            Self::PostingRows,
            Self::PostingSums,
            Self::Sums,
        ]
        .into_iter()
        .find(|&kind| kind as u32 == number)
    }
}

/// A range of the file with one kind of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) kind: SectionKind,
    /// The number of the table that the section belongs to; 0 if it belongs to none.
    pub(crate) table: u32,
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

/// A permuted table as a footer describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TableMeta {
    pub(crate) spec: TableSpec,
    pub(crate) address_bits: u32,
    /// `directory`, `codec` and `page_rows` are the numbers of a [`super::Codec`].
    pub(crate) directory: u32,
    pub(crate) codec: u32,
    pub(crate) page_rows: u32,
}

impl TableMeta {
    /// Sets the codec in which the rows were stored.
    pub(crate) fn stored(&mut self, codec: Codec) {
        [self.directory, self.codec, self.page_rows] = codec.numbers();
    }
}

/// The content of a footer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Footer {
    pub(crate) plan: Plan,
    pub(crate) tables: Vec<TableMeta>,
    /// The number of distinct fingerprints.
    pub(crate) rows: u64,
    /// The number of ids, which is at least that of rows.
    pub(crate) ids: u64,
    pub(crate) id_bits: u32,
    /// The number of rows with several ids.
    pub(crate) postings: u64,
    pub(crate) sections: Vec<Section>,
    /// CRC-32 of the section of checksums.
    pub(crate) sums_crc: u32,
}

impl Footer {
    /// Returns the first section of a kind and table.
    pub(crate) fn section(&self, kind: SectionKind, table: usize) -> Option<Section> {
        let table = table as u32;
        self.sections
            .iter()
            .copied()
            .find(|s| s.kind == kind && s.table == table)
    }

    /// Returns the byte range of a section. The file must contain all sections that the footer lists.
    pub(crate) fn range(&self, kind: SectionKind, table: usize) -> Option<Range<usize>> {
        let section = self.section(kind, table)?;
        Some(section.offset as usize..(section.offset + section.length) as usize)
    }

    /// Encodes the footer.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let name = self.plan.name.as_bytes();
        for number in [self.plan.bits, self.plan.k, self.id_bits, self.sums_crc] {
            out.extend(number.to_le_bytes());
        }
        for number in [self.rows, self.ids, self.postings] {
            out.extend(number.to_le_bytes());
        }
        out.extend((name.len() as u32).to_le_bytes());
        out.extend(name);
        out.extend((self.tables.len() as u32).to_le_bytes());
        for table in &self.tables {
            out.extend(table.spec.mask.to_le_bytes());
            for number in [
                table.spec.radius,
                table.address_bits,
                table.directory,
                table.codec,
                table.page_rows,
            ] {
                out.extend(number.to_le_bytes());
            }
        }
        out.extend((self.sections.len() as u32).to_le_bytes());
        for section in &self.sections {
            out.extend((section.kind as u32).to_le_bytes());
            out.extend(section.table.to_le_bytes());
            out.extend(section.offset.to_le_bytes());
            out.extend(section.length.to_le_bytes());
        }
        out
    }

    /// Decodes a footer; `None` if the bytes are not a footer.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = Reader(bytes);
        let [bits, k, id_bits, sums_crc] = [from.u32()?, from.u32()?, from.u32()?, from.u32()?];
        let [rows, ids, postings] = [from.u64()?, from.u64()?, from.u64()?];
        let len = from.u32()? as usize;
        let name = String::from_utf8(from.take(len)?.to_vec()).ok()?;
        let mut tables = Vec::new();
        for _ in 0..from.u32()? {
            let mask = from.u128()?;
            let [radius, address_bits, directory, codec, page_rows] =
                [from.u32()?, from.u32()?, from.u32()?, from.u32()?, from.u32()?];
            tables.push(TableMeta {
                spec: TableSpec { mask, radius },
                address_bits,
                directory,
                codec,
                page_rows,
            });
        }
        let mut sections = Vec::new();
        for _ in 0..from.u32()? {
            let (kind, table) = (SectionKind::from(from.u32()?)?, from.u32()?);
            let (offset, length) = (from.u64()?, from.u64()?);
            sections.push(Section {
                kind,
                table,
                offset,
                length,
            });
        }
        let specs = tables.iter().map(|t| t.spec).collect();
        let plan = Plan::new(bits, k, name, specs).ok()?;
        from.0.is_empty().then_some(Self {
            plan,
            tables,
            rows,
            ids,
            id_bits,
            postings,
            sections,
            sums_crc,
        })
    }
}

/// The content of a header after the magic and the version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// The width of the fingerprints in bits.
    pub(crate) bits: u32,
    /// True if the plan of the tables is exact. The file of an exact plan has a zero here, so that a reader of earlier
    /// files refuses a plan that is not exact.
    pub(crate) exact: bool,
}

impl Header {
    /// Encodes the header with its magic and version.
    pub(crate) fn encode(self) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        header[..8].copy_from_slice(&MAGIC);
        header[8..12].copy_from_slice(&VERSION.to_le_bytes());
        header[12..16].copy_from_slice(&self.bits.to_le_bytes());
        header[16..20].copy_from_slice(&u32::from(!self.exact).to_le_bytes());
        header
    }
}

/// Returns the tail of a file whose footer starts at `offset`.
pub(crate) fn tail(offset: u64, footer: &[u8]) -> [u8; TAIL_BYTES] {
    let mut tail = [0; TAIL_BYTES];
    tail[..8].copy_from_slice(&offset.to_le_bytes());
    tail[8..12].copy_from_slice(&(footer.len() as u32).to_le_bytes());
    tail[12..16].copy_from_slice(&crc32fast::hash(footer).to_le_bytes());
    let length = offset + footer.len() as u64 + TAIL_BYTES as u64;
    tail[16..24].copy_from_slice(&length.to_le_bytes());
    tail[24..].copy_from_slice(&MAGIC);
    tail
}
