//! The measures compared with their definitions.

use proptest::prelude::*;

use super::*;

/// B-cubed by its definition, item by item.
fn bcubed_by_items(found: &[u32], truth: &[u32], with_self: bool) -> Score {
    let n = found.len();
    let mean = |a: &[u32], b: &[u32]| {
        let of_item = |i: usize| {
            let neighbors = |labels: &[u32]| -> Vec<usize> {
                (0..n)
                    .filter(|&j| labels[j] == labels[i] && (with_self || j != i))
                    .collect()
            };
            let (mine, theirs) = (neighbors(a), neighbors(b));
            match (mine.len(), theirs.len()) {
                (0, 0) => 1.0,
                (0, _) => 0.0,
                _ => mine.iter().filter(|j| theirs.contains(j)).count() as f64 / mine.len() as f64,
            }
        };
        (0..n).map(of_item).sum::<f64>() / n as f64
    };
    Score {
        precision: mean(found, truth),
        recall: mean(truth, found),
    }
}

fn pairwise_by_pairs(found: &[u32], truth: &[u32]) -> Score {
    let [mut both, mut a, mut b] = [0u32; 3];
    for i in 0..found.len() {
        for j in 0..i {
            let [x, y] = [found[i] == found[j], truth[i] == truth[j]];
            both += u32::from(x && y);
            a += u32::from(x);
            b += u32::from(y);
        }
    }
    let ratio = |all: u32| {
        if all > 0 {
            f64::from(both) / f64::from(all)
        } else {
            1.0
        }
    };
    Score {
        precision: ratio(a),
        recall: ratio(b),
    }
}

fn close(a: Score, b: Score) -> bool {
    (a.precision - b.precision).abs() < 1e-12 && (a.recall - b.recall).abs() < 1e-12
}

/// Two labellings of the same items.
fn labellings() -> impl Strategy<Value = (Vec<u32>, Vec<u32>)> {
    (1u32..12, 1u32..12, 1usize..60).prop_flat_map(|(a, b, n)| {
        let labels = |k: u32| proptest::collection::vec(0..k, n);
        (labels(a), labels(b))
    })
}

proptest! {
    #[test]
    fn scores_are_those_of_the_definitions((found, truth) in labellings()) {
        let agreement = Agreement::of(&found, &truth);
        prop_assert!(close(agreement.bcubed, bcubed_by_items(&found, &truth, true)));
        prop_assert!(close(agreement.bcubed_without_self, bcubed_by_items(&found, &truth, false)));
        prop_assert!(close(agreement.pairwise, pairwise_by_pairs(&found, &truth)));
    }

    #[test]
    fn names_of_labels_do_not_matter((found, truth) in labellings(), shift in 1u32..1000) {
        let renamed: Vec<u32> = found.iter().map(|label| label * 7 + shift).collect();
        let [a, b] = [&found, &renamed].map(|found| Agreement::of(found, &truth));
        prop_assert!(close(a.bcubed, b.bcubed) && close(a.pairwise, b.pairwise));
        prop_assert!((a.adjusted_rand - b.adjusted_rand).abs() < 1e-12);
    }

    #[test]
    fn equal_clusterings_agree_fully((labels, _) in labellings()) {
        let agreement = Agreement::of(&labels, &labels);
        for score in [agreement.bcubed, agreement.bcubed_without_self, agreement.pairwise] {
            prop_assert!((score.f1() - 1.0).abs() < 1e-12);
        }
        prop_assert!((agreement.adjusted_rand - 1.0).abs() < 1e-12);
        prop_assert!((agreement.v_measure() - 1.0).abs() < 1e-9);
        prop_assert!((agreement.mutual_information - 1.0).abs() < 1e-9);
    }
}

#[test]
fn two_empty_clusterings_agree() {
    let agreement = Agreement::of(&[], &[]);
    assert_eq!((agreement.items, agreement.clusters), (0, [0, 0]));
    assert!((agreement.bcubed.f1() - 1.0).abs() < 1e-12);
    assert!((agreement.pairwise.f1() - 1.0).abs() < 1e-12);
}
