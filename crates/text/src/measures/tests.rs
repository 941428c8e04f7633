use proptest::prelude::*;
use twinprint_fingerprint::HashKey;

use super::*;
use crate::{Analyzer, Profile};

fn vector(text: &str) -> TermVector {
    let mut analyzer = Analyzer::new(&Profile::default_for(64).unwrap(), HashKey::PUBLIC);
    TermVector::new(&analyzer.explain(text))
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-12
}

/// The edit distance by the table of Wagner and Fischer (1974).
fn edits(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[test]
fn distances_of_two_short_documents() {
    // a 2 1, b 1 0, c 0 3
    let (x, y) = (vector("a a b"), vector("c a c c"));
    assert!(close(cosine(&x, &y), 2.0 / 50f64.sqrt()));
    assert!(close(term_jaccard(&x, &y), 1.0 / 3.0));
    assert!(close(euclidean(&x, &y), 11f64.sqrt()));
    assert!(close(manhattan(&x, &y), 5.0));
    assert!(close(chebyshev(&x, &y), 3.0));
}

#[test]
fn shares_of_common_terms() {
    let (x, y) = (vector("a b c d"), vector("c d e"));
    assert!(close(term_jaccard(&x, &y), 2.0 / 5.0));
    assert!(close(dice(&x, &y), 4.0 / 7.0));
    assert!(close(overlap_coefficient(&x, &y), 2.0 / 3.0));
    let empty = vector("");
    for share in [term_jaccard, dice, overlap_coefficient] {
        assert!(close(share(&empty, &empty), 1.0) && close(share(&x, &empty), 0.0));
    }
}

#[test]
fn distances_of_vectors() {
    let of = |values: &[f64]| TermVector::of_components((0..).zip(values.iter().copied()));
    let (x, y) = (of(&[1.0, 2.0, 3.0, 4.0]), of(&[2.0, 4.0, 6.0, 7.0]));
    assert!(close(minkowski(&x, &y, 1.0), manhattan(&x, &y)));
    assert!(close(minkowski(&x, &y, 2.0), euclidean(&x, &y)));
    assert!(close(minkowski(&x, &y, 3.0), 63f64.cbrt()));
    assert!(close(pearson(&x, &y).unwrap(), 8.5 / 73.75f64.sqrt()));
    assert!(close(pearson(&x, &of(&[-1.0, -2.0, -3.0, -4.0])).unwrap(), -1.0));
    assert_eq!(
        (pearson(&x, &of(&[1.0; 4])), pearson(&of(&[]), &of(&[]))),
        (None, None)
    );
    assert!(close(cosine(&x, &of(&[-1.0, -2.0, -3.0, -4.0])), -1.0));
    let variances = of(&[1.0, 4.0, 9.0, 0.25]);
    assert!(close(mahalanobis(&x, &y, &variances).unwrap(), 39f64.sqrt()));
    assert_eq!(mahalanobis(&x, &y, &of(&[1.0, 1.0, 1.0])), None);
    assert_eq!(mahalanobis(&x, &y, &of(&[1.0, 1.0, 1.0, 0.0])), None);
    let twice = TermVector::of_components([(7, 1.0), (3, 2.0), (7, 0.5)]);
    assert_eq!(twice, TermVector::of_components([(3, 2.0), (7, 1.5)]));
}

#[test]
fn empty_documents() {
    let (empty, full) = (vector(""), vector("a b"));
    assert!(close(cosine(&empty, &empty), 1.0) && close(cosine(&empty, &full), 0.0));
    assert!(close(term_jaccard(&empty, &empty), 1.0) && close(term_jaccard(&empty, &full), 0.0));
    assert!(close(euclidean(&empty, &empty), 0.0) && close(manhattan(&empty, &full), 2.0));
}

#[test]
fn edits_of_known_words() {
    assert_eq!(edit_distance("kitten", "sitting"), Some(3));
    assert_eq!(edit_distance("", "中文"), Some(2));
    assert_eq!(edit_distance("aaa", "aa"), Some(1));
    assert_eq!(edit_distance("中国人民", "中华人民"), Some(1));
}

#[test]
fn the_limit_excludes_the_common_beginning_and_end() {
    let long = "x".repeat(3 * MAX_EDIT_CHARS);
    assert_eq!(
        edit_distance(&format!("{long}a{long}"), &format!("{long}b{long}")),
        Some(1)
    );
    assert_eq!(edit_distance(&long, ""), None);
    assert_eq!(edit_distance(&"ab".repeat(MAX_EDIT_CHARS), "c"), None);
}

proptest! {
    #[test]
    fn edit_distance_equals_the_table(a in "[ab中]{0,90}", b in "[ab中]{0,90}") {
        let (x, y): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
        prop_assert_eq!(edit_distance(&a, &b), Some(edits(&x, &y)));
    }

    #[test]
    fn vector_measures_are_symmetric_and_ordered(a in "[a-d ]{0,30}", b in "[a-d ]{0,30}") {
        let (x, y) = (vector(&a), vector(&b));
        prop_assert!(close(cosine(&x, &y), cosine(&y, &x)));
        prop_assert!(close(cosine(&x, &x), 1.0) && close(manhattan(&x, &x), 0.0));
        prop_assert!(chebyshev(&x, &y) <= euclidean(&x, &y) + 1e-9);
        prop_assert!(euclidean(&x, &y) <= manhattan(&x, &y) + 1e-9);
    }
}

#[test]
fn two_empty_documents_have_distance_zero() {
    let empty = vector("");
    assert!(euclidean(&empty, &empty).is_sign_positive());
    assert!(manhattan(&empty, &empty).is_sign_positive());
}
