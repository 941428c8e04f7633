use proptest::prelude::*;
use twinprint_fingerprint::HashKey;

use super::winnow::pick;
use super::*;
use crate::canonical;

fn words(seed: u64, n: usize) -> String {
    let mut state = seed | 1;
    let word = |_| {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        format!("w{}", state >> 50)
    };
    (0..n).map(word).collect::<Vec<_>>().join(" ")
}

proptest! {
    #[test]
    fn rolling_fingerprints_are_those_of_each_window(hashes: Vec<u64>, length in 1usize..9) {
        let (mut all, mut one) = (Vec::new(), Vec::new());
        rolling(&hashes, length, &mut all);
        prop_assert_eq!(all.len(), (hashes.len() + 1).saturating_sub(length));
        for (window, &expected) in hashes.windows(length).zip(&all) {
            rolling(window, length, &mut one);
            prop_assert_eq!(&one, &[expected]);
        }
    }

    #[test]
    fn the_minimum_of_every_window_is_selected(values in prop::collection::vec(0u64..20, 0..60), window in 1usize..9) {
        let selected: Vec<u64> = pick(&values, window).into_iter().map(|at| values[at as usize]).collect();
        for window in values.windows(window) {
            prop_assert!(selected.contains(window.iter().min().unwrap()));
        }
    }

    #[test]
    fn a_copied_run_has_a_common_fingerprint_and_is_found(seed: u64, before in 0usize..60, run in GUARANTEED_WORDS..60, after in 0usize..60) {
        let copied = words(seed, run);
        let a = format!("{} {copied} {}", words(seed ^ 1 << 40, before), words(seed ^ 2 << 40, after));
        let b = format!("{} {copied}", words(seed ^ 3 << 40, after));
        let (a, b) = (canonical(&a), canonical(&b));
        let mut winnower = Winnower::new(HashKey::PUBLIC);
        let [x, y] = [&a, &b].map(|text| winnower.fingerprints(text, Measure::WordGrams));
        prop_assert!(x.iter().any(|fingerprint| y.binary_search(fingerprint).is_ok()));
        let placed = winnower.placed(&a, Measure::WordGrams);
        let mut distinct: Vec<u64> = placed.iter().map(|placed| placed.fingerprint).collect();
        distinct.sort_unstable();
        distinct.dedup();
        prop_assert_eq!(distinct, x);
        for PlacedFingerprint { fingerprint, chars: range } in placed {
            prop_assert_eq!(winnower.fingerprints(&a[range], Measure::WordGrams), [fingerprint]);
        }
        let found = passages(&a, &b, Measure::WordGrams);
        let at = a.find(&copied).unwrap();
        let contains_run = |p: &Passage| p.a.start <= at && at + copied.len() <= p.a.end && p.b.end == b.len();
        prop_assert!(found.iter().any(contains_run), "{:?}", found);
    }
}

#[test]
fn offsets_are_characters_and_small_differences_do_not_split_a_passage() {
    let a = "甲乙丙丁戊己庚辛壬癸子丑寅卯辰巳午未申酉戌亥天地玄黄宇宙洪荒日月盈昃";
    let b = "前言如此甲乙丙丁戊己庚辛壬癸子丑改辰巳午未申酉戌亥天地玄黄宇宙洪荒日月盈昃后记";
    let found = passages(a, b, Measure::CharGrams);
    assert_eq!(found, [Passage { a: 0..34, b: 4..37 }]);
    let letters =
        |text: &str, at: &Range<usize>| text.chars().skip(at.start).take(at.len()).collect::<String>();
    assert_eq!(
        letters(b, &found[0].b),
        b["前言如此".len()..b.len() - "后记".len()]
    );
    assert!(passages(a, "另外一回事", Measure::CharGrams).is_empty());
    assert!(passages("", "", Measure::WordGrams).is_empty());
}

#[test]
fn unrelated_texts_share_no_fingerprint_and_short_texts_have_none() {
    let mut winnower = Winnower::new(HashKey::PUBLIC);
    let [x, y] = [3, 5].map(|seed| winnower.fingerprints(&words(seed << 40, 900), Measure::WordGrams));
    assert!(x.len() > 100 && x.len() < 200, "{}", x.len());
    assert!(x.iter().all(|fingerprint| y.binary_search(fingerprint).is_err()));
    assert!(
        winnower
            .fingerprints("one two three", Measure::WordGrams)
            .is_empty()
    );
}

#[test]
fn a_letter_keeps_its_marks() {
    let run = "ภาษาไทยเป็นภาษาที่มีระดับเสียงของคำแน่นอน";
    let (a, b) = (format!("กก{run}ขข"), format!("คค{run}งง"));
    let found = passages(&a, &b, Measure::CharGrams);
    assert_eq!(found.len(), 1);
    let end = found[0].a.end;
    assert_eq!(a.chars().take(end).collect::<String>(), format!("กก{run}"));
    let (a, b) = (format!("กก{run}\u{e49}ขข"), format!("คค{run}งง"));
    let found = passages(&a, &b, Measure::CharGrams);
    assert_eq!(
        found[0].a.end,
        end + 1,
        "the passage includes the mark of its last letter"
    );
}
