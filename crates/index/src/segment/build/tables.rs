//! The tables of a segment, one after the other: divisions sorted several at once, written in turn.

use fingerprint::Width;
use rayon::prelude::*;

use super::encode::Encoder;
use super::spill::{DIVISION_BITS, Divided, Spill};
use super::spool::Spool;
use super::{Builder, ROW_BITS, SUM_BITS, records};
use crate::segment::codec::Codec;
use crate::segment::layout::{Footer, Kind, TableMeta};
use crate::segment::order::Order;
use crate::segment::write::Unfinished;
use crate::segment::{MAX_ADDRESS_BITS, SegmentError};
use crate::storage::folder;

/// Calls `each` with the sorted records of every division in turn, sorting the next ones meanwhile.
fn in_order<R: Ord + Send + Sync>(
    mut divided: Divided,
    spill: &mut Spill,
    memory: u64,
    decode: impl Fn(Vec<u8>) -> Vec<R> + Sync,
    mut each: impl FnMut(&[R], &mut Spill) -> Result<(), SegmentError> + Send,
) -> Result<(), SegmentError> {
    // A group in the making and one being written, each with its bytes as read.
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
            divided.forget(division, spill);
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
    /// Writes the file.
    pub(super) fn write(mut self) -> Result<(), SegmentError> {
        let mut file = Unfinished::create(&self.path, W::BITS, self.options.storage.clone())?;
        let wide = (self.count.max(2).ilog2()).min(MAX_ADDRESS_BITS);
        let orders: Vec<Order<W>> = self
            .plan
            .tables
            .iter()
            .enumerate()
            .map(|(t, spec)| {
                let bits = self.options.address_bits.get(t).copied().unwrap_or(wide);
                Order::new(spec.mask, bits.clamp(1, MAX_ADDRESS_BITS))
            })
            .collect();
        let mut footer = Footer {
            plan: self.plan.clone(),
            tables: Vec::new(),
            rows: 0,
            ids: self.count,
            id_bits: 64 - self.ids.leading_zeros(),
            postings: 0,
            sections: Vec::new(),
            sums_crc: 0,
        };
        let mut others: Vec<Divided> = orders
            .iter()
            .skip(1)
            .map(|_| Divided::new(records::bytes::<W>()))
            .collect();
        let mut codecs = vec![self.first_table(&orders, &mut others, &mut footer, &mut file)?];
        for (t, divided) in (1..).zip(others) {
            codecs.push(self.other_table(t, divided, &orders[t], &mut file)?);
        }
        footer.tables = (self.plan.tables.iter().zip(&orders).zip(codecs))
            .map(|((&spec, order), codec)| {
                let [directory, codec, page_rows] = codec.numbers();
                TableMeta {
                    spec,
                    address_bits: order.address_bits(),
                    directory,
                    codec,
                    page_rows,
                }
            })
            .collect();
        file.finish(footer)
    }

    /// Writes the first table, the ids and the postings, and divides the rows for the other tables.
    fn first_table(
        &mut self,
        orders: &[Order<W>],
        others: &mut [Divided],
        footer: &mut Footer,
        file: &mut Unfinished,
    ) -> Result<Codec, SegmentError> {
        let work = folder(&self.path);
        let mut ids = Spool::new(work, footer.id_bits);
        let (mut posting_rows, mut posting_sums) = (Spool::new(work, ROW_BITS), Spool::new(work, SUM_BITS));
        let mut table = Encoder::begin(&orders[0], 0, &self.options, work, file)?;
        let id_bytes = self.id_bytes;
        let gathered = std::mem::replace(&mut self.gathered, Divided::new(1));
        let options = &self.options;
        let (mut rows, mut seen) = (0u64, 0u64);
        in_order(
            gathered,
            &mut self.spill,
            options.for_records(),
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
                    let fingerprint = orders[0].restore(permuted);
                    for (divided, order) in others.iter_mut().zip(&orders[1..]) {
                        let permuted = order.permute(fingerprint);
                        let mut record = [0; 24];
                        let length = records::write(&mut record, permuted, 0, 0);
                        divided.push(records::division(permuted), &record[..length], spill)?;
                    }
                }
                // The number above all rows must not be one: row numbers are compared with it.
                if rows > u64::from(u32::MAX - 1) {
                    return Err(SegmentError::TooMany);
                }
                options.go_on(sorted.len())
            },
        )?;
        footer.rows = rows;
        let codec = table.end(0, options, file)?;
        for (kind, spool) in [
            (Kind::Ids, ids),
            (Kind::PostingRows, posting_rows),
            (Kind::PostingSums, posting_sums),
        ] {
            file.begin(kind, 0)?;
            spool.append_to(file)?;
        }
        Ok(codec)
    }

    /// Writes table `t` from its divided rows.
    fn other_table(
        &mut self,
        t: usize,
        divided: Divided,
        order: &Order<W>,
        file: &mut Unfinished,
    ) -> Result<Codec, SegmentError> {
        let work = folder(&self.path);
        let mut table = Encoder::begin(order, t, &self.options, work, file)?;
        let options = &self.options;
        in_order(
            divided,
            &mut self.spill,
            options.for_records(),
            |mut bytes| records::read_alone::<W>(&mut bytes),
            |sorted, _| {
                for &permuted in sorted {
                    table.push(permuted, file)?;
                }
                options.go_on(sorted.len())
            },
        )?;
        table.end(t, options, file)
    }
}
