use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn check(a: &BTreeSet<u64>, b: &BTreeSet<u64>) {
    let (x, y) = (
        a.iter().copied().collect::<Vec<_>>(),
        b.iter().copied().collect::<Vec<_>>(),
    );
    let found = overlap(&x, &y);
    assert_eq!(found.common as usize, a.intersection(b).count());
    assert_eq!(found.union as usize, a.union(b).count());
    assert_eq!(found, overlap(&y, &x));
    let jaccard = found.jaccard();
    for threshold in [
        0.0,
        0.1,
        0.5,
        0.8,
        1.0,
        jaccard,
        jaccard.next_up(),
        jaccard.next_down(),
    ] {
        let expected = (jaccard >= threshold).then_some(found);
        assert_eq!(overlap_at_least(&x, &y, threshold), expected, "{threshold}");
    }
}

#[test]
fn empty_sets() {
    let both = overlap(&[], &[]);
    assert_eq!((both.jaccard(), both.containment()), (1.0, 1.0));
    let one = overlap(&[], &[1, 2]);
    assert_eq!((one.jaccard(), one.containment()), (0.0, 0.0));
    check(&BTreeSet::new(), &BTreeSet::new());
    check(&BTreeSet::new(), &(0..300).collect());
}

#[test]
fn sets_of_all_sizes() {
    for n in [1u64, 63, 64, 65, 127, 128, 500, 2000] {
        for m in [1u64, 64, 300, 2000] {
            check(&(0..n).collect(), &(0..m).collect());
            check(&(0..n).map(|i| i * 3).collect(), &(0..m).map(|i| i * 2).collect());
            check(&(0..n).collect(), &(n..n + m).collect());
        }
    }
}

proptest! {
    #[test]
    fn equals_ordered_sets(
        a in prop::collection::btree_set(0u64..1500, 0..900),
        b in prop::collection::btree_set(0u64..1500, 0..900),
        keep in any::<u64>(),
    ) {
        check(&a, &b);
        // A second set with mostly the same elements.
        let near: BTreeSet<u64> = a.iter().copied().filter(|x| x % 10 != keep % 10).chain([keep]).collect();
        check(&a, &near);
    }
}
