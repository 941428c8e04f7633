//! The preparation of the set join: counts of shingles, and the choice of foreign members.

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use twinprint_cluster::JoinRole;
use twinprint_index::set::{PrefixFilter, TokenOrder};
use twinprint_text::Measure;

use super::{MeasureJoin, MemberIndex, SetJoin, members, slices};
use crate::corpus::shingle_sets::{SetCache, SetKey};
use crate::error::DedupError;
use crate::ids::{IdVec, ItemId};

impl SetJoin {
    /// Counts the native core members that have each shingle. The counts define the order of rarity, in which shingles
    /// that no native core member has come first: such a shingle finds no pair, so a prefix of them costs least. `memory`
    /// bounds the bytes of shingle sets that are loaded at a time.
    pub(crate) fn new(
        sets: &mut SetCache<'_>,
        roles: &IdVec<ItemId, JoinRole>,
        threshold: f64,
        memory: usize,
    ) -> Result<Self, DedupError> {
        let all = members(roles.as_slice(), JoinRole::Fringe);
        let mut joins = Vec::new();
        for measure in [Measure::WordGrams, Measure::CharGrams] {
            let (native, others): (Vec<ItemId>, Vec<ItemId>) =
                all.iter().partition(|&&item| sets.measure(item) == measure);
            let foreign: Vec<ItemId> = others
                .into_iter()
                .filter(|&item| sets.measure(item).with(measure) == measure)
                .collect();
            if native.is_empty() {
                continue;
            }
            let (core, fringe): (Vec<ItemId>, Vec<ItemId>) =
                native.iter().partition(|&&item| roles[item] == JoinRole::Core);
            let tokens = |items: &[ItemId]| -> u64 {
                let bytes = items.iter().map(|&item| sets.cost(item) as u64);
                bytes.sum::<u64>() / size_of::<u64>() as u64
            };
            let order = TokenOrder::new(tokens(&core));
            let of_natives = (!foreign.is_empty()).then(|| TokenOrder::new(tokens(&native)));
            for (items, counters) in [
                (&core, [Some(&order), of_natives.as_ref()]),
                (&fringe, [None, of_natives.as_ref()]),
            ] {
                let counters: Vec<&TokenOrder> = counters.into_iter().flatten().collect();
                if !counters.is_empty() {
                    each_set(sets, items, measure, memory, |_, shingles| {
                        counters.iter().for_each(|counter| counter.count(shingles));
                        None
                    })?;
                }
            }
            let foreign_items = match &of_natives {
                None => FxHashSet::default(),
                Some(natives) => each_set(sets, &foreign, measure, memory, |item, shingles| {
                    shares_enough(shingles, natives, threshold).then_some(item)
                })?,
            };
            #[allow(clippy::print_stderr)]
            {
                eprintln!("join {measure:?} core {} fringe {} foreign {} of {} tokens {}", core.len(), fringe.len(), foreign_items.len(), foreign.len(), 0);
                for &item in core.iter().take(4).chain(fringe.iter().take(4)) {
                    sets.load(std::iter::once(SetKey { item, measure }))?;
                    if let Some(set) = sets.get(SetKey { item, measure }) {
                        let mut f: Vec<u32> = set.shingles().iter().map(|&t| order.frequency(t)).collect();
                        f.sort_unstable();
                        eprintln!("{} {:?}", f.len(), &f[..20.min(f.len())]);
                    }
                }
            }
            joins.push(MeasureJoin {
                measure,
                native: MemberIndex::new(threshold),
                foreign: MemberIndex::new(threshold),
                foreign_items,
                order,
                block: FxHashMap::default(),
            });
        }
        Ok(Self { joins })
    }
}

/// True if native members have enough of the shingles of a text for a Jaccard of `threshold` with one of them: a pair at
/// the threshold shares at least that share of the shingles of each text.
fn shares_enough(shingles: &[u64], natives: &TokenOrder, threshold: f64) -> bool {
    let shared = shingles.iter().filter(|&&shingle| natives.frequency(shingle) > 0);
    shared.count() >= PrefixFilter::new(threshold).least_overlap(shingles.len())
}

/// Calls `f` with every item and its shingles, in parallel, and returns the items that `f` returns.
fn each_set(
    sets: &mut SetCache<'_>,
    items: &[ItemId],
    measure: Measure,
    memory: usize,
    f: impl Fn(ItemId, &[u64]) -> Option<ItemId> + Sync,
) -> Result<FxHashSet<ItemId>, DedupError> {
    let mut returned = FxHashSet::default();
    for slice in slices(items, sets, memory) {
        sets.begin_block();
        sets.load(slice.iter().map(|&item| SetKey { item, measure }))?;
        let loaded = &*sets;
        let found: Vec<ItemId> = slice
            .par_iter()
            .filter_map(|&item| f(item, loaded.get(SetKey { item, measure })?.shingles()))
            .collect();
        returned.extend(found);
    }
    Ok(returned)
}
