//! Who may be a duplicate of whom: the join of the fingerprints, and the classes that must not rely on it.
//!
//! Items are classes, numbered such that what is to be kept comes before what duplicates it. Every pair within the radius is either
//! an **edge** here or a pair for the exact set join, which finds all pairs at the threshold by their shingles, of which one member at least
//! is a **core** member:
//! * a text of few features, whose fingerprint hangs on tiny sums; or
//! * a class crowded on one fingerprint, or with very many fingerprints around its own (a **hot row**): there the fingerprint says
//!   nothing, and edges would grow with the square of the crowd.
//!
//! **Fringe** members may be duplicates of core members, and look for these alone: texts little longer than a short one, neighbours of
//! a hot row. Their fingerprints are sound, so among one another they keep their edges.

mod edge;
mod hot;
pub mod radius;
pub(crate) mod set_join;
#[cfg(test)]
mod tests;

pub(crate) use edge::Edge;
use rayon::prelude::*;
use twinprint_cluster::JoinRole;
use twinprint_fingerprint::Width;
use twinprint_index::join::Pair;
use twinprint_index::planner::Alternative;
use twinprint_text::Measure;

use crate::candidates::radius::Radius;
use crate::candidates::set_join::SetJoin;
use crate::corpus::Classes;
use crate::corpus::shingle_sets::Sets;
use crate::error::DedupError;
use crate::memory::EDGE_BYTES;
use crate::options::DedupOptions;

/// Classes on one fingerprint from which on it is hot.
pub(crate) const HOT_ROW_MIN_CLASSES: usize = 64;
/// Classes on other fingerprints within the radius of one from which on it is hot.
pub(crate) const HOT_ROW_MIN_NEIGHBORS: u32 = 1000;
/// Edges held at most, besides eight a fingerprint.
const EDGES: u64 = 16_000_000;
/// Bytes of canonical text above which a text of few features also takes part in the join of the fingerprints: it repeats
/// itself, and the bound that makes the set join complete (see [`Border`]) holds for short texts only.
const MAX_SHORT_TEXT_BYTES: usize = 600;
/// Pairs of the set join that are found beforehand at most, besides eight an item.
const MAX_MEMBER_PAIRS: usize = 4_000_000;

/// A crowded fingerprint, for the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HotRow {
    pub(crate) fingerprint: u128,
    /// Different texts on it.
    pub(crate) classes: u64,
    /// Different texts on other fingerprints within the radius.
    pub(crate) neighbors: u64,
    /// The first item on it.
    pub(crate) item: u32,
}

/// The candidates of a run.
#[derive(Default)]
pub(crate) struct Candidates {
    /// Sorted by item, then earlier.
    pub(crate) edges: Vec<Edge>,
    /// Which items take part in the set join, and how.
    pub(crate) member: Vec<JoinRole>,
    /// Largest first.
    pub(crate) hot: Vec<HotRow>,
    /// Rows: distinct fingerprints joined.
    pub(crate) rows: u64,
    /// Pairs of rows within the radius.
    pub(crate) row_pairs: u64,
    /// The plan of the join.
    pub(crate) plan: String,
    /// The plans weighed, the chosen one first.
    pub(crate) plans: Vec<Alternative>,
    /// Items whose text is short.
    pub(crate) short: u64,
    /// Edges that the set join gave.
    pub(crate) by_shingles: u64,
}

impl Candidates {
    /// Forgets what has to do with these items: they are decided without it.
    pub(crate) fn leave_out(&mut self, item: impl Fn(u32) -> bool + Sync) {
        self.edges.retain(|edge| !item(edge.item) && !item(edge.earlier));
        for (i, member) in (0u32..).zip(&mut self.member) {
            if item(i) {
                *member = JoinRole::None;
            }
        }
    }

    /// Finds the pairs of the set join beforehand, so that members become items like others. Members stay as they are when
    /// their pairs are too many to hold; then they are found as the grouping goes on, among leaders only. `memory` bounds the sets loaded at a
    /// time; `fit` tells whether there is room for so many bytes of the join.
    pub(crate) fn join_members(
        &mut self,
        sets: &mut Sets<'_>,
        options: &DedupOptions,
        memory: usize,
        fit: impl Fn(u64) -> bool,
    ) -> Result<(), DedupError> {
        if self.member.iter().all(|&open| open == JoinRole::None) {
            return Ok(());
        }
        let join = SetJoin::new(sets, &self.member, options.threshold, memory)?;
        let left = allowed_edges(options).saturating_sub(self.edges.len() as u64);
        let limit =
            (MAX_MEMBER_PAIRS + 8 * self.member.len()).min(usize::try_from(left).unwrap_or(usize::MAX));
        if let Some(pairs) = join.pairs(sets, &self.member, limit, memory, fit)? {
            self.by_shingles = pairs.len() as u64;
            self.edges.extend(pairs);
            edge::sort(&mut self.edges);
            self.member.fill(JoinRole::None);
        }
        Ok(())
    }

    /// Numbers the items anew: item i is what was item `order[i]`, after all its earlier neighbours.
    pub(crate) fn renumber(&mut self, order: &[u32]) {
        let mut place = vec![0; order.len()];
        for (i, &item) in (0u32..).zip(order) {
            place[item as usize] = i;
        }
        self.edges.par_iter_mut().for_each(|edge| {
            *edge = Edge {
                item: place[edge.item as usize],
                earlier: place[edge.earlier as usize],
            };
        });
        edge::sort(&mut self.edges);
        self.member = order.iter().map(|&item| self.member[item as usize]).collect();
        for row in &mut self.hot {
            row.item = place[row.item as usize];
        }
    }
}

/// Features below which a class takes part in the set join.
///
/// Let A have fewer than F features and at most S shingles, and J(A, B) ≥ t. Then |A ∪ B| ≤ S/t, so B has at most (1 − t)·S/t
/// shingles that A lacks, and since each feature of B that A lacks stands in such a shingle, fewer than F + (1 − t)·S/t features.
struct Border {
    /// For B measured by words.
    words: u32,
    /// For B measured by characters.
    chars: u32,
}

impl Border {
    /// S is taken from the short texts that are there, by the measure that the pair would have.
    fn new(classes: &Classes, options: &DedupOptions) -> Self {
        let short = (0..classes.len() as usize).filter(|&class| {
            classes.features[class] < options.min_features
                && classes.text[class].len() <= MAX_SHORT_TEXT_BYTES
        });
        let (mut by_words, mut by_chars, mut words_by_chars) = (0, 0, 0);
        for class in short {
            let shingles = classes.shingles[class];
            match classes.measure[class] {
                Measure::WordGrams => {
                    by_words = by_words.max(shingles);
                    words_by_chars = words_by_chars.max(classes.text[class].len() as u32);
                }
                Measure::CharGrams => by_chars = by_chars.max(shingles),
            }
        }
        let features = |shingles: u32| {
            let extra = f64::from(shingles) * (1.0 - options.threshold) / options.threshold;
            options.min_features + extra.ceil() as u32
        };
        Self {
            words: features(by_words.max(by_chars)),
            chars: features(by_chars.max(words_by_chars)),
        }
    }

    fn includes(&self, measure: Measure, features: u32) -> bool {
        let border = match measure {
            Measure::WordGrams => self.words,
            Measure::CharGrams => self.chars,
        };
        features < border
    }
}

/// Distinct fingerprints, each with its items.
struct Rows<W> {
    fingerprint: Vec<W>,
    /// Items sorted by fingerprint, then item.
    items: Vec<u32>,
    /// Where each row's items begin, and the end.
    starts: Vec<u32>,
}

impl<W: Width> Rows<W> {
    fn new(items: Vec<u32>, fingerprint: impl Fn(u32) -> W + Sync) -> Self {
        let mut items = items;
        items.par_sort_unstable_by_key(|&item| (fingerprint(item), item));
        let mut rows = Self {
            fingerprint: Vec::new(),
            items: Vec::new(),
            starts: Vec::new(),
        };
        for (i, &item) in items.iter().enumerate() {
            let own = fingerprint(item);
            if rows.fingerprint.last() != Some(&own) {
                rows.fingerprint.push(own);
                rows.starts.push(i as u32);
            }
        }
        rows.starts.push(items.len() as u32);
        rows.items = items;
        rows
    }

    fn items(&self, row: u32) -> &[u32] {
        &self.items[self.starts[row as usize] as usize..self.starts[row as usize + 1] as usize]
    }
}

/// Joins the fingerprints of all items; `order[item]` is the class.
pub(crate) fn find(
    classes: &Classes,
    order: &[u32],
    radius: &Radius,
    options: &DedupOptions,
) -> Result<Candidates, DedupError> {
    if radius.bits == 64 {
        find_at::<u64>(classes, order, radius.k, options)
    } else {
        find_at::<u128>(classes, order, radius.k, options)
    }
}

/// True if a class takes part in the join of the fingerprints. Without verification every text with features does; with it, short texts are
/// left to the set join.
pub(crate) fn is_joined(classes: &Classes, class: u32, options: &DedupOptions) -> bool {
    let features = classes.features[class as usize];
    let repeats = classes.text[class as usize].len() > MAX_SHORT_TEXT_BYTES;
    features >= options.min_features || features > 0 && (repeats || !options.verify)
}

/// Edges that the memory allows, where there is a limit: a quarter of it.
fn allowed_edges(options: &DedupOptions) -> u64 {
    options.memory.map_or(u64::MAX, |memory| memory / 4 / EDGE_BYTES)
}

/// Edges held at most for so many fingerprints.
pub(crate) fn most_edges(fingerprints: u64, options: &DedupOptions) -> u64 {
    allowed_edges(options).min(EDGES + 8 * fingerprints)
}

fn find_at<W: Width>(
    classes: &Classes,
    order: &[u32],
    k: u32,
    options: &DedupOptions,
) -> Result<Candidates, DedupError> {
    let mut found = Candidates {
        member: vec![JoinRole::None; order.len()],
        ..Candidates::default()
    };
    let border = Border::new(classes, options);
    for (item, &class) in order.iter().enumerate() {
        let features = classes.features[class as usize];
        found.short += u64::from((1..options.min_features).contains(&features));
        if options.verify && features > 0 {
            found.member[item] = match features < options.min_features {
                true => JoinRole::Core,
                false if border.includes(classes.measure[class as usize], features) => JoinRole::Fringe,
                false => JoinRole::None,
            };
        }
    }
    let joined = (0..order.len() as u32)
        .filter(|&i| is_joined(classes, order[i as usize], options))
        .collect();
    let rows = Rows::new(joined, |item| {
        W::truncate(classes.fingerprint[order[item as usize] as usize])
    });
    found.rows = rows.fingerprint.len() as u64;
    let limit = most_edges(rows.fingerprint.len() as u64, options);
    let pairs = hot::join_rows(&rows, k, limit, options, &mut found)?;
    found.edges = expand(&rows, pairs, &found.member);
    Ok(found)
}

/// Edges of the items of each pair of rows and of the items within a row; pairs with a core member are left to the set join.
fn expand<W: Width>(rows: &Rows<W>, pairs: Vec<Pair>, member: &[JoinRole]) -> Vec<Edge> {
    let mut edges = Vec::with_capacity(pairs.len());
    let mut push = |a: u32, b: u32| {
        let (least, most) = {
            let (a, b) = (member[a as usize], member[b as usize]);
            (a.min(b), a.max(b))
        };
        if least == JoinRole::None || most != JoinRole::Core {
            edges.push(Edge {
                item: a.max(b),
                earlier: a.min(b),
            });
        }
    };
    for pair in pairs {
        for &a in rows.items(pair.a) {
            for &b in rows.items(pair.b) {
                push(a, b);
            }
        }
    }
    for row in 0..rows.fingerprint.len() as u32 {
        let items = rows.items(row);
        // A hot row's items are all core members: nothing to push, and nothing to enumerate.
        if items.len() <= HOT_ROW_MIN_CLASSES {
            for (i, &b) in items.iter().enumerate() {
                for &a in &items[..i] {
                    push(a, b);
                }
            }
        }
    }
    edge::sort(&mut edges);
    edges
}
