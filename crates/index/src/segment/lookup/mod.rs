//! Lookups: all rows within k of one query or of many.
//!
//! The probes of many queries are independent, and each waits for memory twice: for the bounds of its bucket, then for
//! its rows. They are therefore processed in blocks. The bounds of a block are prefetched while it is filled; when it
//! is full they are read and its rows are prefetched; then the rows of the block before are compared. For a single
//! query, the block is the flips of one address.
//!
//! Many queries are first sorted by the leading bits of their address and then probed flip by flip, neighbours together
//! (`arrangement`). So the same pages are read again while they are cached, and probes need not be sorted.
//!
//! A row is reported by the first table that finds it: a table skips the rows that an earlier table finds, which
//! follows from the differing bits. So each row is reported once, without a set of reported rows.

mod arrangement;
mod cold;
mod ids;
mod inexact;
mod joined;
mod keys;
mod probes;
mod reads;
mod search;

use std::ops::ControlFlow;

use twinprint_fingerprint::{Width, kernel};

use self::ids::RowMatch;
use self::joined::Joined;
use self::probes::{Probes, TableLookup};
use super::codec::{each_codec, if_packed};
use super::{Segment, SegmentError};
pub use keys::Search;
pub(crate) use reads::bounds_bytes;
use search::TableProbes;
pub(crate) use search::{SearchPlan, SearchPlans};

/// Statistics of lookups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// The number of addresses or keys probed.
    pub probes: u64,
    /// The number of rows that were read to find the first row of each key; see [`Search`]. Lookups by the directory
    /// take no steps.
    pub steps: u64,
    /// The number of rows compared.
    pub candidates: u64,
    /// The number of distinct fingerprints found.
    pub matches: u64,
    /// The number of bytes of the tables that were read: entries of directories, steps and rows, without ids. A page
    /// counts as a whole, and bytes that are read again count again.
    pub bytes: u64,
}

impl std::ops::AddAssign for Stats {
    fn add_assign(&mut self, other: Self) {
        self.probes += other.probes;
        self.steps += other.steps;
        self.candidates += other.candidates;
        self.matches += other.matches;
        self.bytes += other.bytes;
    }
}

/// Buffers of lookups, which are reused. Each thread needs its own.
#[derive(Debug, Default)]
pub struct Scratch<W> {
    probes: probes::ProbeBuffers<W>,
    join: joined::JoinBuffers<W>,
    cold: cold::ColdBuffers,
    rows: Vec<W>,
}

/// The probes of a lookup of radius `k` in all tables.
#[derive(Clone, Copy)]
struct ProbeJob<'j> {
    probing: &'j [TableProbes],
    k: u32,
    /// True if matches are passed on as soon as they are found.
    eager: bool,
}

/// A receiver of matches, which may end the search. It gets many matches at a time, so searches take it as a trait object: they
/// are then compiled once, and not once for each receiver.
trait Receive<W> {
    fn receive(
        &mut self,
        segment: &Segment<W>,
        found: &mut [RowMatch<W>],
    ) -> Result<ControlFlow<()>, SegmentError>;
}

/// A receiver of matches that passes every id to a callback.
struct EachId<F>(F);

impl<W: Width, F: FnMut(u32, u64, W, u32)> Receive<W> for EachId<F> {
    fn receive(
        &mut self,
        segment: &Segment<W>,
        found: &mut [RowMatch<W>],
    ) -> Result<ControlFlow<()>, SegmentError> {
        segment.ids_of(found, &mut self.0)?;
        Ok(ControlFlow::Continue(()))
    }
}

/// An id whose fingerprint is within the radius of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdMatch<W> {
    /// The id.
    pub id: u64,
    /// The fingerprint of the id.
    pub fingerprint: W,
    /// The Hamming distance of the fingerprint and the query.
    pub distance: u32,
}

/// A receiver of matches that keeps one match and ends the search.
struct FirstMatch<W>(Option<IdMatch<W>>);

impl<W: Width> Receive<W> for FirstMatch<W> {
    fn receive(
        &mut self,
        segment: &Segment<W>,
        found: &mut [RowMatch<W>],
    ) -> Result<ControlFlow<()>, SegmentError> {
        found.sort_unstable_by_key(|f| f.distance);
        segment.ids_of(&mut found[..1], |_, id, fingerprint, distance| {
            self.0.get_or_insert(IdMatch {
                id,
                fingerprint,
                distance,
            });
        })?;
        Ok(ControlFlow::Break(()))
    }
}

impl<W: Width> Segment<W> {
    /// Calls `hit(id, fingerprint, distance)` for every id whose fingerprint is within `k` of `query`, each once, in no
    /// particular order.
    ///
    /// # Errors
    /// `Damaged` if the lookup reads damaged bytes.
    pub fn lookup(
        &self,
        query: W,
        k: u32,
        scratch: &mut Scratch<W>,
        mut hit: impl FnMut(u64, W, u32),
    ) -> Result<Stats, SegmentError> {
        let mut all = EachId(|_, id, fingerprint, distance| hit(id, fingerprint, distance));
        self.search(&[query], k, scratch, false, &mut all)
    }

    /// Returns some fingerprint within `k` of `query`, with one of its ids. Addresses with few flips are probed first,
    /// and the first match ends the search.
    ///
    /// # Errors
    /// The same as for [`Segment::lookup`].
    pub fn any(
        &self,
        query: W,
        k: u32,
        scratch: &mut Scratch<W>,
    ) -> Result<Option<IdMatch<W>>, SegmentError> {
        let mut one = FirstMatch(None);
        self.search(&[query], k, scratch, true, &mut one)?;
        Ok(one.0)
    }

    /// Calls `hit(q, id, fingerprint, distance)` for every query number q and every id within `k` of that query, each
    /// pair once, in no particular order. Several times as fast per query as [`Segment::lookup`]; batches of 10⁴
    /// queries or more are fastest.
    ///
    /// # Errors
    /// The same as for [`Segment::lookup`].
    pub fn lookup_batch(
        &self,
        queries: &[W],
        k: u32,
        scratch: &mut Scratch<W>,
        mut hit: impl FnMut(usize, u64, W, u32),
    ) -> Result<Stats, SegmentError> {
        let mut stats = Stats::default();
        for (batch, first) in queries
            .chunks(probes::MAX_BATCH_QUERIES)
            .zip((0..).step_by(probes::MAX_BATCH_QUERIES))
        {
            let mut all = EachId(|q: u32, id, fingerprint, distance| {
                hit(first + q as usize, id, fingerprint, distance);
            });
            stats += self.search(batch, k, scratch, false, &mut all)?;
        }
        Ok(stats)
    }

    /// Finds the rows within `k` of each query, until `receive` ends the search. If `eager` is true, matches are passed
    /// to `receive` as soon as they are found; otherwise in batches.
    fn search(
        &self,
        queries: &[W],
        k: u32,
        scratch: &mut Scratch<W>,
        eager: bool,
        receive: &mut dyn Receive<W>,
    ) -> Result<Stats, SegmentError> {
        let mut stats = Stats::default();
        let (rows, planned) = (self.footer.rows, self.footer.plan.k);
        match self.searches.of(&self.tables, self.exact, rows, planned, k) {
            SearchPlan::Scan => self.scan(queries, k, &mut scratch.rows, &mut stats, receive)?,
            SearchPlan::Probe(probing) => {
                let job = ProbeJob { probing, k, eager };
                if self.is_cold(probing, queries.first(), &mut scratch.cold) {
                    stats = self.search_cold(queries, job, scratch, receive)?;
                } else {
                    let _end = self.probe(queries, job, scratch, &mut stats, receive)?;
                }
            }
        }
        Ok(stats)
    }

    /// Probes the tables one after the other, until `receive` ends the search.
    fn probe(
        &self,
        queries: &[W],
        job: ProbeJob<'_>,
        scratch: &mut Scratch<W>,
        stats: &mut Stats,
        receive: &mut dyn Receive<W>,
    ) -> Result<ControlFlow<()>, SegmentError> {
        let ProbeJob { probing, k, eager } = job;
        for (p, of_table) in probing.iter().enumerate() {
            let job = TableLookup {
                segment: self,
                probing: of_table,
                earlier: &probing[..p],
                k,
                eager,
            };
            let join = if_packed!(self.buckets(of_table.table), rows => {
                joined::choose(self, &rows, queries, of_table, k)?
            }, else None);
            let flow = match join {
                Some(join) => if_packed!(self.buckets(of_table.table), rows => {
                    let arranged = &mut scratch.probes.queries;
                    Joined { job, rows, join }.run(queries, arranged, &mut scratch.join, stats, receive)?
                }, else ControlFlow::Continue(())),
                None => self.probe_table(queries, job, &mut scratch.probes, stats, receive)?,
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Probes one table.
    fn probe_table(
        &self,
        queries: &[W],
        job: TableLookup<'_, W>,
        buffers: &mut probes::ProbeBuffers<W>,
        stats: &mut Stats,
        receive: &mut dyn Receive<W>,
    ) -> Result<ControlFlow<()>, SegmentError> {
        let table = job.probing.table;
        let before = *stats;
        let flow = each_codec!(self.buckets(table), rows => {
            Probes { job, rows }.run(queries, buffers, stats, receive)?
        });
        let (probes, candidates) = (stats.probes - before.probes, stats.candidates - before.candidates);
        let pages = buffers.take_page_bytes();
        stats.bytes += self.tables[table].bytes_read(probes, candidates, pages);
        Ok(flow)
    }

    /// Compares every row with every query, until `receive` ends the search.
    fn scan(
        &self,
        queries: &[W],
        k: u32,
        rows: &mut Vec<W>,
        stats: &mut Stats,
        receive: &mut dyn Receive<W>,
    ) -> Result<(), SegmentError> {
        let order = &self.tables[0].order;
        let permuted: Vec<W> = queries.iter().map(|&q| order.permute(q)).collect();
        let mut walk = self.walk(0);
        let mut found = Vec::new();
        stats.bytes += self.scanned_bytes();
        loop {
            let first = walk.row();
            if !walk.fill(rows)? {
                return Ok(());
            }
            stats.candidates += (rows.len() * queries.len()) as u64;
            kernel::hamming_many_to_many(&permuted, rows, k, &mut |query, row, distance| {
                found.push(RowMatch {
                    query,
                    fingerprint: order.restore(rows[row as usize]),
                    distance: u32::from(distance),
                    row: first + row,
                });
            });
            stats.matches += found.len() as u64;
            if !found.is_empty() && receive.receive(self, &mut found)?.is_break() {
                return Ok(());
            }
            found.clear();
        }
    }
}
