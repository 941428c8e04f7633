//! The set join before the grouping: candidate pairs of which at most one member is in a crowd.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use twinprint_cluster::JoinRole;

use super::{Member, ProbeScope, SetJoin, members, slices};
use crate::candidates::edge::Edge;
use crate::corpus::shingle_sets::{SetCache, SetKey};
use crate::error::DedupError;
use crate::ids::{IdVec, ItemId};

/// The limits of [`SetJoin::pairs`].
#[derive(Clone, Copy)]
pub(in crate::candidates) struct SetJoinLimits {
    /// The largest number of pairs to return.
    pub(in crate::candidates) pairs: usize,
    /// The largest number of bytes of shingle sets that are loaded at a time.
    pub(in crate::candidates) memory: usize,
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
    /// grouping, which searches them among leaders only. Returns `None` if the pairs are more than the limit, or if the join does
    /// not fit into memory: then the grouping must find all pairs. Fringe members are compared with core members and are
    /// not indexed.
    ///
    /// A member outside crowds reads few postings, because few members have its rarest shingles. A member of a crowd is
    /// compared with members outside crowds only, and each of these has few postings too. So the work is proportional to
    /// the members, however large the crowds are.
    ///
    /// Pairs are counted while they are found, so the pairs in memory exceed the limit by few.
    pub(in crate::candidates) fn pairs(
        mut self,
        sets: &mut SetCache<'_>,
        roles: &IdVec<ItemId, JoinRole>,
        limits: SetJoinLimits,
        fits: impl Fn(u64) -> bool,
    ) -> Result<Option<MemberPairs>, DedupError> {
        let core = members(roles.as_slice(), JoinRole::Core);
        let mut fringe = members(roles.as_slice(), JoinRole::Fringe);
        fringe.retain(|&item| roles[item] == JoinRole::Fringe);
        let mut edges = Vec::new();
        let mut in_crowd = IdVec::filled(false, roles.len());
        for slice in
            slices(&core, sets, limits.memory)
                .into_iter()
                .chain(slices(&fringe, sets, limits.memory))
        {
            sets.begin_block();
            let keys: Vec<SetKey> = slice
                .iter()
                .flat_map(|&item| self.keys(sets.measure(item), item))
                .collect();
            sets.load(keys.into_iter())?;
            self.begin_block(sets, slice);
            let (shared, loaded) = (&self, &*sets);
            let found = AtomicUsize::new(edges.len());
            // Members in crowds meet only members outside, as fringe members meet only core members.
            let member = |item: ItemId, in_crowd: bool| Member {
                item,
                measure: loaded.measure(item),
                role: if in_crowd {
                    JoinRole::Fringe
                } else {
                    JoinRole::Core
                },
            };
            let probe = |item: ItemId| {
                let mut others = Vec::new();
                if found.load(Ordering::Relaxed) <= limits.pairs {
                    let member = member(item, shared.is_in_crowd(item));
                    shared.probe(member, ProbeScope::EarlierBlocks, &mut others);
                    found.fetch_add(others.len(), Ordering::Relaxed);
                }
                others.into_iter().map(move |other| Edge::between(item, other))
            };
            edges.par_extend(slice.par_iter().flat_map_iter(|&item| probe(item)));
            for &item in slice {
                in_crowd[item] = self.is_in_crowd(item);
                if roles[item] != JoinRole::Core {
                    continue;
                }
                if edges.len() > limits.pairs {
                    return Ok(None);
                }
                let member = member(item, in_crowd[item]);
                let mut others = Vec::new();
                self.probe(member, ProbeScope::CurrentBlock, &mut others);
                edges.extend(others.into_iter().map(|other| Edge::between(item, other)));
                self.place(member);
            }
            if edges.len() > limits.pairs || !fits(self.bytes()) {
                return Ok(None);
            }
        }
        if std::env::var_os("TP_DEBUG").is_some() {
            #[allow(clippy::print_stderr)]
            { eprintln!("SOME edges {} crowd {} core {} fringe {} bytes {}", edges.len(), in_crowd.iter().filter(|&&x| x).count(), core.len(), fringe.len(), self.bytes()); }
        }
        Ok(Some(MemberPairs { edges, in_crowd }))
    }
}
