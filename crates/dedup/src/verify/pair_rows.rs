//! The estimated number of rows of `pairs.jsonl` in crowds, before any pair is verified.
//!
//! A crowd of m similar texts has m²/2 pairs. Verifying them can take hours before the limit on rows is reached. So
//! where the set join is left to the grouping, because its pairs are too many, the pairs among a sample of its members
//! are counted first.

use rayon::prelude::*;
use twinprint_cluster::JoinRole;

use crate::candidates::Candidates;
use crate::corpus::shingle_sets::{SetCache, SetKey};
use crate::error::DedupError;
use crate::ids::ItemId;
use crate::options::MAX_PAIR_ROWS;

/// The largest number of members that are compared with one another.
const MAX_SAMPLE: usize = 2048;
/// The smallest ratio of the estimate to the limit that ends a run. An estimate of so many rows rarely errs by more,
/// because hundreds of the sampled pairs are duplicates.
const MARGIN: f64 = 1.25;

/// Checks that the members of the set join do not have far too many pairs of duplicates. `rows_of` returns the number of
/// documents that each item has in `pairs.jsonl`. `memory` bounds the bytes of the sampled shingle sets.
///
/// # Errors
/// [`DedupError::PairsOfCrowds`] with the estimated number of rows.
pub(crate) fn check(
    candidates: &Candidates,
    sets: &mut SetCache<'_>,
    threshold: f64,
    memory: usize,
    rows_of: impl Fn(ItemId) -> u64 + Sync,
) -> Result<(), DedupError> {
    let members: Vec<ItemId> = candidates
        .roles
        .entries()
        .filter(|&(_, &role)| role != JoinRole::None)
        .map(|(item, _)| item)
        .collect();
    let documents: f64 = members.iter().map(|&item| rows_of(item) as f64).sum();
    if documents * documents / 2.0 <= MAX_PAIR_ROWS as f64 {
        return Ok(());
    }
    let step = members.len().div_ceil(MAX_SAMPLE).max(1);
    let mut bytes = 0;
    let sample: Vec<ItemId> = members
        .iter()
        .copied()
        .step_by(step)
        .take_while(|&item| {
            bytes += sets.cost(item);
            bytes <= memory
        })
        .collect();
    let key = |&item: &ItemId| SetKey {
        item,
        measure: sets.measure(item),
    };
    let keys: Vec<SetKey> = sample.iter().map(key).collect();
    sets.begin_block();
    sets.load(keys.iter().copied())?;
    let loaded = &*sets;
    // Pairs of different measures are not counted, so there may be more rows.
    let rows: u64 = (0..keys.len())
        .into_par_iter()
        .map(|i| {
            let is_duplicate = |other: &&SetKey| {
                let pair = (loaded.get(keys[i]), loaded.get(**other));
                other.measure == keys[i].measure
                    && matches!(pair, (Some(a), Some(b)) if a.overlap_at_least(b, threshold).is_some())
            };
            let duplicates = keys[..i].iter().filter(is_duplicate);
            duplicates
                .map(|other| rows_of(keys[i].item) * rows_of(other.item))
                .sum::<u64>()
        })
        .sum();
    let scale = members.len() as f64 / keys.len().max(1) as f64;
    let estimate = rows as f64 * scale * scale;
    if estimate > MARGIN * MAX_PAIR_ROWS as f64 {
        return Err(DedupError::PairsOfCrowds {
            rows: estimate as u64,
            limit: MAX_PAIR_ROWS,
            texts: members.len() as u64,
        });
    }
    Ok(())
}
