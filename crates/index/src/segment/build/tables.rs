//! Writes the tables of a segment one after the other: divisions are sorted several at a time and written in order.

use std::path::PathBuf;

use rayon::prelude::*;
use twinprint_fingerprint::Width;

use super::encode::Encoder;
use super::spill::{DIVISION_BITS, DividedRecords, Spill};
use super::spool::Spool;
use super::{Builder, Options, ROW_BITS, SUM_BITS, records};
use crate::plan::Plan;
use crate::segment::codec_kind::Codec;
use crate::segment::layout::{Footer, Header, SectionKind, TableMeta};
use crate::segment::order::Order;
use crate::segment::write::SegmentWriter;
use crate::segment::{MAX_ADDRESS_BITS, SegmentError};
use crate::storage::folder;

/// Calls `each` with the sorted records of one division after the other, while the next ones are sorted.
fn in_order<R: Ord + Send + Sync>(
    mut divided: DividedRecords,
    spill: &mut Spill,
    memory: u64,
    decode: impl Fn(Vec<u8>) -> Vec<R> + Sync,
    mut each: impl FnMut(&[R], &mut Spill) -> Result<(), SegmentError> + Send,
) -> Result<(), SegmentError> {
    // Two groups of divisions are in memory at a time: one is sorted while the other is written. Each needs memory for
    // its records and for the bytes that they were decoded from.
    let most = (memory / 10) as usize / size_of::<R>();
    let mut next = 0;
    let mut sorted: Vec<Vec<R>> = Vec::new();
    loop {
        let first = next;
        let mut rows = 0;
        while next < 1 << DIVISION_BITS && (next == first || rows + divided.len(next) <= most) {
            rows += divided.len(next);
            next += 1;
        }
        let bytes: Vec<Vec<u8>> = (first..next)
            .map(|d| divided.read(d, spill))
            .collect::<Result<_, _>>()?;
        for division in first..next {
            divided.release(division, spill);
        }
        let sort = || -> Vec<Vec<R>> {
            let sort = |bytes| {
                let mut rows = decode(bytes);
                rows.sort_unstable();
                rows
            };
            bytes.into_par_iter().map(sort).collect()
        };
        let written = std::mem::take(&mut sorted);
        let (done, ready) = rayon::join(|| written.iter().try_for_each(|rows| each(rows, spill)), sort);
        done?;
        sorted = ready;
        if first == next {
            return Ok(());
        }
    }
}

impl<W: Width> Builder<W> {
    /// Writes the segment file.
    pub(super) fn write(self) -> Result<(), SegmentError> {
        let orders = orders(&self.plan, &self.options, self.count);
        let header = Header {
            bits: W::BITS,
            exact: self.exact,
        };
        let footer = Footer {
            tables: metas(&self.plan, &orders, self.options.codec),
            plan: self.plan,
            rows: 0,
            ids: self.count,
            id_bits: 64 - self.ids.leading_zeros(),
            postings: 0,
            sections: Vec::new(),
            sums_crc: 0,
        };
        let mut tables = TableWriter {
            file: SegmentWriter::create(&self.path, header, self.options.storage.clone())?,
            path: self.path,
            notes: self.notes,
            others: TableWriter::<W>::none_divided(&orders[1..]),
            orders,
            footer,
            spill: self.spill,
            options: self.options,
        };
        tables.first(self.gathered, self.id_bytes)?;
        tables.make_resumable(1)?;
        tables.rest(1)
    }
}

/// Returns the bit orders of the tables of a plan, for a segment of `count` ids.
pub(super) fn orders<W: Width>(plan: &Plan, options: &Options, count: u64) -> Vec<Order<W>> {
    let wide = (count.max(2).ilog2()).min(MAX_ADDRESS_BITS);
    (0..)
        .zip(&plan.tables)
        .map(|(t, spec)| {
            let bits = options.address_bits.get(t as usize).copied().unwrap_or(wide);
            Order::new(spec.mask, bits.clamp(1, MAX_ADDRESS_BITS))
        })
        .collect()
}

/// Returns the footer's entries of tables that are not written yet.
pub(super) fn metas<W: Width>(plan: &Plan, orders: &[Order<W>], codec: Codec) -> Vec<TableMeta> {
    let [directory, codec, page_rows] = codec.bounded().numbers();
    let tables = plan.tables.iter().zip(orders);
    tables
        .map(|(&spec, order)| TableMeta {
            spec,
            address_bits: order.address_bits(),
            directory,
            codec,
            page_rows,
        })
        .collect()
}

/// The state of a segment while its tables are written.
pub(super) struct TableWriter<W> {
    pub(super) path: PathBuf,
    pub(super) options: Options,
    pub(super) notes: Vec<u8>,
    pub(super) orders: Vec<Order<W>>,
    pub(super) footer: Footer,
    pub(super) file: SegmentWriter,
    pub(super) spill: Spill,
    /// For each table that is not written yet, its rows in divisions.
    pub(super) others: Vec<DividedRecords>,
}

impl<W: Width> TableWriter<W> {
    /// Creates empty divisions for the tables of these bit orders.
    pub(super) fn none_divided(orders: &[Order<W>]) -> Vec<DividedRecords> {
        let none = |_| DividedRecords::new(records::bytes::<W>());
        orders.iter().map(none).collect()
    }

    /// Writes the first table, the ids and the postings, and divides the rows for the other tables.
    fn first(&mut self, gathered: DividedRecords, id_bytes: usize) -> Result<(), SegmentError> {
        let (orders, options, file) = (&self.orders, &self.options, &mut self.file);
        let memory = options.for_records(orders.len());
        let (footer, others) = (&mut self.footer, &mut self.others);
        let work = folder(&self.path);
        let mut ids = Spool::new(work, footer.id_bits);
        let (mut posting_rows, mut posting_sums) = (Spool::new(work, ROW_BITS), Spool::new(work, SUM_BITS));
        let mut table = Encoder::begin(&orders[0], 0, options, work, file)?;
        let (mut rows, mut seen) = (0u64, 0u64);
        in_order(
            gathered,
            &mut self.spill,
            memory,
            |mut bytes| records::read::<W>(&mut bytes, id_bytes),
            |sorted, spill| {
                for group in sorted.chunk_by(|a, b| a.0 == b.0) {
                    let permuted = group[0].0;
                    table.push(permuted, file)?;
                    if group.len() > 1 {
                        posting_rows.push(rows)?;
                        posting_sums.push(seen - rows)?;
                        footer.postings += 1;
                    }
                    for &(_, id) in group {
                        ids.push(id)?;
                    }
                    seen += group.len() as u64;
                    rows += 1;
                    divide(orders[0].restore(permuted), &orders[1..], others, spill)?;
                }
                // The number of rows must fit a u32 as well, because row numbers are compared with it.
                if rows > u64::from(u32::MAX - 1) {
                    return Err(SegmentError::TooMany);
                }
                options.report_and_check_stop(sorted.len())
            },
        )?;
        footer.rows = rows;
        footer.tables[0].stored(table.end(0, options, file)?);
        for (kind, spool) in [
            (SectionKind::Ids, ids),
            (SectionKind::PostingRows, posting_rows),
            (SectionKind::PostingSums, posting_sums),
        ] {
            file.begin(kind, 0)?;
            spool.append_to(file)?;
        }
        Ok(())
    }

    /// Writes the tables from number `from` on, whose rows have been divided, and then the end of the file.
    pub(super) fn rest(mut self, from: usize) -> Result<(), SegmentError> {
        for (t, divided) in (from..).zip(std::mem::take(&mut self.others)) {
            if t > from {
                self.make_resumable(t)?;
            }
            self.table(t, divided)?;
        }
        self.file.finish(self.footer)
    }

    /// Writes a journal after the first `whole` tables if the build can be resumed and more tables follow.
    fn make_resumable(&mut self, whole: usize) -> Result<(), SegmentError> {
        match &self.options.resume {
            Some(work) if whole < self.orders.len() => {
                self.file
                    .make_resumable(whole as u32, &self.footer, work, &self.notes)
            }
            _ => Ok(()),
        }
    }

    /// Writes table `t` from its divided rows.
    fn table(&mut self, t: usize, divided: DividedRecords) -> Result<(), SegmentError> {
        let (options, file) = (&self.options, &mut self.file);
        let mut table = Encoder::begin(&self.orders[t], t, options, folder(&self.path), file)?;
        in_order(
            divided,
            &mut self.spill,
            options.for_records(self.orders.len()),
            |mut bytes| records::read_alone::<W>(&mut bytes),
            |sorted, _| {
                for &permuted in sorted {
                    table.push(permuted, file)?;
                }
                options.report_and_check_stop(sorted.len())
            },
        )?;
        self.footer.tables[t].stored(table.end(t, options, file)?);
        Ok(())
    }
}

/// Adds a fingerprint to the divisions of other tables, which have these bit orders.
#[inline]
pub(super) fn divide<W: Width>(
    fingerprint: W,
    orders: &[Order<W>],
    others: &mut [DividedRecords],
    spill: &mut Spill,
) -> Result<(), SegmentError> {
    for (divided, order) in others.iter_mut().zip(orders) {
        let permuted = order.permute(fingerprint);
        let mut record = [0; 24];
        let length = records::write(&mut record, permuted, 0, 0);
        divided.push(records::division(permuted), &record[..length], spill)?;
    }
    Ok(())
}
