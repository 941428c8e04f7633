//! Candidate pairs: the join of the fingerprints, and the classes that need the exact set join.
//!
//! The join numbers classes as items, in an order in which a text that may be kept comes before its duplicates. Every
//! pair within the radius becomes an **edge** or is left to the set join, which finds all pairs at the threshold by
//! their shingles. All pairs are left to the set join where that costs no more, because it misses no pair: in small
//! corpora, and in corpora of short texts ([`is_exact`]). In other corpora a pair is left to the set join if at least
//! one of its members is a **core** member:
//! * a text with few features. Many votes of its fingerprint are close to 0, so that a small change of the text flips
//!   many bits; or
//! * a class of a **hot row**: a fingerprint with very many classes, or with very many other fingerprints within the
//!   radius. Such a fingerprint distinguishes nothing, and the number of its edges would be quadratic.
//!
//! A **fringe** member may be a duplicate of a core member and is compared with core members only: a text a little
//! longer than a short one, or a class of a row within the radius of a hot row. The fingerprints of fringe members are
//! reliable, so pairs of two fringe members are edges.

mod edge;
mod exact;
mod hot;
mod limits;
pub mod radius;
pub(crate) mod set_join;
mod sort;
#[cfg(test)]
mod tests;
mod text_counts;

pub(crate) use edge::Edge;
pub(crate) use exact::{SetJoinCost, SetJoinCosts, is_exact, join_nanoseconds};
pub(crate) use hot::{MAX_REPORTED_ROWS, affordable_degree, is_hot, row_role};
use hot::{PAIRS_PER_TASK, RowPair};
use limits::{EdgeLimits, allowed_edges};
pub(crate) use limits::{edge_limit, max_edges};
use rayon::prelude::*;
pub(crate) use sort::sorted_by_fingerprint;
pub(crate) use text_counts::{FeatureLimits, TextCounts};
use twinprint_cluster::JoinRole;
use twinprint_fingerprint::Width;
use twinprint_index::planner::Alternative;

use crate::candidates::radius::{Radius, RadiusChoice};
use crate::candidates::set_join::SetJoin;
pub(crate) use crate::candidates::set_join::{JoinBytes, JoinWatch};
use crate::corpus::shingle_sets::SetCache;
use crate::corpus::{Classes, ItemClasses};
use crate::error::DedupError;
use crate::ids::{Id, IdVec, ItemId, Lists, RowId, Starts, ids};
use crate::memory::EDGE_BYTES;
use crate::options::DedupOptions;

/// The number of classes above which a row is hot.
pub(crate) const HOT_ROW_MIN_CLASSES: usize = 64;
/// The number of classes on other fingerprints within the radius above which a row is hot. A constant, so that the set
/// of hot rows depends on neither threads nor memory.
pub(crate) const HOT_ROW_MIN_NEIGHBORS: u32 = 1000;
/// The largest number of pairs that the set join finds before the grouping, in addition to eight pairs for each item.
const MAX_MEMBER_PAIRS: usize = 4_000_000;
/// A hot row, as the report lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HotRow {
    pub(crate) fingerprint: u128,
    /// The number of distinct texts with the fingerprint of the row.
    pub(crate) classes: u64,
    /// The number of distinct texts with other fingerprints within the radius.
    pub(crate) neighbors: u64,
    /// The first item of the hot row.
    pub(crate) item: ItemId,
}

/// The result of the join: edges, and the items that are left to the set join.
#[derive(Default)]
pub(crate) struct Candidates {
    /// The edges, sorted by `item`, then by `earlier`.
    pub(crate) edges: Vec<Edge>,
    /// For each item, its role in the set join.
    pub(crate) roles: IdVec<ItemId, JoinRole>,
    /// The limit on pairs of the set join if it replaces edges that do not fit into memory; otherwise `None`.
    replaced: Option<ReplacedEdges>,
    /// The hot rows, the largest first.
    pub(crate) hot: Vec<HotRow>,
    /// The number of rows: distinct fingerprints that were joined.
    pub(crate) rows: u64,
    /// The number of pairs of rows within the radius.
    pub(crate) row_pairs: u64,
    /// The plan by which the fingerprints were joined, as text.
    pub(crate) plan: String,
    /// The plans that the planner compared, the chosen one first.
    pub(crate) plans: Vec<Alternative>,
    /// The number of items whose text is short.
    pub(crate) short: u64,
    /// The number of edges that the set join found.
    pub(crate) by_shingles: u64,
}

/// The set join finds pairs beyond the radius too. If it replaces edges because of the memory limit, these pairs are left
/// out, so that the memory limit has no effect on the result.
struct ReplacedEdges {
    /// The roles that the items would have without the memory limit.
    roles: IdVec<ItemId, JoinRole>,
    k: u32,
}

/// True if the set join finds the pairs of two items with these roles.
pub(crate) fn in_set_join(a: JoinRole, b: JoinRole) -> bool {
    a.min(b) != JoinRole::None && a.max(b) == JoinRole::Core
}

impl Candidates {
    /// Members of the set join with these roles, without edges.
    pub(crate) fn of_members(roles: IdVec<ItemId, JoinRole>) -> Self {
        Self {
            roles,
            ..Self::default()
        }
    }

    /// True if a pair of the set join is a candidate at any memory limit. `distance` returns the distance of its
    /// fingerprints.
    pub(crate) fn admits(&self, a: ItemId, b: ItemId, distance: impl FnOnce() -> u32) -> bool {
        self.replaced.as_ref().is_none_or(|replaced| {
            in_set_join(replaced.roles[a], replaced.roles[b]) || distance() <= replaced.k
        })
    }

    /// Removes the edges of items for which `is_decided` is true, and takes these items out of the set join.
    pub(crate) fn leave_out(&mut self, is_decided: impl Fn(ItemId) -> bool + Sync) {
        self.edges
            .retain(|edge| !is_decided(edge.item) && !is_decided(edge.earlier));
        let replaced = self.replaced.as_mut().map(|replaced| &mut replaced.roles);
        for roles in std::iter::once(&mut self.roles).chain(replaced) {
            for item in roles.ids() {
                if is_decided(item) {
                    roles[item] = JoinRole::None;
                }
            }
        }
    }

    /// The memory of the edges, in bytes.
    pub(crate) fn edge_bytes(&self) -> u64 {
        self.edges.len() as u64 * EDGE_BYTES
    }

    /// The number of items that take part in the set join.
    pub(crate) fn members(&self) -> u64 {
        let members = self.roles.iter().filter(|&&role| role != JoinRole::None);
        members.count() as u64
    }

    /// Runs the set join before the grouping, and turns its pairs into edges, so that members outside crowds need no
    /// special treatment afterwards. The members of crowds keep their roles, and the grouping searches the pairs of two of
    /// them among leaders only. If the pairs are too many, all members keep their roles. `distance` returns the
    /// distance of the fingerprints of two items. The largest number of pairs follows the corpus and the memory limit.
    pub(crate) fn join_members(
        &mut self,
        sets: &SetCache<'_>,
        options: &DedupOptions,
        distance: impl Fn(ItemId, ItemId) -> u32,
        watch: JoinWatch<'_>,
    ) -> Result<(), DedupError> {
        let left = allowed_edges(options).saturating_sub(self.edges.len() as u64);
        let limit = (MAX_MEMBER_PAIRS + 8 * self.roles.len()).min(watch.limit);
        let watch = JoinWatch {
            limit: limit.min(usize::try_from(left).unwrap_or(usize::MAX)),
            ..watch
        };
        let mut edges = Vec::new();
        let mut keep = |edge| {
            edges.push(edge);
            Ok(())
        };
        let join = SetJoin::new(sets, &self.roles, options.threshold, watch.check_counters)?;
        if let Some(in_crowd) = join.pairs(sets, &self.roles, watch, &mut keep)? {
            edges.retain(|&Edge { item, earlier }| self.admits(item, earlier, || distance(item, earlier)));
            self.by_shingles = edges.len() as u64;
            edge::sort(&mut edges, self.roles.len());
            self.edges.extend(edges);
            // This sort merges the two sorted parts.
            self.edges.sort();
            self.leave_crowds(&in_crowd);
        }
        Ok(())
    }

    /// Like [`join_members`](Self::join_members), but passes the pairs to `emit` instead of making edges of them, and
    /// `watch` alone limits them.
    pub(crate) fn emit_member_pairs(
        &mut self,
        sets: &SetCache<'_>,
        threshold: f64,
        watch: JoinWatch<'_>,
        emit: &mut dyn FnMut(Edge) -> Result<(), DedupError>,
    ) -> Result<(), DedupError> {
        let join = SetJoin::new(sets, &self.roles, threshold, watch.check_counters)?;
        if let Some(in_crowd) = join.pairs(sets, &self.roles, watch, emit)? {
            self.leave_crowds(&in_crowd);
        }
        Ok(())
    }

    /// Takes the members outside crowds out of the set join.
    fn leave_crowds(&mut self, in_crowd: &IdVec<ItemId, bool>) {
        for (item, &in_crowd) in in_crowd.entries() {
            if !in_crowd {
                self.roles[item] = JoinRole::None;
            }
        }
    }

    /// True if the search verifies this pair if both texts may be duplicates: it is an edge, or the set join finds it if
    /// it is at the threshold. `distance` returns the distance of its fingerprints.
    pub(crate) fn contains(&self, a: ItemId, b: ItemId, distance: impl FnOnce() -> u32) -> bool {
        in_set_join(self.roles[a], self.roles[b]) && self.admits(a, b, distance)
            || self.edges.binary_search(&Edge::between(a, b)).is_ok()
    }

    /// For each item, true if it has an edge or takes part in the set join.
    pub(crate) fn connected(&self) -> IdVec<ItemId, bool> {
        let mut connected: IdVec<ItemId, bool> =
            self.roles.iter().map(|&role| role != JoinRole::None).collect();
        for edge in &self.edges {
            connected[edge.item] = true;
            connected[edge.earlier] = true;
        }
        connected
    }

    /// Renumbers the items of the edges: the former item `order[i]` becomes item i. In `order`, every item must come
    /// after its earlier neighbours.
    pub(crate) fn renumber(&mut self, order: &IdVec<ItemId, ItemId>) {
        let mut place = IdVec::filled(ItemId::new(0), order.len());
        for (i, &item) in order.entries() {
            place[item] = i;
        }
        self.edges.par_iter_mut().for_each(|edge| {
            *edge = Edge {
                item: place[edge.item],
                earlier: place[edge.earlier],
            };
        });
        edge::sort(&mut self.edges, order.len());
        self.roles = self.roles.permuted(order);
        if let Some(replaced) = &mut self.replaced {
            replaced.roles = replaced.roles.permuted(order);
        }
        for row in &mut self.hot {
            row.item = place[row.item];
        }
    }
}

/// The rows of the join: distinct fingerprints in ascending order, each with its items.
struct JoinRows<W> {
    fingerprints: Vec<W>,
    /// The items of each row, ascending.
    items: Lists<RowId, ItemId, u32>,
}

impl<W: Width> JoinRows<W> {
    fn new(items: Vec<ItemId>, fingerprint: impl Fn(ItemId) -> W + Sync) -> Self {
        let items = sorted_by_fingerprint(items, &fingerprint);
        let mut fingerprints = Vec::new();
        let mut starts = Starts::default();
        for (i, &item) in items.iter().enumerate() {
            let own = fingerprint(item);
            if fingerprints.last() != Some(&own) {
                if i > 0 {
                    starts.push_end(i);
                }
                fingerprints.push(own);
            }
        }
        if !items.is_empty() {
            starts.push_end(items.len());
        }
        Self {
            fingerprints,
            items: Lists::new(starts, items),
        }
    }

    /// The number of rows.
    fn len(&self) -> usize {
        self.fingerprints.len()
    }

    /// The items of a row, ascending.
    fn items(&self, row: RowId) -> &[ItemId] {
        self.items.of(row)
    }
}

/// Joins the fingerprints of all items. `order` has the class of each item.
pub(crate) fn find(
    classes: &Classes,
    order: &ItemClasses,
    radius: &Radius,
    options: &DedupOptions,
) -> Result<Candidates, DedupError> {
    if radius.choice == RadiusChoice::Exact {
        return Ok(leave_all_to_the_set_join(classes, order, options));
    }
    if radius.bits == 64 {
        find_at::<u64>(classes, order, radius.k, options)
    } else {
        find_at::<u128>(classes, order, radius.k, options)
    }
}

/// The candidates of a run in which the set join finds all pairs: no edges, and every text with features is a core
/// member.
fn leave_all_to_the_set_join(classes: &Classes, order: &ItemClasses, options: &DedupOptions) -> Candidates {
    let texts = order.iter().map(|class| classes.counts(class));
    let joined = order
        .iter()
        .filter(|&class| classes.counts(class).is_joined(options));
    let mut fingerprints: Vec<u128> = joined.map(|class| classes.fingerprint[class]).collect();
    fingerprints.sort_unstable();
    fingerprints.dedup();
    Candidates {
        rows: fingerprints.len() as u64,
        short: texts.clone().filter(|text| text.is_short(options)).count() as u64,
        roles: texts.map(TextCounts::role_in_exact_run).collect(),
        ..Candidates::default()
    }
}

fn find_at<W: Width>(
    classes: &Classes,
    order: &ItemClasses,
    k: u32,
    options: &DedupOptions,
) -> Result<Candidates, DedupError> {
    let mut found = Candidates {
        roles: IdVec::filled(JoinRole::None, order.len()),
        ..Candidates::default()
    };
    let limits = FeatureLimits::new(order.iter().map(|class| classes.counts(class)), options);
    for item in order.items() {
        let text = classes.counts(order.of(item));
        found.short += u64::from(text.is_short(options));
        found.roles[item] = text.role(limits, options);
    }
    let joined = order
        .items()
        .filter(|&item| classes.counts(order.of(item)).is_joined(options))
        .collect();
    let rows = JoinRows::new(joined, |item| W::truncate(classes.fingerprint[order.of(item)]));
    found.rows = rows.len() as u64;
    let limits = EdgeLimits::new(rows.len() as u64, options);
    let pairs = hot::join_rows(&rows, k, limits, options, &mut found)?;
    found.edges = expand(&rows, pairs, &found.roles);
    Ok(found)
}

/// The number of edges to which pairs of rows are expanded before they are added to the others.
const EDGES_AT_A_TIME: usize = if cfg!(test) { 1 << 13 } else { 1 << 16 };

/// The minimum number of tasks into which the expansion is divided, if there are as many pairs.
const MIN_TASKS: usize = 16;

/// Expands pairs of rows to edges: between the items of the two rows of each pair, and between the items of each row.
/// Pairs with a core member are left to the set join.
fn expand<W: Width>(rows: &JoinRows<W>, pairs: Vec<RowPair>, roles: &IdVec<ItemId, JoinRole>) -> Vec<Edge> {
    let mut edges = Vec::with_capacity(pairs.len());
    let push = |edges: &mut Vec<Edge>, a: ItemId, b: ItemId| {
        if !in_set_join(roles[a], roles[b]) {
            edges.push(Edge::between(a, b));
        }
    };
    let mut rest = pairs.as_slice();
    while !rest.is_empty() {
        // Rows with many items make many edges of each pair, so the edges are counted and not the pairs.
        let sums = rest.iter().scan(0, |sum, &(a, b)| {
            *sum += rows.items(a).len() * rows.items(b).len();
            Some(*sum)
        });
        let (now, later) = rest.split_at(sums.take_while(|&sum| sum <= EDGES_AT_A_TIME).count().max(1));
        rest = later;
        let task_pairs = now.len().div_ceil(MIN_TASKS).min(PAIRS_PER_TASK);
        let of_tasks = now.par_chunks(task_pairs).map(|pairs| {
            let mut edges = Vec::with_capacity(pairs.len());
            for &(a, b) in pairs {
                for &a in rows.items(a) {
                    for &b in rows.items(b) {
                        push(&mut edges, a, b);
                    }
                }
            }
            edges
        });
        for mut of_task in of_tasks.collect::<Vec<_>>() {
            edges.append(&mut of_task);
        }
    }
    drop(pairs);
    for row in ids(rows.len()) {
        let items = rows.items(row);
        // All items of a hot row are core members, so pairs of them are not edges.
        if items.len() <= HOT_ROW_MIN_CLASSES {
            for (i, &b) in items.iter().enumerate() {
                for &a in &items[..i] {
                    push(&mut edges, a, b);
                }
            }
        }
    }
    edge::sort(&mut edges, roles.len());
    edges
}
