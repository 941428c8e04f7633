//! The join of rows compared with all pairs.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// Fingerprints around a few centres, so that rows have many neighbours. Some fingerprints have several items.
fn clustered_fingerprints() -> impl Strategy<Value = Vec<u64>> {
    let member = (0u64..4, prop::collection::vec(0u32..64, 0..4));
    prop::collection::vec(member, 1..120).prop_map(|members| {
        let flip = |(centre, bits): (u64, Vec<u32>)| {
            let centre = centre.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            bits.into_iter().fold(centre, |print, bit| print ^ 1 << bit)
        };
        members.into_iter().map(flip).collect()
    })
}

proptest! {
    #[test]
    fn every_pair_is_an_edge_or_left_to_the_set_join(items in clustered_fingerprints(), k in 0u32..7, limits in (0u64..3000, 0u64..3000)) {
        let rows = JoinRows::<u64>::new(ids(items.len()).collect(), |item: ItemId| items[item.index()]);
        let mut found = Candidates { roles: IdVec::filled(JoinRole::None, items.len()), ..Candidates::default() };
        let options = DedupOptions::new().unwrap();
        let limits = EdgeLimits { all: limits.0, in_memory: limits.1.min(limits.0) };
        let pairs = hot::join_rows(&rows, k, limits, &options, &mut found).unwrap();
        let edges = expand(&rows, pairs, &found.roles);
        prop_assert!(edges.len() as u64 <= limits.in_memory, "{} edges", edges.len());
        // The same rows with enough memory.
        let mut ample = Candidates { roles: IdVec::filled(JoinRole::None, items.len()), ..Candidates::default() };
        let pairs = hot::join_rows(&rows, k, EdgeLimits { in_memory: limits.all, ..limits }, &options, &mut ample).unwrap();
        ample.edges = expand(&rows, pairs, &ample.roles);
        prop_assert!(ample.replaced.is_none());
        prop_assert_eq!(&found.hot, &ample.hot);
        prop_assert_eq!(found.row_pairs, ample.row_pairs);
        let edge_set: BTreeSet<_> = edges.iter().copied().collect();
        prop_assert_eq!(edge_set.len(), edges.len(), "an edge occurs twice");
        for a in ids::<ItemId>(items.len()) {
            for b in ids::<ItemId>(a.index()) {
                let within = (items[a.index()] ^ items[b.index()]).count_ones() <= k;
                let is_edge = edge_set.contains(&Edge::between(a, b));
                let (least, most) = (found.roles[a].min(found.roles[b]), found.roles[a].max(found.roles[b]));
                let in_set_join = in_set_join(least, most);
                prop_assert!(!is_edge || within);
                prop_assert!(!within || is_edge || in_set_join, "{a:?} and {b:?} are lost");
                // Every pair at the threshold is searched at one memory limit if it is at another.
                let distance = || (items[a.index()] ^ items[b.index()]).count_ones();
                let searched = is_edge || in_set_join && found.admits(a, b, distance);
                prop_assert_eq!(searched, ample.contains(a, b, distance), "{:?} and {:?}", a, b);
            }
        }
    }
}

#[test]
fn rows_with_equally_many_neighbours_are_all_joined_or_all_left_to_the_set_join() {
    // All rows are within the radius of one another, so all have the same number of neighbours.
    let items: Vec<u64> = (0..64).map(|bit| 1 << bit).collect();
    let rows = JoinRows::<u64>::new(ids(64).collect(), |item: ItemId| items[item.index()]);
    let mut found = Candidates {
        roles: IdVec::filled(JoinRole::None, 64),
        ..Candidates::default()
    };
    let options = DedupOptions::new().unwrap();
    let limits = |limit| EdgeLimits {
        all: limit,
        in_memory: limit,
    };
    let pairs = hot::join_rows(&rows, 2, limits(2000), &options, &mut found).unwrap();
    assert!(
        pairs.is_empty() && found.hot.len() == 20,
        "the report lists 20 rows"
    );
    assert!(found.hot.iter().all(|row| row.neighbors == 63));
    assert!(found.roles.iter().all(|&role| role == JoinRole::Core));
    let pairs = hot::join_rows(&rows, 2, limits(2016), &options, &mut found).unwrap();
    assert_eq!(pairs.len(), 2016);
}

#[test]
fn many_pairs_are_expanded_on_all_threads() {
    // Fingerprints of two bits each: all are within four bits of one another. One of them is hot, because it has many items.
    let of_two_bits = (0..64u64).flat_map(|a| (0..a).map(move |b| 1 << a | 1 << b));
    let mut items: Vec<u64> = of_two_bits.take(300).collect();
    // Several items have the same fingerprint.
    items.extend_from_within(1..21);
    items.extend_from_within(1..21);
    let cold = items.len();
    let hot = items[0];
    items.extend([hot; HOT_ROW_MIN_CLASSES]);
    let rows = JoinRows::<u64>::new(ids(items.len()).collect(), |item: ItemId| items[item.index()]);
    let mut found = Candidates {
        roles: IdVec::filled(JoinRole::None, items.len()),
        ..Candidates::default()
    };
    let options = DedupOptions::new().unwrap();
    let limits = EdgeLimits {
        all: 1 << 20,
        in_memory: 1 << 20,
    };
    let pairs = hot::join_rows(&rows, 4, limits, &options, &mut found).unwrap();
    assert!(pairs.len() > 4 * PAIRS_PER_TASK);
    let expected: Vec<Edge> = ids::<ItemId>(cold)
        .flat_map(|item| ids(item.index()).map(move |earlier| Edge { item, earlier }))
        .filter(|edge| edge.earlier.index() > 0)
        .collect();
    assert_eq!(expand(&rows, pairs, &found.roles), expected);
    assert_eq!((found.hot.len(), found.row_pairs), (1, 300 * 299 / 2));
}
