//! The preparation of the set join: counts of shingles, and the choice of foreign members.

use rustc_hash::{FxHashMap, FxHashSet};
use twinprint_cluster::JoinRole;
use twinprint_index::set::{PrefixFilter, TokenOrder, TokenPresence};
use twinprint_text::Measure;

use super::{CoreShingles, MAX_SLICE_MEMBERS, MeasureJoin, MemberIndex, MemoryCheck, SetJoin, members};
use crate::corpus::shingle_sets::{SetCache, SetKey};
use crate::error::DedupError;
use crate::ids::{IdVec, ItemId};
use crate::options::least_near_miss;

/// One of this number of texts of the other measure is counted for the choice of foreign members.
const COUNTED_OTHERS: usize = 16;

/// The largest number of shingles in the prefixes of native members for which foreign members are chosen. If there are
/// more, all texts that may be compared with native members are foreign members.
const MAX_PREFIX_SHINGLES: usize = 1 << 24;

impl SetJoin {
    /// Counts the native core members that have each shingle. The counts define the order of rarity, in which shingles
    /// that no native core member has come first: such a shingle finds no pair, so a prefix of them costs least.
    ///
    /// Before counters are made, `check_memory` is called with the bytes of all counters that exist then.
    pub(crate) fn new(
        sets: &SetCache<'_>,
        roles: &IdVec<ItemId, JoinRole>,
        threshold: f64,
        check_memory: &MemoryCheck<'_>,
    ) -> Result<Self, DedupError> {
        let all = members(roles.as_slice(), JoinRole::Fringe..=JoinRole::Core);
        let mut joins = Vec::new();
        let mut counters = 0;
        for measure in [Measure::WordGrams, Measure::CharGrams] {
            let (native, others): (Vec<ItemId>, Vec<ItemId>) =
                all.iter().partition(|&&item| sets.measure(item) == measure);
            if native.is_empty() {
                continue;
            }
            let others: Vec<ItemId> = others
                .into_iter()
                .filter(|&item| sets.measure(item).with(measure) == measure)
                .collect();
            let is_core = |&item: &ItemId| roles[item] == JoinRole::Core;
            let core: Vec<ItemId> = native.iter().copied().filter(is_core).collect();
            counters += TokenOrder::bytes_for(tokens(&core, sets)) as u64;
            check_memory(counters)?;
            let check_more = |bytes| check_memory(counters + bytes);
            let foreign_items = foreign(sets, [&native, &others], measure, threshold, &check_more)?;
            let foreign_core: Vec<ItemId> = foreign_items.iter().copied().filter(is_core).collect();
            let has_fringe = core.len() + foreign_core.len() < native.len() + foreign_items.len();
            let core_tokens = tokens(&core, sets) + tokens(&foreign_core, sets);
            if has_fringe {
                counters += TokenPresence::bytes_for(core_tokens) as u64;
                check_memory(counters)?;
            }
            let order = TokenOrder::new(tokens(&core, sets));
            let core_shingles = has_fringe.then(|| CoreShingles {
                shingles: TokenPresence::new(core_tokens),
                filter: PrefixFilter::new(least_near_miss(threshold)),
            });
            sets.each(keys(&core, measure), |_, shingles| {
                order.count(shingles);
                if let Some(core) = &core_shingles {
                    core.shingles.add(shingles);
                }
                None::<()>
            })?;
            if let Some(core) = &core_shingles {
                sets.each(keys(&foreign_core, measure), |_, shingles| {
                    core.shingles.add(shingles);
                    None::<()>
                })?;
            }
            joins.push(MeasureJoin {
                measure,
                filter: PrefixFilter::new(threshold),
                native: MemberIndex::new(threshold),
                foreign: MemberIndex::new(threshold),
                foreign_items,
                order,
                core_shingles,
                block: FxHashMap::default(),
            });
        }
        Ok(Self { joins, threshold })
    }
}

fn keys(items: &[ItemId], measure: Measure) -> Vec<SetKey> {
    let key = |&item: &ItemId| SetKey { item, measure };
    items.iter().map(key).collect()
}

/// The number of shingles of items, estimated from their lengths.
fn tokens(items: &[ItemId], sets: &SetCache<'_>) -> u64 {
    let bytes: u64 = items.iter().map(|&item| sets.cost(item) as u64).sum();
    bytes / size_of::<u64>() as u64
}

/// The texts of the other measure that may reach the threshold with a native member.
///
/// A set at the threshold with a native member has a shingle of the member's prefix, by whichever order of shingles the
/// prefix is taken. By an order of rarity among the others few of them have such a shingle. If the others have no more
/// shingles than the native members, all of them are chosen.
fn foreign(
    sets: &SetCache<'_>,
    [native, others]: [&[ItemId]; 2],
    measure: Measure,
    threshold: f64,
    check_memory: &MemoryCheck<'_>,
) -> Result<FxHashSet<ItemId>, DedupError> {
    // The choice reads the native members twice.
    if tokens(others, sets) <= tokens(native, sets) {
        return Ok(others.iter().copied().collect());
    }
    let counted: Vec<ItemId> = others.iter().copied().step_by(COUNTED_OTHERS).collect();
    let counted_tokens = tokens(native, sets) + tokens(&counted, sets);
    check_memory(TokenOrder::bytes_for(counted_tokens) as u64)?;
    let order = TokenOrder::new(counted_tokens);
    for items in [native, &counted] {
        sets.each(keys(items, measure), |_, shingles| {
            order.count(shingles);
            None::<()>
        })?;
    }
    let filter = PrefixFilter::new(threshold);
    let mut finding: FxHashSet<u64> = FxHashSet::default();
    for slice in native.chunks(MAX_SLICE_MEMBERS) {
        let prefixes = sets.each(keys(slice, measure), |_, shingles| {
            let mut prefix = Vec::new();
            order.sort_prefix(shingles, filter.prefix_len(shingles.len()), &mut prefix);
            Some(prefix)
        })?;
        finding.extend(prefixes.into_iter().flatten());
        if finding.len() > MAX_PREFIX_SHINGLES {
            return Ok(others.iter().copied().collect());
        }
    }
    // Few texts are found, so it does not matter that their sets are sorted in vain.
    let finds = |grams: &[u64]| grams.iter().any(|gram| finding.contains(gram));
    let found = sets.each_of(keys(others, measure), finds, |key, _| Some(key.item))?;
    Ok(found.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::AtomicBool;

    use twinprint_fingerprint::HashKey;

    use super::*;
    use crate::corpus::item_texts::ItemTexts;
    use crate::corpus::shingle_sets::tests::spooled_as;

    #[test]
    fn the_memory_of_counters_is_checked_before_they_are_made() {
        let dir = tempfile::tempdir().unwrap();
        let measures = [Measure::WordGrams, Measure::CharGrams, Measure::WordGrams];
        let texts = measures.map(|_| "one two three four five six seven".repeat(40));
        let (spool, table) = spooled_as(dir.path(), &texts, &measures);
        let cancel = AtomicBool::new(false);
        let items = ItemTexts::Table(&table);
        let sets = SetCache::with_key(HashKey::new(1, 2), &spool, items, 1 << 20, &cancel);
        let roles: IdVec<ItemId, JoinRole> = [JoinRole::Core, JoinRole::Core, JoinRole::Fringe]
            .into_iter()
            .collect();

        let checked = Mutex::new(Vec::new());
        let accept = |bytes| {
            checked.lock().unwrap().push(bytes);
            Ok(())
        };
        let join = SetJoin::new(&sets, &roles, 0.8, &accept).unwrap();
        let checked = checked.into_inner().unwrap();
        assert_eq!(checked.len(), 4, "two kinds of counters for each measure");
        assert!(checked.is_sorted());
        assert_eq!(checked.last(), Some(&join.bytes().counters));

        for &least in &checked {
            let refuse = |needed| {
                if needed >= least {
                    return Err(DedupError::Memory { needed, limit: least });
                }
                Ok(())
            };
            assert!(SetJoin::new(&sets, &roles, 0.8, &refuse).is_err());
        }
    }
}
