//! Opens segments, and verifies whole files.

use std::ops::Range;
use std::path::Path;

use twinprint_fingerprint::Width;

use super::bits::packed_bytes;
use super::codec::Mismatch;
use super::codec_kind::Codec;
use super::layout::{Footer, Header, MAGIC, SectionKind, TAIL_BYTES, VERSION};
use super::mapping::Mapping;
use super::read_ahead::ReadAhead;
use super::sectors::{Checksums, Sectors};
use super::table::StoredTable;
use super::{Segment, SegmentError, lookup};
use crate::bytes::Reader;
use crate::digest::Digest;
use crate::plan::Plan;
use crate::plan::check::is_exact;

/// Files of up to this number of bytes are verified when they are opened. Larger ones are verified sector by sector as
/// they are touched.
const VERIFIED_AT_ONCE: usize = 64 << 20;

/// Returns the digest of a segment file of any width without reading its rows; see [`Segment::digest`].
///
/// # Errors
/// The file cannot be read, or does not end like a segment.
pub(crate) fn digest_of(path: &Path) -> Result<Digest, SegmentError> {
    let data = Mapping::map(path)?;
    let footer = footer(&data).ok_or_else(|| SegmentError::NotSegment {
        path: path.to_owned(),
        what: "its end is missing or damaged",
    })?;
    Ok(digest(&data, &footer))
}

fn digest(data: &Mapping, footer: &Footer) -> Digest {
    let sums = footer.range(SectionKind::Sums, 0);
    data.will_need(sums.clone().unwrap_or_default());
    let end = sums.and_then(|sums| data.get(sums.start..));
    Digest::of(end.unwrap_or(data))
}

/// Reads a header.
fn header(path: &Path, header: &[u8]) -> Result<Header, SegmentError> {
    let not = |what| SegmentError::NotSegment {
        path: path.to_owned(),
        what,
    };
    let mut fields = Reader(header);
    if fields.take(MAGIC.len()) != Some(MAGIC.as_slice()) {
        return Err(not("its first bytes are not those of a segment"));
    }
    let (Some(version), Some(bits), Some(inexact)) = (fields.u32(), fields.u32(), fields.u32()) else {
        return Err(not("it is shorter than a header"));
    };
    if version != VERSION {
        return Err(SegmentError::Version {
            path: path.to_owned(),
            got: version,
            expected: VERSION,
        });
    }
    Ok(Header {
        bits,
        exact: inexact == 0,
    })
}

impl<W: Width> Segment<W> {
    /// Opens a segment by mapping its file. The system reads pages as lookups touch them.
    ///
    /// # Errors
    /// The file cannot be read, is not a complete segment, or is of another version or width; or a part that is read
    /// here is damaged.
    pub fn open(path: &Path) -> Result<Self, SegmentError> {
        let segment = Self::with(path, Mapping::map(path)?)?;
        if segment.data.len() <= VERIFIED_AT_ONCE {
            segment.check()?;
            segment.reads.set_warm();
        }
        Ok(segment)
    }

    /// Reads a whole segment into memory, in huge pages where the system has them, and verifies it. Lookups are faster
    /// than in a mapped file, whose pages are small.
    ///
    /// # Errors
    /// The same as for [`Segment::open`].
    pub fn load(path: &Path) -> Result<Self, SegmentError> {
        let segment = Self::with(path, Mapping::load(path)?)?;
        segment.check()?;
        Ok(segment)
    }

    /// Opens a segment without reading its rows.
    pub(super) fn with(path: &Path, data: Mapping) -> Result<Self, SegmentError> {
        let not = |what| SegmentError::NotSegment {
            path: path.to_owned(),
            what,
        };
        let header = header(path, &data)?;
        if header.bits != W::BITS {
            return Err(SegmentError::Width {
                path: path.to_owned(),
                got: header.bits,
                expected: W::BITS,
            });
        }
        let footer = footer(&data).ok_or_else(|| not("its end is missing or damaged"))?;
        let sums = footer
            .range(SectionKind::Sums, 0)
            .ok_or_else(|| not("it has no checksums"))?;
        data.will_need(sums.clone());
        if data.get(sums.clone()).map(crc32fast::hash) != Some(footer.sums_crc) {
            return Err(SegmentError::Damaged {
                path: path.to_owned(),
                offset: sums.start as u64,
                what: "the section of checksums does not match its own checksum",
            });
        }
        let sectors = Sectors::new(sums.start, Checksums::Within(sums))
            .ok_or_else(|| not("some of its checksums are missing"))?;
        let mut segment = Self::of(path, data, footer, sectors)?;
        match is_exact(&segment.footer.plan) {
            Ok(()) if !header.exact => {
                return Err(segment.damaged(0, "its plan is exact, but its header says no"));
            }
            Err(missed) if header.exact => return Err(missed.into()),
            _ => segment.exact = header.exact,
        }
        Ok(segment)
    }

    /// Returns the segment that a footer describes. The sections that the footer lists must be within `data`.
    pub(super) fn of(
        path: &Path,
        data: Mapping,
        footer: Footer,
        sectors: Sectors,
    ) -> Result<Self, SegmentError> {
        let damaged = |what| SegmentError::Damaged {
            path: path.to_owned(),
            offset: 0,
            what,
        };
        let contradicts_itself = footer.tables.is_empty()
            || footer.plan.bits != W::BITS
            || footer.id_bits > 64
            || footer.rows >= u64::from(u32::MAX)
            || footer.ids < footer.rows
            || footer.postings > footer.rows;
        if contradicts_itself {
            return Err(damaged("the footer contradicts itself"));
        }
        let packed = |kind, count, width| {
            let needed = packed_bytes(count, width);
            let range = footer.range(kind, 0);
            range.filter(|range| range.len() as u64 == needed)
        };
        let tables: Result<Vec<StoredTable<W>>, Mismatch> = (0..footer.tables.len())
            .map(|t| StoredTable::open(&footer, t, &data, &sectors))
            .collect();
        let tables = tables.map_err(|Mismatch(offset, what)| SegmentError::Damaged {
            path: path.to_owned(),
            offset,
            what,
        })?;
        let areas = tables.iter().map(|table| table.rows.areas());
        Ok(Self {
            path: path.to_owned(),
            reads: ReadAhead::new(areas, data.is_mapped()),
            tables,
            ids: packed(SectionKind::Ids, footer.ids, footer.id_bits)
                .ok_or_else(|| damaged("ids are missing"))?,
            posting_rows: packed(SectionKind::PostingRows, footer.postings, super::build::ROW_BITS)
                .ok_or_else(|| damaged("postings are missing"))?,
            posting_sums: packed(SectionKind::PostingSums, footer.postings, super::build::SUM_BITS)
                .ok_or_else(|| damaged("postings are missing"))?,
            searches: lookup::SearchPlans::new(W::BITS),
            exact: true,
            data,
            footer,
            sectors,
        })
    }

    /// Reads and verifies the whole file.
    ///
    /// # Errors
    /// `Damaged` with the first offset at which a checksum does not match.
    pub fn check(&self) -> Result<(), SegmentError> {
        self.verify_in_order(self.sectors.covered())
            .map_err(|offset| self.damaged(offset, "a checksum does not match"))?;
        self.sectors.set_all();
        Ok(())
    }

    /// Verifies the bytes of a range, unless they were verified before.
    #[inline]
    pub(super) fn verify_bytes(&self, bytes: Range<usize>) -> Result<(), SegmentError> {
        self.sectors
            .verify(&self.data, bytes)
            .map_err(|offset| self.damaged(offset, "a checksum does not match"))
    }

    #[cold]
    pub(super) fn damaged(&self, offset: u64, what: &'static str) -> SegmentError {
        SegmentError::Damaged {
            path: self.path.clone(),
            offset,
            what,
        }
    }

    /// Returns the digest of the end of the file, from the section of checksums on. The checksums cover everything
    /// before them, so the digest identifies the whole file although only a thousandth of it is read.
    pub(crate) fn digest(&self) -> Digest {
        digest(&self.data, &self.footer)
    }

    /// The number of distinct fingerprints.
    pub fn rows(&self) -> u64 {
        self.footer.rows
    }

    /// The number of ids, at least [`Segment::rows`].
    pub fn len(&self) -> u64 {
        self.footer.ids
    }

    /// Returns `true` if there are no ids.
    pub fn is_empty(&self) -> bool {
        self.footer.ids == 0
    }

    /// The length of the file in bytes.
    pub fn bytes(&self) -> u64 {
        self.data.len() as u64
    }

    /// The plan that its tables follow.
    pub fn plan(&self) -> &Plan {
        &self.footer.plan
    }

    /// The storage format of the rows. If the tables have different formats, it is that of the first.
    pub fn codec(&self) -> Codec {
        let meta = self.tables.first().map(|table| table.meta);
        let numbers = meta.map(|meta| [meta.directory, meta.codec, meta.page_rows]);
        numbers.and_then(Codec::from_numbers).unwrap_or_default()
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Reads the footer of a complete file. Returns `None` if the file is incomplete or a section is outside it.
fn footer(data: &[u8]) -> Option<Footer> {
    let (before, tail) = data.split_at_checked(data.len().checked_sub(TAIL_BYTES)?)?;
    let mut fields = Reader(tail);
    let offset = fields.u64()?;
    let (length, crc) = (fields.u32()?, fields.u32()?);
    if fields.u64()? != data.len() as u64 || fields.take(MAGIC.len())? != MAGIC {
        return None;
    }
    let bytes = before.get(usize::try_from(offset).ok()?..)?;
    if bytes.len() != length as usize || crc32fast::hash(bytes) != crc {
        return None;
    }
    let footer = Footer::decode(bytes)?;
    let inside = footer
        .sections
        .iter()
        .all(|s| s.offset.checked_add(s.length).is_some_and(|end| end <= offset));
    inside.then_some(footer)
}
