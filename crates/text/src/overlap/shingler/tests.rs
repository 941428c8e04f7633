use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::canonical::canonical;
use crate::overlap::overlap;
use crate::test_text::{any_text, plain_text, tricky_text};

/// The shingles as strings, by the definition.
fn by_definition(canonical: &str, measure: Measure) -> BTreeSet<String> {
    let (units, n, glue): (Vec<String>, usize, &str) = match measure {
        Measure::CharGrams => (
            canonical
                .chars()
                .filter(|&c| is_letter_or_number(c))
                .map(String::from)
                .collect(),
            5,
            "",
        ),
        Measure::WordGrams => {
            let spaced: String = canonical
                .chars()
                .flat_map(|c| match (is_letter_or_number(c), Script::of(c)) {
                    (true, Script::Ideograph) => vec![' ', c, ' '],
                    (true, _) => vec![c],
                    (false, _) => vec![' '],
                })
                .collect();
            (spaced.split_whitespace().map(str::to_owned).collect(), 3, " ")
        }
    };
    match units.len() {
        0 => BTreeSet::new(),
        few if few < n => [units.join(glue)].into(),
        _ => units.windows(n).map(|gram| gram.join(glue)).collect(),
    }
}

fn shingles(text: &str, measure: Measure) -> Vec<u64> {
    Shingler::new(HashKey::PUBLIC).shingle(text, measure)
}

#[test]
fn examples() {
    assert!(shingles("", Measure::CharGrams).is_empty());
    assert!(shingles("", Measure::WordGrams).is_empty());
    assert_eq!(shingles("a b", Measure::WordGrams).len(), 1);
    assert_eq!(shingles("a b c a b c", Measure::WordGrams).len(), 3);
    assert_eq!(shingles("a 中文", Measure::WordGrams).len(), 1);
    assert_eq!(shingles("a 中文 b", Measure::WordGrams).len(), 2);
    assert_eq!(
        shingles("中文分词好", Measure::CharGrams),
        shingles("中 文分 词好", Measure::CharGrams)
    );
    assert_eq!(shingles("中文分词好极", Measure::CharGrams).len(), 2);
}

#[test]
fn letters_and_numbers_are_those_of_unicode() {
    for c in ('\u{300}'..=char::MAX).filter(|&c| chars::is_word(c)) {
        assert_eq!(
            is_letter_or_number(c),
            chars::is_letter_or_number(c),
            "U+{:04X}",
            c as u32
        );
    }
}

#[test]
fn different_keys_give_disjoint_sets() {
    let other = Shingler::new(HashKey::new(1, 2)).shingle("a b c d", Measure::WordGrams);
    assert_eq!(
        overlap(&other, &shingles("a b c d", Measure::WordGrams)).common,
        0
    );
}

#[test]
fn grams_continue_across_chunks() {
    let texts = (0..2000).map(|i| format!("第{i}章 word{} 中文 ", i * i));
    let text = canonical(&texts.collect::<String>());
    assert!(text.len() > 2 * ByteKinds::MAX_BYTES);
    for from in 0..9 {
        let text = &text[text.ceil_char_boundary(from)..];
        let expected = by_definition(text, Measure::CharGrams);
        assert_eq!(shingles(text, Measure::CharGrams).len(), expected.len());
        let half = text.floor_char_boundary(text.len() / 2);
        let whole = shingles(text, Measure::CharGrams);
        let first = shingles(&text[..half], Measure::CharGrams);
        assert!(first.iter().all(|gram| whole.binary_search(gram).is_ok()));
    }
}

proptest! {
    #[test]
    fn overlaps_equal_those_of_sets_of_strings(
        a in prop_oneof![plain_text(), tricky_text(), any_text()],
        b in plain_text(),
        cut in any::<prop::sample::Index>(),
    ) {
        // The second text shares a part of the first.
        let shared: String = a.chars().take(cut.index(a.chars().count() + 1)).collect();
        let (a, b) = (canonical(&a), canonical(&(shared + &b)));
        let cases = [
            (Measure::CharGrams, Shingler::new(HashKey::PUBLIC)),
            (Measure::WordGrams, Shingler::new(HashKey::PUBLIC)),
            (Measure::CharGrams, Shingler::for_one_run(HashKey::PUBLIC)),
            (Measure::WordGrams, Shingler::for_one_run(HashKey::PUBLIC)),
        ];
        for (measure, mut shingler) in cases {
            let (x, y) = (by_definition(&a, measure), by_definition(&b, measure));
            let (p, q) = (shingler.shingle(&a, measure), shingler.shingle(&b, measure));
            prop_assert!(p.is_sorted_by(|a, b| a < b));
            prop_assert_eq!((p.len(), q.len()), (x.len(), y.len()));
            let found = overlap(&p, &q);
            prop_assert_eq!(found.common as usize, x.intersection(&y).count());
            prop_assert_eq!(found.union as usize, x.union(&y).count());
        }
    }
}
