//! Lookups in a mapped segment that is not in memory.
//!
//! They take the same steps as other lookups, but the system first reads all places of all probes at the same time. The
//! coarse parts of the directories tell the places of the rows nearly, so the fine parts and the rows are read together.
//! Rows at other places than expected are read next. Lookups of many queries go some thousand probes at a time.
//!
//! A lookup in a segment that is in memory makes no call of the system. Whether the segment is in memory is asked again
//! when lookups have become slow.

use std::ops::{ControlFlow, Range};
use std::time::{Duration, Instant};

use twinprint_fingerprint::Width;

use super::ids::{NO_ROW, RowMatch};
use super::search::TableProbes;
use super::{ProbeJob, Receive, Scratch, Stats};
use crate::segment::codec::{Places, each_codec};
use crate::segment::layout::SECTOR_BYTES;
use crate::segment::{Segment, SegmentError};

/// The number of probes whose places are read at the same time. Lookups of one query may have more.
const STEP_PROBES: usize = 4096;
/// The number of lookups after which the time that they took is looked at. It is a prime, so that of several segments
/// each has its turn.
const TIMED_LOOKUPS: u32 = 31;
/// Lookups that took at least this long on average may have waited for the disk.
const SLOW_LOOKUP: Duration = Duration::from_micros(40);
/// The number of probes whose places are looked at to find out if a segment is in memory.
const SAMPLED_PROBES: usize = 16;

/// The state of the lookups of one thread.
#[derive(Debug, Default)]
pub(crate) struct ColdBuffers {
    /// The number of lookups since `timed`.
    lookups: u32,
    timed: Option<Instant>,
    pages: Vec<usize>,
}

impl ColdBuffers {
    /// Returns `true` once in a while, if the last lookups were slow.
    #[inline]
    fn are_slow(&mut self) -> bool {
        self.lookups += 1;
        self.lookups >= TIMED_LOOKUPS && self.were_slow()
    }

    #[cold]
    fn were_slow(&mut self) -> bool {
        let now = Instant::now();
        let since = self.timed.replace(now);
        let lookups = std::mem::take(&mut self.lookups);
        since.is_none_or(|since| now.duration_since(since) > lookups * SLOW_LOOKUP)
    }
}

/// A receiver of matches of a step, whose first query has the number `first`.
struct StepReceiver<'r, W> {
    receive: &'r mut dyn Receive<W>,
    first: u32,
}

impl<W: Width> Receive<W> for StepReceiver<'_, W> {
    fn receive(
        &mut self,
        segment: &Segment<W>,
        found: &mut [RowMatch<W>],
    ) -> Result<ControlFlow<()>, SegmentError> {
        for f in &mut *found {
            f.query += self.first;
        }
        self.receive.receive(segment, found)
    }
}

/// Appends the pages of a place.
fn push(pages: &mut Vec<usize>, place: &Range<usize>) {
    if !place.is_empty() {
        pages.extend(place.start / SECTOR_BYTES..place.end.div_ceil(SECTOR_BYTES));
    }
}

fn arrange(pages: &mut Vec<usize>) {
    pages.sort_unstable();
    pages.dedup();
}

impl<W: Width> Segment<W> {
    /// Returns `true` if lookups should read ahead.
    #[inline]
    pub(super) fn is_cold(
        &self,
        probing: &[TableProbes],
        query: Option<&W>,
        buffers: &mut ColdBuffers,
    ) -> bool {
        self.data.is_mapped()
            && (self.reads.is_cold() || (buffers.are_slow() && self.has_become_cold(probing, query)))
    }

    /// Looks for some rows of a query in memory. If some are missing, the segment is cold.
    #[cold]
    fn has_become_cold(&self, probing: &[TableProbes], query: Option<&W>) -> bool {
        let Some((&query, probing)) = query.zip(probing.first()) else {
            return false;
        };
        let order = &self.tables[probing.table].order;
        let address = order.address(order.permute(query));
        let missing = each_codec!(self.buckets(probing.table), rows => {
            let mut flips = probing.flips.iter().take(SAMPLED_PROBES);
            flips.any(|flip| {
                let place = rows.guessed_rows_place(address ^ flip);
                place.is_ok_and(|place| !place.is_empty() && !self.data.is_present(place.start))
            })
        });
        if missing {
            self.reads.set_cold();
        }
        missing
    }

    /// Finds the rows within `k` of each query in a segment that is not in memory.
    pub(super) fn search_cold(
        &self,
        queries: &[W],
        job: ProbeJob<'_>,
        scratch: &mut Scratch<W>,
        receive: &mut dyn Receive<W>,
    ) -> Result<Stats, SegmentError> {
        let mut stats = Stats::default();
        let probing = job.probing;
        let probes: usize = probing.iter().map(|p| p.flips.len()).sum();
        let step = (STEP_PROBES / probes.max(1)).max(1);
        let mut first = 0;
        while first < queries.len() {
            // If the segment is in memory by now, the other queries take one step.
            let step = if self.reads.is_cold() { step } else { queries.len() };
            let some = &queries[first..(first + step).min(queries.len())];
            if self.reads.is_cold() {
                self.read_places(some, queries.len() - first, probing, &mut scratch.cold)?;
            }
            let mut receiver = StepReceiver {
                receive: &mut *receive,
                first: first as u32,
            };
            if self
                .probe(some, job, scratch, &mut stats, &mut receiver)?
                .is_break()
            {
                break;
            }
            first += some.len();
        }
        Ok(stats)
    }

    /// Starts to read all places of the probes for `queries`, of which `left` are left including these.
    fn read_places(
        &self,
        queries: &[W],
        left: usize,
        probing: &[TableProbes],
        buffers: &mut ColdBuffers,
    ) -> Result<(), SegmentError> {
        let later = (left / queries.len().max(1)).saturating_sub(1) as u64;
        let mut missing = 0;
        // All tables take each round together.
        for round in [Round::Coarse, Round::Guessed, Round::Located] {
            for p in probing {
                let order = &self.tables[p.table].order;
                let addresses = queries.iter().flat_map(|&query| {
                    let address = order.address(order.permute(query));
                    p.flips.iter().map(move |flip| address ^ flip)
                });
                missing += each_codec!(self.buckets(p.table), rows => {
                    self.read_round(round, p.table, &rows, addresses, later, buffers)?
                });
            }
        }
        self.reads.note(missing, probing.iter().map(|p| p.table));
        Ok(())
    }

    /// Starts to read the places of one round in a table, and returns the number of missing pages.
    fn read_round(
        &self,
        round: Round,
        table: usize,
        rows: &impl Places<W>,
        addresses: impl Iterator<Item = u32> + Clone,
        later: u64,
        buffers: &mut ColdBuffers,
    ) -> Result<u64, SegmentError> {
        let Some([coarse, fine, stored]) = self.reads.areas(table) else {
            return Ok(0);
        };
        let mut read = |area, places: &mut dyn Iterator<Item = Result<Range<usize>, SegmentError>>| {
            let pages = &mut buffers.pages;
            pages.clear();
            for place in places {
                push(pages, &place?);
            }
            arrange(pages);
            Ok(self.read_pages(area, pages, later * pages.len() as u64))
        };
        match round {
            Round::Coarse if coarse.is_whole() => Ok(0),
            Round::Coarse => read(coarse, &mut addresses.map(|a| Ok(rows.coarse_place(a)))),
            Round::Guessed => {
                let mut missing = 0;
                if !fine.is_whole() {
                    missing += read(fine, &mut addresses.clone().map(|a| rows.fine_place(a)))?;
                }
                if !stored.is_whole() {
                    missing += read(stored, &mut addresses.map(|a| rows.guessed_rows_place(a)))?;
                }
                Ok(missing)
            }
            Round::Located if stored.is_whole() => Ok(0),
            Round::Located => read(stored, &mut addresses.map(|a| rows.rows_place(a))),
        }
    }

    /// Starts to read all places from which the ids of `found` are read.
    pub(super) fn read_id_places(&self, found: &[RowMatch<W>]) -> Result<(), SegmentError> {
        let mut pages = Vec::new();
        let order = &self.tables[0].order;
        let ids_of = |rows: Range<u64>| {
            // Without postings, every row has one id.
            if self.footer.postings == 0 && !rows.is_empty() {
                self.id_place(rows.start)..(self.id_place(rows.end) + 9).min(self.ids.end)
            } else {
                0..0
            }
        };
        each_codec!(self.buckets(0), rows => {
            for f in found {
                if f.row == NO_ROW {
                    let address = order.address(order.permute(f.fingerprint));
                    push(&mut pages, &rows.fine_place(address)?);
                    push(&mut pages, &rows.guessed_rows_place(address)?);
                    push(&mut pages, &ids_of(rows.guessed_rows(address)?));
                } else {
                    push(&mut pages, &ids_of(f.row.into()..u64::from(f.row) + 1));
                }
            }
        });
        arrange(&mut pages);
        for run in pages.chunk_by(|a, b| a + 1 == *b) {
            if let (Some(first), Some(last)) = (run.first(), run.last()) {
                self.data
                    .will_need(first * SECTOR_BYTES..(last + 1) * SECTOR_BYTES);
            }
        }
        Ok(())
    }
}

/// The rounds of reads. The places of a round are known when the pages of the round before have been read.
#[derive(Clone, Copy)]
enum Round {
    /// The coarse parts of directories.
    Coarse,
    /// The fine parts of directories, and the rows at the guessed places.
    Guessed,
    /// The rows at their places.
    Located,
}
