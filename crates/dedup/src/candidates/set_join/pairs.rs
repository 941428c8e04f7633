//! The set join before the grouping: candidate pairs of which at most one member is in a crowd.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use twinprint_cluster::JoinRole;

use super::kept::{PrefixFile, PrefixWriter};
use super::{JoinBytes, MAX_SLICE_MEMBERS, Member, MemoryCheck, ProbeScope, SetJoin};
use crate::candidates::edge::Edge;
use crate::corpus::shingle_sets::SetCache;
use crate::error::DedupError;
use crate::ids::{Id, IdVec, ItemId, ids};

/// The run that a set join before the grouping is part of.
#[derive(Clone, Copy)]
pub(crate) struct JoinWatch<'w> {
    /// Fails if there is no memory for the counters of the join.
    pub(crate) check_counters: &'w MemoryCheck<'w>,
    /// Returns true if there is memory for the join.
    pub(crate) fits: &'w dyn Fn(JoinBytes) -> bool,
    /// The folder for the temporary file of a join that does not fit into memory and is made in chunks.
    pub(crate) folder: &'w Path,
    /// The least bytes of the index of a chunk. A join with smaller chunks is given up.
    pub(crate) least_chunk: u64,
    /// The largest number of pairs. A join with more is given up.
    pub(crate) limit: usize,
    /// Counts the given number of members as done. Fails if the run is cancelled.
    pub(crate) advance: &'w dyn Fn(u64) -> Result<(), DedupError>,
}

/// Some members of one role that are placed and looked up at a time.
struct Slice {
    /// The items among which the members are.
    items: Range<usize>,
    role: JoinRole,
}

impl Slice {
    /// Divides the members with a role into slices of at most [`MAX_SLICE_MEMBERS`].
    fn of_role(roles: &IdVec<ItemId, JoinRole>, role: JoinRole) -> Vec<Self> {
        let (mut slices, mut start, mut members) = (Vec::new(), 0, 0);
        for (item, &other) in roles.entries() {
            if other != role {
                continue;
            }
            if members == MAX_SLICE_MEMBERS {
                let end = item.index();
                slices.push(Self {
                    items: start..end,
                    role,
                });
                (start, members) = (end, 0);
            }
            members += 1;
        }
        if members > 0 {
            let items = start..roles.len();
            slices.push(Self { items, role });
        }
        slices
    }

    /// The members, ascending.
    fn members(&self, roles: &IdVec<ItemId, JoinRole>) -> Vec<ItemId> {
        let items = ids(self.items.end).skip(self.items.start);
        items.filter(|&item| roles[item] == self.role).collect()
    }

    /// True for core members, which are placed.
    fn is_core(&self) -> bool {
        self.role == JoinRole::Core
    }
}

impl SetJoin {
    /// Finds the candidate pairs of which at most one member is in a crowd, and passes them to `emit`. The pairs inside
    /// crowds are left to the grouping, which searches them among leaders only. Returns for each item whether it is a member
    /// in a crowd; `None` if the join was given up: then the grouping must find all pairs. Fringe members are compared with
    /// core members and are not indexed.
    ///
    /// A member that is shown to have no candidate is left out, and is in no crowd.
    ///
    /// A member outside crowds reads few postings, because few members have its rarest shingles. A member of a crowd is
    /// compared with members outside crowds only, and each of these has few postings too. So the work is proportional to
    /// the members, however large the crowds are.
    ///
    /// In chunks, the core members of a chunk are placed, and all later members are looked up among them. So each pair is
    /// found once, in the chunk of its earlier member. The shingles of a member are made in the first chunk; the later ones
    /// read its prefix from a file.
    ///
    /// Pairs are counted while they are found, so the pairs exceed the limit by few.
    pub(in crate::candidates) fn pairs(
        mut self,
        sets: &SetCache<'_>,
        roles: &IdVec<ItemId, JoinRole>,
        watch: JoinWatch<'_>,
        emit: &mut dyn FnMut(Edge) -> Result<(), DedupError>,
    ) -> Result<Option<IdVec<ItemId, bool>>, DedupError> {
        // A list of all members would take as much memory as a tenth of the index.
        let slices: Vec<Slice> = [JoinRole::Core, JoinRole::Fringe]
            .into_iter()
            .flat_map(|role| Slice::of_role(roles, role))
            .collect();
        let mut in_crowd = IdVec::filled(false, roles.len());
        let (mut found, mut chunk) = (0, 0);
        // The slices after the first chunk, and where they begin.
        let mut kept: Option<(usize, PrefixFile)> = None;
        while chunk < slices.len() {
            // The first slice after the chunk.
            let mut end = None;
            let mut writer: Option<PrefixWriter> = None;
            for (at, slice) in slices.iter().enumerate().skip(chunk) {
                let is_placed = slice.is_core() && end.is_none();
                let mut members = slice.members(roles);
                let done = members.len() as u64;
                if let Some((first, file)) = &kept {
                    file.begin_block(at - first, &mut self)?;
                } else {
                    self.begin_block_of_texts(sets, &members, slice.is_core())?;
                    if let Some(writer) = &mut writer {
                        writer.push(&self)?;
                    }
                }
                members.retain(|&item| self.is_in_block(item));
                let pairs = self.block_pairs(sets, &members, is_placed, &mut in_crowd, watch.limit - found);
                found += pairs.len();
                pairs.into_iter().try_for_each(&mut *emit)?;
                if chunk == 0 {
                    (watch.advance)(done)?;
                } else {
                    (watch.advance)(0)?;
                }
                let fits = (watch.fits)(self.bytes());
                if found > watch.limit {
                    return Ok(None);
                }
                if is_placed && !fits {
                    if self.bytes().indexes < watch.least_chunk {
                        return Ok(None);
                    }
                    end = Some(at + 1);
                    if kept.is_none() && at + 1 < slices.len() {
                        writer = Some(PrefixWriter::create(watch.folder)?);
                    }
                }
            }
            self.clear();
            chunk = end.unwrap_or(slices.len());
            if let Some(writer) = writer {
                kept = Some((chunk, writer.finish()?));
            }
            if slices.get(chunk).is_some_and(|slice| !slice.is_core()) {
                // All core members were placed, and the fringe members were looked up among them.
                break;
            }
        }
        Ok(Some(in_crowd))
    }

    /// Looks up the members of a slice, which is the current block, among those placed, and places them first if `is_placed`.
    /// Finds few more than `limit` pairs.
    fn block_pairs(
        &mut self,
        sets: &SetCache<'_>,
        slice: &[ItemId],
        is_placed: bool,
        in_crowd: &mut IdVec<ItemId, bool>,
        limit: usize,
    ) -> Vec<Edge> {
        for &item in slice {
            in_crowd[item] = self.is_in_crowd(item);
            if is_placed {
                self.place(member(sets, item, in_crowd[item]));
            }
        }
        let (shared, in_crowd) = (&*self, &*in_crowd);
        let found = AtomicUsize::new(0);
        let probe = |&item: &ItemId| {
            let mut others = Vec::new();
            if found.load(Ordering::Relaxed) <= limit {
                let member = member(sets, item, in_crowd[item]);
                shared.probe(member, ProbeScope::CurrentBlock, &mut others);
                // The whole block is placed, so each pair inside it is found from both sides.
                others.retain(|&other| other < item);
                shared.probe(member, ProbeScope::EarlierBlocks, &mut others);
                found.fetch_add(others.len(), Ordering::Relaxed);
            }
            others.into_iter().map(move |other| Edge::between(item, other))
        };
        let mut edges = Vec::new();
        edges.par_extend(slice.par_iter().flat_map_iter(probe));
        edges
    }
}

/// Describes an item as a member of the search for pairs. Members in crowds meet only members outside, as fringe members
/// meet only core members.
fn member(sets: &SetCache<'_>, item: ItemId, in_crowd: bool) -> Member {
    Member {
        item,
        measure: sets.measure(item),
        role: if in_crowd {
            JoinRole::Fringe
        } else {
            JoinRole::Core
        },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use twinprint_fingerprint::HashKey;

    use super::*;
    use crate::corpus::item_texts::ItemTexts;
    use crate::corpus::shingle_sets::tests::spooled;

    #[test]
    fn members_without_candidates_are_left_out() {
        let text = |number: usize| {
            let words: Vec<String> = (0..40).map(|word| format!("w{}", number * 40 + word)).collect();
            words.join(" ")
        };
        let mut texts: Vec<String> = (0..300).map(text).collect();
        texts.push(texts[7].replace("w300 ", "other "));
        let dir = tempfile::tempdir().unwrap();
        let (spool, table) = spooled(dir.path(), &texts);
        let cancel = AtomicBool::new(false);
        let items = ItemTexts::Table(&table);
        let sets = SetCache::with_key(HashKey::new(1, 2), &spool, items, 1 << 20, &cancel);
        let items: Vec<ItemId> = ids(texts.len()).collect();
        for fringe in [None, Some(items[9])] {
            let role = |&item: &ItemId| match fringe {
                Some(fringe) if item == fringe => JoinRole::Fringe,
                _ => JoinRole::Core,
            };
            let roles: IdVec<ItemId, JoinRole> = items.iter().map(role).collect();
            let mut join = SetJoin::new(&sets, &roles, 0.8, &|_| Ok(())).unwrap();
            join.begin_block_of_texts(&sets, &items, true).unwrap();
            assert!(join.is_in_block(items[7]) && join.is_in_block(items[300]));
            let members = items.iter().filter(|&&item| join.is_in_block(item)).count();
            // A fringe member might find any core member.
            assert_eq!(members < 50, fringe.is_none(), "{members}");
        }
    }
}
