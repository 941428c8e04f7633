//! The filters of the set join leave out no text that may match.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// A shingle that differs from others in all bits, as hashes do.
fn spread(token: u64) -> u64 {
    (token + 1).wrapping_mul(0xD6E8_FEB8_6659_FD93)
}

/// The shingle set of a text.
fn set_of(grams: &[u64]) -> Vec<u64> {
    grams
        .iter()
        .copied()
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect()
}

proptest! {
    #[test]
    fn a_text_that_may_match_is_not_left_out_for_its_repeats(
        core in prop::collection::vec(0u64..90, 1..60),
        grams in prop::collection::vec(0u64..90, 1..60),
        repeats in 1usize..5,
        threshold in 0.3f64..1.0,
    ) {
        let shingles: Vec<u64> = core.into_iter().map(spread).collect();
        let core = CoreShingles {
            shingles: TokenPresence::new(60),
            filter: PrefixFilter::new(threshold),
        };
        core.shingles.add(&shingles);
        let grams: Vec<u64> = grams.into_iter().map(spread).collect();
        let set = set_of(&grams);
        if core.may_match(&set) {
            prop_assert!(core.may_match_with_repeats(&grams.repeat(repeats)));
        }
    }

    #[test]
    fn a_member_that_may_not_match_shares_no_shingle_of_its_prefix(
        texts in prop::collection::vec(prop::collection::vec(0u64..60, 1..20), 2..12),
        threshold in 0.3f64..1.0,
    ) {
        let texts: Vec<Vec<u64>> = texts.into_iter().map(|text| text.into_iter().map(spread).collect()).collect();
        let sets: Vec<Vec<u64>> = texts.iter().map(|text| set_of(text)).collect();
        let join = MeasureJoin {
            measure: Measure::WordGrams,
            filter: PrefixFilter::new(threshold),
            native: MemberIndex::new(threshold),
            foreign: MemberIndex::new(threshold),
            foreign_items: FxHashSet::default(),
            order: TokenOrder::new(200),
            core_shingles: None,
            block: FxHashMap::default(),
        };
        for set in &sets {
            join.order.count(set);
        }
        let prefixes: Vec<Vec<u64>> = sets.iter().map(|set| join.prefix(set).prefix).collect();
        for (at, text) in texts.iter().enumerate() {
            if join.may_match_with_repeats(text) {
                continue;
            }
            for (other, prefix) in prefixes.iter().enumerate().filter(|&(other, _)| other != at) {
                let shared = prefix.iter().find(|&shingle| prefixes[at].contains(shingle));
                prop_assert_eq!(shared, None, "{} and {}", at, other);
            }
        }
    }
}
