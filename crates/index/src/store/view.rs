//! The state of an index at one stamp: its segments and memtables.

use std::collections::HashSet;
use std::sync::Arc;

use twinprint_fingerprint::Width;

use super::StoreError;
use super::manifest::SegmentEntry;
use super::memtable::{Memtable, ReadPoint};
use super::tombstones::Tombstones;
use crate::plan::Recall;
use crate::segment::{IdMatch, Scratch, Search, Segment, Stats};

/// A segment in use, with its tombstones.
#[derive(Debug)]
pub(super) struct LiveSegment<W> {
    /// The manifest's entry when the segment was written or opened. The manifest itself changes when a commit writes
    /// tombstones.
    pub(super) entry: SegmentEntry,
    pub(super) segment: Segment<W>,
    pub(super) tombstones: Tombstones,
}

/// A memtable that is full or about to be committed. It takes no more entries and becomes a segment.
#[derive(Debug)]
pub(super) struct FrozenMemtable<W> {
    pub(super) memtable: Arc<Memtable<W>>,
    pub(super) entries: u32,
    /// The stamp of the last change when it was frozen.
    pub(super) stamp: u64,
    /// The caller's position when it was frozen; see `Index::mark`.
    pub(super) checkpoint: u64,
}

/// The segments and memtables of an index. Every living id is in exactly one of them.
#[derive(Debug)]
pub(super) struct View<W> {
    pub(super) segments: Vec<Arc<LiveSegment<W>>>,
    pub(super) frozen: Vec<Arc<FrozenMemtable<W>>>,
    /// The memtable that takes additions; created with the first one.
    pub(super) active: Option<Arc<Memtable<W>>>,
}

impl<W: Width> View<W> {
    /// Marks an id as deleted at `stamp` in every segment and memtable that may contain it.
    pub(super) fn kill(&self, id: u64, stamp: u64) {
        for live in self.segments.iter().filter(|live| live.entry.ids.contains(&id)) {
            live.tombstones.insert(id, stamp);
        }
        for memtable in self.all_memtables() {
            memtable.kill(id, stamp);
        }
    }

    /// Marks those of the ids that are stored as deleted at `stamp`, and returns their number. Reads all ids of the
    /// segments that may contain them.
    ///
    /// # Errors
    /// `Damaged` if a file is damaged; no id is marked then.
    pub(super) fn kill_known(&self, ids: &HashSet<u64>, stamp: u64) -> Result<u64, StoreError> {
        let mut found = Vec::new();
        for live in &self.segments {
            let near: HashSet<u64> = ids
                .iter()
                .copied()
                .filter(|id| live.entry.ids.contains(id))
                .collect();
            if near.is_empty() {
                continue;
            }
            for id in live.segment.ids() {
                let id = id?;
                if near.contains(&id) {
                    found.push((live, id));
                }
            }
        }
        let mut killed = 0;
        for (live, id) in found {
            killed += u64::from(live.tombstones.insert(id, stamp));
        }
        for memtable in self.all_memtables() {
            for &id in ids {
                killed += u64::from(memtable.kill(id, stamp));
            }
        }
        Ok(killed)
    }

    fn all_memtables(&self) -> impl Iterator<Item = &Arc<Memtable<W>>> {
        let frozen = self.frozen.iter().map(|frozen| &frozen.memtable);
        frozen.chain(&self.active)
    }
}

/// A reader's view of an index at one stamp. Later changes do not affect its answers, and files that are replaced in
/// the meantime stay readable.
///
/// All methods may be called from several threads at once, each with a [`Scratch`] of its own.
///
/// ```
/// use twinprint_index::segment::{Codec, Scratch};
/// use twinprint_index::store::{Index, Options, Settings};
///
/// let directory = tempfile::tempdir()?;
/// let settings = Settings { radius: 3, codec: Codec::default(), label: String::new() };
/// let index = Index::<u64>::create(directory.path(), &settings, &Options::default())?;
/// index.add(17, 0b0000)?;
///
/// let snapshot = index.snapshot();
/// index.delete(17)?;
/// let mut scratch = Scratch::default();
/// assert_eq!(snapshot.any(0b0001, 3, &mut scratch)?.map(|found| found.id), Some(17));
/// assert_eq!(index.snapshot().any(0b0001, 3, &mut scratch)?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Snapshot<W> {
    pub(super) view: Arc<View<W>>,
    pub(super) stamp: u64,
    /// The number of entries of the active memtable at that stamp.
    pub(super) entries: u32,
}

impl<W: Width> Snapshot<W> {
    /// Calls `hit(id, fingerprint, distance)` for every id whose fingerprint is within `k` of `query`, each once, in no
    /// particular order. If `k` is greater than the radius of the index, tables that cannot serve it are read
    /// completely.
    ///
    /// # Errors
    /// `Damaged` if the lookup reads damaged bytes.
    pub fn lookup(
        &self,
        query: W,
        k: u32,
        scratch: &mut Scratch<W>,
        mut hit: impl FnMut(u64, W, u32),
    ) -> Result<Stats, StoreError> {
        let mut stats = Stats::default();
        for live in &self.view.segments {
            let done = live
                .segment
                .lookup(query, k, scratch, |id, fingerprint, distance| {
                    if !live.tombstones.holds(id, self.stamp) {
                        hit(id, fingerprint, distance);
                    }
                })?;
            stats += done;
        }
        for (memtable, entries) in self.memtables() {
            stats += memtable.lookup(
                query,
                k,
                ReadPoint {
                    entries,
                    stamp: self.stamp,
                },
                &mut |id, fingerprint, distance| {
                    hit(id, fingerprint, distance);
                    true
                },
            );
        }
        Ok(stats)
    }

    /// Calls `hit(q, id, fingerprint, distance)` for every query number q and every id within `k` of that query, each
    /// pair once, in no particular order. For batches of some thousand queries or more, it is several times as fast per
    /// query as [`Snapshot::lookup`].
    ///
    /// # Errors
    /// The same as for [`Snapshot::lookup`].
    pub fn lookup_batch(
        &self,
        queries: &[W],
        k: u32,
        scratch: &mut Scratch<W>,
        hit: impl FnMut(usize, u64, W, u32),
    ) -> Result<Stats, StoreError> {
        self.lookup_batch_by(Search::Directory, queries, k, scratch, hit)
    }

    /// Like [`Snapshot::lookup_batch`], with another way to find the rows of segments.
    ///
    /// # Errors
    /// The same as for [`Segment::lookup_batch_by`].
    pub fn lookup_batch_by(
        &self,
        search: Search,
        queries: &[W],
        k: u32,
        scratch: &mut Scratch<W>,
        mut hit: impl FnMut(usize, u64, W, u32),
    ) -> Result<Stats, StoreError> {
        let mut stats = Stats::default();
        for live in &self.view.segments {
            let each = |q, id, fingerprint, distance| {
                if !live.tombstones.holds(id, self.stamp) {
                    hit(q, id, fingerprint, distance);
                }
            };
            stats += live.segment.lookup_batch_by(search, queries, k, scratch, each)?;
        }
        for (memtable, entries) in self.memtables() {
            for (q, &query) in queries.iter().enumerate() {
                stats += memtable.lookup(
                    query,
                    k,
                    ReadPoint {
                        entries,
                        stamp: self.stamp,
                    },
                    &mut |id, fingerprint, distance| {
                        hit(q, id, fingerprint, distance);
                        true
                    },
                );
            }
        }
        Ok(stats)
    }

    /// Returns some id whose fingerprint is within `k` of `query`. Recent additions are searched first.
    ///
    /// # Errors
    /// The same as for [`Snapshot::lookup`].
    pub fn any(&self, query: W, k: u32, scratch: &mut Scratch<W>) -> Result<Option<IdMatch<W>>, StoreError> {
        let mut first = None;
        for (memtable, entries) in self.memtables() {
            memtable.lookup(
                query,
                k,
                ReadPoint {
                    entries,
                    stamp: self.stamp,
                },
                &mut |id, fingerprint, distance| {
                    first = Some(IdMatch {
                        id,
                        fingerprint,
                        distance,
                    });
                    false
                },
            );
            if first.is_some() {
                return Ok(first);
            }
        }
        for live in self.view.segments.iter().rev() {
            if live.tombstones.len() == 0 {
                first = live.segment.any(query, k, scratch)?;
            } else {
                live.segment
                    .lookup(query, k, scratch, |id, fingerprint, distance| {
                        if first.is_none() && !live.tombstones.holds(id, self.stamp) {
                            first = Some(IdMatch {
                                id,
                                fingerprint,
                                distance,
                            });
                        }
                    })?;
            }
            if first.is_some() {
                break;
            }
        }
        Ok(first)
    }

    /// Returns all (fingerprint, id) pairs. They are ordered within each segment only.
    pub fn iter(&self) -> impl Iterator<Item = Result<(W, u64), StoreError>> + '_ {
        let stored = self.view.segments.iter().flat_map(|live| {
            let rows = live.segment.iter();
            rows.filter(|row| !matches!(row, Ok((_, id)) if live.tombstones.holds(*id, self.stamp)))
        });
        let added = self
            .memtables()
            .flat_map(|(memtable, entries)| memtable.living(entries, self.stamp));
        stored
            .map(|row| row.map_err(StoreError::from))
            .chain(added.map(Ok))
    }

    /// The number of stored ids, including deleted ones that no compaction has dropped yet. For the number of living
    /// ids, count [`Snapshot::iter`].
    pub fn rows(&self) -> u64 {
        let stored: u64 = self.view.segments.iter().map(|live| live.entry.rows).sum();
        let added = self.memtables().map(|(_, entries)| u64::from(entries));
        stored + added.sum::<u64>()
    }

    /// Returns the only segment, if the index consists of one segment without later additions and deletions.
    pub fn single(&self) -> Option<&Segment<W>> {
        match &self.view.segments[..] {
            [live] if live.tombstones.len() == 0 && self.memtables().next().is_none() => Some(&live.segment),
            _ => None,
        }
    }

    /// Returns `true` if lookups find every fingerprint within the radius: all segments are exact.
    pub fn is_exact(&self) -> bool {
        self.segments().all(Segment::is_exact)
    }

    /// Returns the share of the stored fingerprints at a Hamming distance from a query that lookups find, if all bits
    /// differ equally often, for each distance from 0 to `largest` (or to the width if that is smaller); see
    /// [`Segment::recalls`]. It is 1 if the index is exact.
    pub fn recalls(&self, search: Search, largest: u32) -> Vec<Recall> {
        let distances = largest.min(W::BITS) as usize + 1;
        if self.is_exact() {
            return vec![Recall::ALL; distances];
        }
        let ids: u64 = self.segments().map(Segment::len).sum();
        let none = Recall {
            share: 0.0,
            standard_error: 0.0,
        };
        let mut recalls = vec![none; distances];
        for segment in self.segments() {
            let share = segment.len() as f64 / ids.max(1) as f64;
            for (recall, of_segment) in recalls.iter_mut().zip(segment.recalls(search, largest)) {
                recall.share += share * of_segment.share;
                // Segments of one plan are estimated from the same sets, so their errors add up.
                recall.standard_error += share * of_segment.standard_error;
            }
        }
        recalls
    }

    /// Returns the segments, the oldest first.
    pub fn segments(&self) -> impl Iterator<Item = &Segment<W>> {
        self.view.segments.iter().map(|live| &live.segment)
    }

    /// Returns the memtables, the newest first, with the number of entries of each that belong to this snapshot.
    pub(super) fn memtables(&self) -> impl Iterator<Item = (&Memtable<W>, u32)> {
        let frozen = self.view.frozen.iter().rev();
        let active = self.view.active.iter().map(|active| (&**active, self.entries));
        active.chain(frozen.map(|frozen| (&*frozen.memtable, frozen.entries)))
    }
}
