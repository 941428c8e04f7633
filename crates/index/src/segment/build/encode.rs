//! Encodes the rows of one table into the file, by codec.
//!
//! Packed rows are written as they come, while their addresses are counted for the directory. Rows in pages can be
//! encoded only when the histogram of the whole table is known, and the divisions of a table are sorted one after the
//! other. So the sorted rows wait, not encoded, in a [`Spool`] while they are counted, and are encoded in a second
//! pass. A code for each bounded chunk of rows would need no second pass, but lookups would then read a code's table of
//! 4 KiB for nearly every probe, from memory instead of the first-level cache. So the rows of one table, of 2, 4, 8 or
//! 16 bytes each, are on disk for a while, except for the first 16 MiB, and memory does not depend on the number of
//! rows.

use std::path::Path;

use twinprint_fingerprint::Width;

use super::Options;
use super::spool::Spool;
use crate::segment::SegmentError;
use crate::segment::bits::Packer;
use crate::segment::codec::pages::{ends, page};
use crate::segment::codec_kind::Codec;
use crate::segment::directory::{Counter, DirectoryForm};
use crate::segment::layout::SectionKind;
use crate::segment::order::Order;
use crate::segment::write::SegmentWriter;

/// The number of packed bytes that are gathered before they are written.
const WRITE_BYTES: usize = 1 << 20;

/// The encoder of one table that is being written.
pub(super) enum Encoder<W> {
    Packed {
        order: Order<W>,
        form: DirectoryForm,
        counter: Counter,
        packer: Packer,
    },
    Pages(SortedPages<W>),
}

impl<W: Width> Encoder<W> {
    /// Begins to encode table `t`. Data that must wait goes to an unnamed file in the folder `work` if it does not fit
    /// into memory.
    pub(super) fn begin(
        order: &Order<W>,
        t: usize,
        options: &Options,
        work: &Path,
        file: &mut SegmentWriter,
    ) -> Result<Self, SegmentError> {
        file.begin(SectionKind::Rows, t)?;
        Ok(match options.codec.bounded() {
            Codec::Packed(form) => Self::Packed {
                form,
                counter: Counter::new(order.address_bits()),
                packer: Packer::default(),
                order: order.clone(),
            },
            Codec::Huffman { page_rows } => Self::Pages(SortedPages::new(page_rows, work)),
        })
    }

    /// Appends a permuted row, which must be greater than the row before.
    #[inline]
    pub(super) fn push(&mut self, permuted: W, file: &mut SegmentWriter) -> Result<(), SegmentError> {
        match self {
            Self::Packed {
                order,
                counter,
                packer,
                ..
            } => {
                counter.push(order.address(permuted));
                packer.push(order.rest(permuted).widen(), order.rest_bits());
                write_some(packer, file).map(|_| ())
            }
            Self::Pages(waiting) => waiting.push(permuted),
        }
    }

    /// Writes the remaining rows and the directory. Returns the codec in which the table is stored; its form of
    /// directory may differ from the requested one.
    pub(super) fn end(
        self,
        t: usize,
        options: &Options,
        file: &mut SegmentWriter,
    ) -> Result<Codec, SegmentError> {
        match self {
            Self::Packed {
                form,
                counter,
                packer,
                ..
            } => {
                file.write(&packer.finish())?;
                let directory = counter.finish(form);
                file.begin(SectionKind::DirectoryCoarse, t)?;
                file.write(&directory.coarse)?;
                file.begin(SectionKind::DirectoryFine, t)?;
                file.write(&directory.fine)?;
                Ok(Codec::Packed(directory.form))
            }
            Self::Pages(waiting) => waiting.end(t, options, file),
        }
    }
}

/// Writes the packed bytes to the file if there are at least [`WRITE_BYTES`]. Returns the number of bytes written.
#[inline]
fn write_some(packer: &mut Packer, file: &mut SegmentWriter) -> Result<u64, SegmentError> {
    let bytes = packer.ready();
    if bytes.len() < WRITE_BYTES {
        return Ok(0);
    }
    file.write(bytes)?;
    let written = bytes.len() as u64;
    bytes.clear();
    Ok(written)
}

/// The sorted rows of a table in pages, which wait until the Huffman code of the table is known.
pub(super) struct SortedPages<W> {
    page_rows: u32,
    sorted: Spool,
    /// For each bit, the number of rows whose most significant difference from the row before, in the same page, is
    /// that bit.
    counts: Vec<u64>,
    /// The number of rows of the current page so far; `before` is the last of them.
    filled: u32,
    before: W,
    /// The last row of each page; `starts` has the offset at which each page starts.
    lasts: Spool,
    starts: Spool,
}

impl<W: Width> SortedPages<W> {
    fn new(page_rows: u32, work: &Path) -> Self {
        Self {
            page_rows,
            sorted: Spool::new(work, W::BITS),
            counts: vec![0; W::BITS as usize],
            filled: 0,
            before: W::default(),
            lasts: Spool::new(work, W::BITS),
            starts: Spool::new(work, ends::START_BITS),
        }
    }

    #[inline]
    fn push(&mut self, row: W) -> Result<(), SegmentError> {
        if self.filled > 0 && self.filled < self.page_rows {
            self.counts[page::differing(self.before, row) as usize] += 1;
            self.filled += 1;
        } else {
            self.filled = 1;
        }
        self.before = row;
        self.sorted.push(row.widen())
    }

    /// Encodes and writes all rows, and then the last rows and the starts of the pages.
    fn end(self, t: usize, options: &Options, file: &mut SegmentWriter) -> Result<Codec, SegmentError> {
        let Self {
            page_rows,
            sorted,
            counts,
            mut lasts,
            mut starts,
            ..
        } = self;
        let encoder = page::Encoder::new(&counts);
        file.write(encoder.lengths())?;
        let mut written = encoder.lengths().len() as u64;
        let mut packer = Packer::default();
        let (mut filled, mut before) = (0, W::default());
        starts.push(written)?;
        let mut end_page = |packer: &mut Packer, written: u64, last: W| {
            packer.align();
            starts.push(written + packer.ready().len() as u64)?;
            lasts.push(last.widen())
        };
        sorted.each(|bytes| {
            for bytes in bytes.chunks_exact((W::BITS / 8) as usize) {
                let mut wide = [0; 16];
                wide[..bytes.len()].copy_from_slice(bytes);
                let row = W::truncate(u128::from_le_bytes(wide));
                if filled == page_rows {
                    end_page(&mut packer, written, before)?;
                    filled = 0;
                }
                if filled == 0 {
                    page::Encoder::first(row, &mut packer);
                } else {
                    encoder.next(before, row, &mut packer);
                }
                filled += 1;
                before = row;
                written += write_some(&mut packer, file)?;
            }
            options.report_and_check_stop(0)
        })?;
        if filled > 0 {
            end_page(&mut packer, written, before)?;
        }
        file.write(&packer.finish())?;
        file.begin(SectionKind::DirectoryCoarse, t)?;
        lasts.append_to(file)?;
        file.begin(SectionKind::DirectoryFine, t)?;
        starts.append_to(file)?;
        Ok(Codec::Huffman { page_rows })
    }
}
