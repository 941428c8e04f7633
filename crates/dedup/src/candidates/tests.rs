//! The join of rows against comparing all with all.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// Rows around few centres, so that degrees are high; some fingerprints have several items.
fn clumps() -> impl Strategy<Value = Vec<u64>> {
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
    fn every_pair_is_an_edge_or_left_to_the_set_join(items in clumps(), k in 0u32..7, limit in 0u64..3000) {
        let rows = Rows::<u64>::new((0..items.len() as u32).collect(), |item| items[item as usize]);
        let mut found = Candidates { member: vec![JoinRole::None; items.len()], ..Candidates::default() };
        let options = DedupOptions::new().unwrap();
        let pairs = hot::join_rows(&rows, k, limit, &options, &mut found).unwrap();
        let edges = expand(&rows, pairs, &found.member);
        prop_assert!(edges.len() as u64 <= limit, "{} edges", edges.len());
        let held: BTreeSet<_> = edges.iter().copied().collect();
        prop_assert_eq!(held.len(), edges.len(), "an edge came twice");
        for a in 0..items.len() {
            for b in 0..a {
                let within = (items[a] ^ items[b]).count_ones() <= k;
                let edge = held.contains(&Edge::between(a as u32, b as u32));
                let (least, most) = (found.member[a].min(found.member[b]), found.member[a].max(found.member[b]));
                let left = most == JoinRole::Core && least != JoinRole::None;
                prop_assert!(!edge || within);
                prop_assert!(!within || edge || left, "{a} and {b} are lost");
            }
        }
    }
}

#[test]
fn a_crowd_of_even_degrees_is_not_cut_off() {
    // Everything is within the radius of everything, so that no degree tells rows apart.
    let items: Vec<u64> = (0..64).map(|bit| 1 << bit).collect();
    let rows = Rows::<u64>::new((0..64).collect(), |item| items[item as usize]);
    let mut found = Candidates {
        member: vec![JoinRole::None; 64],
        ..Candidates::default()
    };
    let options = DedupOptions::new().unwrap();
    let pairs = hot::join_rows(&rows, 2, 2000, &options, &mut found).unwrap();
    assert!(pairs.is_empty() && found.hot.len() == 64);
    assert!(found.member.iter().all(|&open| open == JoinRole::Core));
    let pairs = hot::join_rows(&rows, 2, 2016, &options, &mut found).unwrap();
    assert_eq!(pairs.len(), 2016);
}
