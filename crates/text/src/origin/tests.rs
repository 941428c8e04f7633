use proptest::prelude::*;

use super::*;
use crate::canonical;
use crate::chars::is_mark;
use crate::test_text::{any_text, plain_text, tricky_text};

/// A range of an original text at whose ends the text can be cut: the canonical forms of the three pieces, joined, are the canonical
/// text.
struct Cut {
    /// The range in characters of the canonical text.
    canonical: (usize, usize),
    /// The length of the range in bytes of the original text.
    bytes: usize,
}

/// All these ranges, by brute force.
fn cuts(text: &str) -> Vec<Cut> {
    let whole = canonical(text);
    let positions: Vec<usize> = text
        .char_indices()
        .map(|(at, _)| at)
        .chain([text.len()])
        .collect();
    let mut cuts = Vec::new();
    for (i, &from) in positions.iter().enumerate() {
        let before = canonical(&text[..from]);
        let Some(rest) = whole.strip_prefix(&before) else {
            continue;
        };
        let rest = rest.trim_start_matches(' ');
        for &to in &positions[i..] {
            let (middle, after) = (canonical(&text[from..to]), canonical(&text[to..]));
            let fits = rest
                .strip_prefix(&middle)
                .map(|rest| rest.trim_start_matches(' '))
                == Some(&after);
            if fits && !middle.is_empty() {
                let start = whole[..whole.len() - rest.len()].chars().count();
                cuts.push(Cut {
                    canonical: (start, start + middle.chars().count()),
                    bytes: to - from,
                });
            }
        }
    }
    cuts
}

/// Checks every range of a text.
fn check(text: &str) {
    let whole: Vec<char> = canonical(text).chars().collect();
    let positions: Vec<usize> = (0..=whole.len()).collect();
    let found = origins(text, &positions, &positions);
    assert_eq!(
        (found.starts.len(), found.ends.len()),
        (positions.len(), positions.len())
    );
    for from in 0..whole.len() {
        for to in from + 1..=whole.len() {
            let (Some(start), Some(end)) = (found.starts[from], found.ends[to]) else {
                continue;
            };
            assert!(start.canonical >= from && end.canonical <= to);
            if start.canonical >= end.canonical {
                continue;
            }
            let piece = &text[start.byte..end.byte];
            let stretch: String = whole[start.canonical..end.canonical].iter().collect();
            assert_eq!(canonical(piece), stretch, "{text:?} {from}..{to}");
            // No character at either end can be dropped, unless it does not belong to a word. A combining stroke changes the character before it.
            let ignorable = |dropped: &str| canonical(dropped).is_empty() || dropped == "\u{338}";
            let (first, without_first) = piece.split_at(piece.chars().next().unwrap().len_utf8());
            assert!(
                canonical(without_first) != stretch || ignorable(first),
                "{text:?} {from}..{to}"
            );
            let last = piece.chars().next_back().unwrap().len_utf8();
            let (without_last, last) = piece.split_at(piece.len() - last);
            assert!(
                canonical(without_last) != stretch || ignorable(last),
                "{text:?} {from}..{to}"
            );
        }
    }
}

#[test]
fn examples() {
    let cases = [
        ("The “ﬁne” print", "fine", "ﬁne"),
        ("Ｗｏｒｌｄ！２０２４年", "world 2024年", "Ｗｏｒｌｄ！２０２４年"),
        ("a e\u{301}te\u{301}, b", "été", "e\u{301}te\u{301}"),
        ("co\u{AD}operate\u{AD} now", "cooperate", "co\u{AD}operate"),
        ("one\r\ntwo\r\nthree", "two", "two"),
        ("İstanbul", "i\u{307}stanbul", "İstanbul"),
        ("x 𝔘𝔫𝔦 y", "uni", "𝔘𝔫𝔦"),
        ("㎏ of ½ pound", "1 2", "½"),
        ("ㅋㅋㅠㅠ 하하", "하하", "하하"),
        ("다 \u{1103}\u{1161} 다", "다 다", "다 \u{1103}\u{1161}"),
    ];
    for (text, stretch, original) in cases {
        let whole = canonical(text);
        let from = whole[..whole.find(stretch).unwrap()].chars().count();
        let to = from + stretch.chars().count();
        let found = origins(text, &[from], &[to]);
        let (start, end) = (found.starts[0].unwrap(), found.ends[0].unwrap());
        assert_eq!((start.canonical, end.canonical), (from, to), "{text}");
        assert_eq!(&text[start.byte..end.byte], original);
    }
}

#[test]
fn a_range_that_begins_or_ends_within_a_character_is_shortened() {
    // 株式会社 is one character of the original.
    let text = "東京㍿です";
    assert_eq!(canonical(text), "東京株式会社です");
    let found = origins(text, &[0, 3], &[4, 8]);
    let at = |canonical, byte| Some(Origin { canonical, byte });
    assert_eq!(found.starts, [at(0, 0), at(6, "東京㍿".len())]);
    assert_eq!(found.ends, [at(2, "東京".len()), at(8, text.len())]);
}

#[test]
fn positions_beyond_the_text_and_texts_without_words() {
    let found = origins("a b", &[0, 3, 9], &[0, 3, 9]);
    assert_eq!(found.starts[1..], [None, None]);
    assert_eq!(found.ends[0], None);
    assert_eq!(found.ends[1], found.ends[2]);
    let found = origins("…!", &[0], &[1]);
    assert_eq!((found.starts, found.ends), (vec![None], vec![None]));
}

#[test]
fn long_runs_of_marks_and_of_jamo_take_linear_time() {
    for unit in ["\u{301}", "\u{1161}", "\u{AD}", "ㅠ", "\u{323}\u{302}", "\u{9BE}"] {
        let text = format!("a{}b", unit.repeat(200_000));
        let length = canonical(&text).chars().count();
        let found = origins(&text, &[0], &[length]);
        assert_eq!(found.ends[0].map(|end| end.byte), Some(text.len()), "{unit:?}");
    }
}

#[test]
fn every_character_next_to_every_kind_of_neighbour() {
    for c in '\0'..=char::MAX {
        let text = format!("a{c}\u{301}{c}\u{1161}中{c}b");
        let whole = canonical(&text);
        let length = whole.chars().count();
        let found = origins(&text, &[0, 1], &[length - 1, length]);
        for (from, to) in [(0, 0), (0, 1), (1, 1)] {
            let (Some(start), Some(end)) = (found.starts[from], found.ends[to]) else {
                panic!("U+{:04X}", c as u32)
            };
            if start.canonical < end.canonical {
                let stretch: String = whole
                    .chars()
                    .skip(start.canonical)
                    .take(end.canonical - start.canonical)
                    .collect();
                assert_eq!(
                    canonical(&text[start.byte..end.byte]),
                    stretch,
                    "U+{:04X}",
                    c as u32
                );
            }
        }
    }
}

proptest! {
    #[test]
    fn the_canonical_form_of_the_original_range_is_the_canonical_range(text in prop_oneof![any_text(), tricky_text(), plain_text()]) {
        check(&text);
    }

    #[test]
    fn a_range_between_possible_cuts_is_not_shortened(text in tricky_text()) {
        let whole: Vec<char> = canonical(&text).chars().collect();
        for cut in cuts(&text) {
            let (from, to) = cut.canonical;
            // A letter is not separated from its marks.
            if is_mark(whole[from]) || whole.get(to).is_some_and(|&c| is_mark(c)) {
                continue;
            }
            let found = origins(&text, &[from], &[to]);
            let (start, end) = (found.starts[0].unwrap(), found.ends[0].unwrap());
            prop_assert_eq!((start.canonical, end.canonical), (from, to), "{:?}", text);
            prop_assert!(end.byte - start.byte <= cut.bytes, "{:?}: {:?}", text, cut.canonical);
        }
    }
}
