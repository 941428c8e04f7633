//! The set join before the grouping: candidate pairs of which at most one member is in a crowd.

use std::iter;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use twinprint_cluster::JoinRole;

use super::{MAX_SLICE_MEMBERS, Member, ProbeScope, SetJoin, members};
use crate::candidates::edge::Edge;
use crate::corpus::shingle_sets::SetCache;
use crate::error::DedupError;
use crate::ids::{IdVec, ItemId};

/// The run that a set join before the grouping is part of.
#[derive(Clone, Copy)]
pub(crate) struct JoinWatch<'w> {
    /// Returns true if there is memory for the given number of bytes of the join.
    pub(crate) fits: &'w dyn Fn(u64) -> bool,
    /// Counts the given number of members as done. Fails if the run is cancelled.
    pub(crate) advance: &'w dyn Fn(u64) -> Result<(), DedupError>,
}

/// The result of [`SetJoin::pairs`].
pub(in crate::candidates) struct MemberPairs {
    /// The candidate pairs of members of which at most one is in a crowd.
    pub(in crate::candidates) edges: Vec<Edge>,
    /// For each item, true if it is a member in a crowd.
    pub(in crate::candidates) in_crowd: IdVec<ItemId, bool>,
}

impl SetJoin {
    /// Finds the candidate pairs of which at most one member is in a crowd. The pairs inside crowds are left to the
    /// grouping, which searches them among leaders only. Returns `None` if the pairs are more than `limit`, or if the
    /// join does not fit into memory: then the grouping must find all pairs. Fringe members are compared with core
    /// members and are not indexed.
    ///
    /// A member outside crowds reads few postings, because few members have its rarest shingles. A member of a crowd is
    /// compared with members outside crowds only, and each of these has few postings too. So the work is proportional to
    /// the members, however large the crowds are.
    ///
    /// Pairs are counted while they are found, so the pairs in memory exceed the limit by few.
    pub(in crate::candidates) fn pairs(
        mut self,
        sets: &SetCache<'_>,
        roles: &IdVec<ItemId, JoinRole>,
        limit: usize,
        watch: JoinWatch<'_>,
    ) -> Result<Option<MemberPairs>, DedupError> {
        let core = members(roles.as_slice(), JoinRole::Core);
        let mut fringe = members(roles.as_slice(), JoinRole::Fringe);
        fringe.retain(|&item| roles[item] == JoinRole::Fringe);
        let mut edges = Vec::new();
        let mut in_crowd = IdVec::filled(false, roles.len());
        for (slice, is_placed) in [(&core, true), (&fringe, false)]
            .into_iter()
            .flat_map(|(members, is_placed)| members.chunks(MAX_SLICE_MEMBERS).zip(iter::repeat(is_placed)))
        {
            self.begin_block_of_texts(sets, slice, is_placed)?;
            for &item in slice {
                in_crowd[item] = self.is_in_crowd(item);
                if is_placed {
                    self.place(member(sets, item, in_crowd[item]));
                }
            }
            let shared = &self;
            let found = AtomicUsize::new(edges.len());
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
            edges.par_extend(slice.par_iter().flat_map_iter(probe));
            (watch.advance)(slice.len() as u64)?;
            if edges.len() > limit || !(watch.fits)(self.bytes()) {
                return Ok(None);
            }
        }
        Ok(Some(MemberPairs { edges, in_crowd }))
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
