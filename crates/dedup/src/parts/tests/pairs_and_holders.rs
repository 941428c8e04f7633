//! Texts with several passages, and texts that are in pairs and holders of passages.

use super::*;

/// Texts that all share a passage. Every two of them also share a second passage, `between` words after the first.
fn texts_in_twos(between: usize) -> Corpus {
    let text = |i: u64| {
        let second_passage = words(300 + i / 2, 60);
        let all = [
            &words(1, 60),
            &words(500 + i, between),
            &second_passage[..],
            &words(700 + i, 40),
        ];
        all.concat().join(" ")
    };
    Corpus::new((0..70).map(text).collect())
}

#[test]
fn two_texts_that_share_more_than_a_passage_of_many_are_a_pair() {
    for between in [0, 3, 10] {
        let corpus = texts_in_twos(between);
        let outcome = corpus.search(PartsReport::MAX_PAIRED_TEXTS);
        let pairs: Vec<(u32, u32)> = outcome
            .pairs
            .iter()
            .map(|pair| (pair.a.get(), pair.b.get()))
            .collect();
        let expected: Vec<(u32, u32)> = (0..35).map(|i| (2 * i, 2 * i + 1)).collect();
        assert_eq!(pairs, expected, "{between} words between");
        let [only] = outcome.passages.as_slice() else {
            panic!("{outcome:?}")
        };
        assert_eq!(only.len(), 70);
        for holder in only {
            assert_eq!(corpus.cut(holder), [words(1, 60).join(" ")]);
        }
    }
}

#[test]
fn a_template_with_different_words_in_its_gaps_is_found_for_any_number_of_holders() {
    let templates = [1, 2, 3].map(|seed| words(seed, 20));
    let text = |i: u64| {
        let mut text = words(1000 + i, 30);
        for (template, n) in templates.iter().zip(0..) {
            text.extend_from_slice(template);
            text.extend(words(2000 + 3 * i + n, 1));
        }
        text.extend(words(9000 + i, 30));
        text.join(" ")
    };
    for holders in [64, 65, 70, 500] {
        let outcome = Corpus::new((0..holders).map(text).collect()).search(PartsReport::MAX_PAIRED_TEXTS);
        if holders as usize <= PartsReport::MAX_PAIRED_TEXTS {
            assert_eq!(outcome.pairs.len() as u64, holders * (holders - 1) / 2);
            continue;
        }
        assert!(outcome.pairs.is_empty());
        let found: Vec<usize> = outcome.passages.iter().map(Vec::len).collect();
        assert_eq!(found, [holders as usize]);
    }
}

#[test]
fn a_passage_that_other_texts_share_in_part_is_found() {
    let [x, f, g] = [(1, 20), (2, 20), (3, 15)].map(|(seed, n)| words(seed, n));
    let text = |i: u64| {
        around(
            i,
            20,
            &[if i < 70 { &x } else { &f }, if i < 70 { &f } else { &g }]
                .map(|part| &part[..])
                .concat(),
            20,
        )
    };
    let corpus = Corpus::new((0..140).map(text).collect());
    let outcome = corpus.search(PartsReport::MAX_PAIRED_TEXTS);
    for (a, b) in [(0, 1), (68, 69), (70, 71), (70, 139)] {
        assert!(outcome.connects(TextId::new(a), TextId::new(b)), "{a} and {b}");
    }
}

#[test]
fn two_adjacent_passages_are_not_reported_as_a_third() {
    let [f, g] = [words(1, 60), words(2, 60)];
    let text = |i: u64| match i {
        0..70 => around(i, 20, &f, 20),
        70..140 => around(i, 20, &g, 20),
        _ => around(i, 20, &[&f[..], &g].concat(), 20),
    };
    let corpus = Corpus::new((0..143).map(text).collect());
    let outcome = corpus.search(PartsReport::MAX_PAIRED_TEXTS);
    let holders: Vec<usize> = outcome.passages.iter().map(Vec::len).collect();
    assert_eq!(holders, [73, 73]);
    assert!(outcome.pairs.is_empty());
}

#[test]
fn a_footer_is_not_reported_because_of_a_near_duplicate_of_its_reference() {
    let footer = words(1, 40);
    let mut texts: Vec<String> = (0..100).map(|i| around(i, 400, &footer, 100)).collect();
    texts.push(texts[0].clone() + " twin");
    let outcome = Corpus::new(texts).search(PartsReport::MAX_PAIRED_TEXTS);
    assert_eq!(
        (outcome.pairs.len(), outcome.passages.len(), outcome.small),
        (1, 0, 1)
    );
}

#[test]
fn a_passage_of_ten_thousand_texts_has_all_holders() {
    let passage = words(1, 40);
    let corpus = Corpus::new((0..10_000).map(|i| around(i, 20, &passage, 10)).collect());
    let outcome = corpus.search(PartsReport::MAX_PAIRED_TEXTS);
    let holders: Vec<usize> = outcome.passages.iter().map(Vec::len).collect();
    assert_eq!((holders, outcome.pairs.len()), (vec![10_000], 0));
    assert!(
        outcome.passages[0]
            .iter()
            .all(|holder| corpus.cut(holder) == [passage.join(" ")])
    );
}

#[test]
fn a_passage_of_many_chinese_texts_is_found() {
    let letters = |seed: u64, n: usize| -> String {
        let letter =
            |word: &String| char::from_u32(0x4E00 + u32::from_str_radix(&word[1..], 16).unwrap() % 20_000);
        words(seed, n).iter().filter_map(letter).collect()
    };
    let passage = letters(1, 120);
    let text = |i: u64| letters(1000 + i, 80) + &passage + &letters(5000 + i, 60);
    let corpus = Corpus::measured((0..200).map(text).collect(), Measure::CharGrams);
    let outcome = corpus.search(PartsReport::MAX_PAIRED_TEXTS);
    let [only] = outcome.passages.as_slice() else {
        panic!("{:?}", outcome.passages.len())
    };
    assert_eq!((only.len(), outcome.pairs.len()), (200, 0));
    assert!(only.iter().all(|holder| corpus.cut(holder)[0].contains(&passage)));
}

#[test]
fn a_passage_that_is_small_in_every_text_is_counted() {
    let notice = words(4, PartsReport::NOTICED_WORDS);
    let mut texts: Vec<String> = (0..100).map(|i| around(i, 200, &notice, 200)).collect();
    let outcome = Corpus::new(texts.clone()).search(PartsReport::MAX_PAIRED_TEXTS);
    assert!(outcome.pairs.is_empty() && outcome.passages.is_empty());
    assert_eq!((outcome.small, outcome.phrases), (1, 0));
    // One text that is mostly the notice makes the notice a passage of all texts.
    texts.push(around(100, 20, &notice, 20));
    let outcome = Corpus::new(texts).search(PartsReport::MAX_PAIRED_TEXTS);
    assert_eq!((outcome.passages.len(), outcome.small), (1, 0));
    assert_eq!(outcome.passages[0].len(), 101);
}

#[test]
fn a_phrase_of_many_texts_is_counted_as_one() {
    let phrase = words(8, 9);
    let outcome = Corpus::new((0..400).map(|i| around(i, 40, &phrase, 40)).collect())
        .search(PartsReport::MAX_PAIRED_TEXTS);
    assert!(
        outcome.pairs.is_empty() && outcome.passages.is_empty(),
        "{outcome:?}"
    );
    assert_eq!((outcome.small, outcome.phrases), (0, 1));
}
