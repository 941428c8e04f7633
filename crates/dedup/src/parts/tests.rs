use std::collections::BTreeSet;

use crate::corpus::shingle_sets;
use proptest::prelude::*;
use tempfile::TempDir;
use twinprint_io::JobError;
use twinprint_text::Measure;

use super::holders::Holder;
use super::pairs::{Measuring, Pair};
use super::postings::Covered;
use super::*;
use crate::corpus::Classes;
use twinprint_io::work::SpoolWriter;

const LEAST: f64 = 0.3;

/// Made words; the same for the same seed.
fn words(seed: u64, n: usize) -> Vec<String> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let word = |_| {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        format!("w{:06x}", state >> 40)
    };
    (0..n).map(word).collect()
}

/// Texts in a spool.
struct Corpus {
    dir: TempDir,
    classes: Classes,
    spool: Spool,
    keep: KeepOrder,
    texts: Vec<String>,
}

impl Corpus {
    fn new(texts: Vec<String>) -> Self {
        Self::measured(texts, Measure::WordGrams)
    }

    fn measured(texts: Vec<String>, measure: Measure) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = SpoolWriter::create(&dir.path().join("spool")).unwrap();
        let mut classes = Classes::default();
        for (i, text) in texts.iter().enumerate() {
            let place = writer.push(text);
            classes.add([i as u64, 0], i as u128, 99, 0, measure, place);
        }
        let all = 0..classes.len();
        let keep = KeepOrder {
            classes: all.clone().collect(),
            item: all.clone().collect(),
            representative: all.clone().collect(),
            rank: all.collect(),
        };
        Self {
            dir,
            classes,
            spool: writer.finish().unwrap(),
            keep,
            texts,
        }
    }

    fn numbered(&self) -> Texts<'_> {
        Texts::new(&self.classes, &self.spool, &self.keep)
    }

    /// Every pair with a containment of at least [`LEAST`], by measuring all.
    fn by_brute_force(&self) -> Vec<Pair> {
        let texts = self.numbered();
        let mut measuring = Measuring::new(shingle_sets::key_of(&self.classes));
        let mut pairs = Vec::new();
        for a in 0..texts.len() {
            let others: Vec<u32> = (a + 1..texts.len()).collect();
            pairs.extend(measuring.pairs(&texts, a, &others, LEAST).unwrap());
        }
        pairs
    }

    /// Pairs, passages with their holders, and what was left out, where more than `many` texts make a fingerprint common.
    fn search(&self, many: usize) -> Outcome {
        let texts = self.numbered();
        let key = shingle_sets::key_of(&self.classes);
        let free = Budget::new(None, 1).unwrap();
        let check_cancelled = || Ok(());
        let postings = Postings::of(&texts, key, many, (free, 0), &check_cancelled).unwrap();
        let shared = shared::find(&texts, &postings, key, LEAST, self.dir.path(), &check_cancelled).unwrap();
        let mut passages = shared.found;
        let candidates = Candidates::new(&postings, &shared.covered, LEAST);
        let mut pairs = NumberWriter::create(self.dir.path()).unwrap();
        pairs::find(&texts, &candidates, key, LEAST, &mut pairs, &check_cancelled).unwrap();
        let mut pairs = pairs.finish().unwrap();
        let mut outcome = Outcome {
            pairs: std::iter::from_fn(|| Pair::read(&mut pairs).unwrap()).collect(),
            passages: Vec::new(),
            small: passages.unreported(),
            phrases: shared.left.phrases,
            limited: shared.left.limited,
        };
        let mut left = 0;
        passages
            .each(|holders, holder| {
                if left == 0 {
                    left = holders;
                    outcome.passages.push(Vec::new());
                }
                left -= 1;
                outcome.passages.last_mut().unwrap().push(holder);
                Ok(())
            })
            .unwrap();
        outcome
    }

    /// The words of a place of a holder.
    fn cut(&self, holder: &Holder) -> Vec<String> {
        let text: Vec<char> = self.texts[holder.text as usize].chars().collect();
        let places = holder
            .places
            .iter()
            .map(|place| &text[place.start as usize..place.end as usize]);
        places.map(|place| place.iter().collect()).collect()
    }
}

#[derive(Debug, PartialEq)]
struct Outcome {
    pairs: Vec<Pair>,
    passages: Vec<Vec<Holder>>,
    small: u64,
    phrases: u64,
    limited: u64,
}

impl Outcome {
    /// Whether two texts are a pair, or hold one passage.
    fn connects(&self, a: u32, b: u32) -> bool {
        let hold = |passage: &Vec<Holder>| {
            [a, b]
                .iter()
                .all(|&text| passage.iter().any(|holder| holder.text == text))
        };
        self.pairs.iter().any(|pair| (pair.a, pair.b) == (a, b)) || self.passages.iter().any(hold)
    }
}

/// A text with own words before and after a passage.
fn around(seed: u64, before: usize, passage: &[String], after: usize) -> String {
    [
        &words(seed * 2 + 1000, before),
        passage,
        &words(seed * 2 + 1001, after),
    ]
    .concat()
    .join(" ")
}

#[test]
fn candidates_hold_every_pair_that_brute_force_finds() {
    // Every third text holds the middle of an earlier one.
    let mut texts: Vec<Vec<String>> = Vec::new();
    for i in 0..60usize {
        let mut text = words(i as u64, 80 + i);
        if i % 3 == 2 {
            let from = &texts[i / 3];
            let end = (from.len() * (i + 20)) / 80;
            text.splice(10..10, from[..end.min(from.len())].to_vec());
        }
        texts.push(text);
    }
    let corpus = Corpus::new(texts.into_iter().map(|words| words.join(" ")).collect());
    let outcome = corpus.search(PartsReport::MAX_PAIRED_TEXTS);
    assert_eq!(outcome.pairs, corpus.by_brute_force());
    assert!(outcome.pairs.len() > 10 && outcome.passages.is_empty());
    for pair in &outcome.pairs {
        assert!((pair.shares[0].max(pair.shares[1]) - pair.containment).abs() < 1e-12);
        assert!(!pair.passages.is_empty());
    }
}

#[test]
fn a_cancelled_search_ends_and_one_without_memory_is_refused() {
    let corpus = Corpus::new((0..70).map(|i| around(i, 40, &words(7, 60), 40)).collect());
    let texts = corpus.numbered();
    let key = shingle_sets::key_of(&corpus.classes);
    let (going_on, ended) = (|| Ok(()), || Err(DedupError::Job(JobError::Cancelled)));
    let free = Budget::new(None, 1).unwrap();
    let postings =
        |budget, held, check_cancelled| Postings::of(&texts, key, 64, (budget, held), check_cancelled);
    let work = corpus.dir.path();
    let stopped = postings(free, 0, &ended).map(drop);
    assert!(matches!(stopped, Err(DedupError::Job(JobError::Cancelled))));
    let small = Budget::new(Some(160 << 20), 1).unwrap();
    assert!(postings(small, 1 << 30, &going_on).is_err());
    let postings = postings(free, 0, &going_on).unwrap();
    let none = Covered::none(&postings);
    let candidates = Candidates::new(&postings, &none, LEAST);
    let mut file = NumberWriter::create(work).unwrap();
    let stopped = pairs::find(&texts, &candidates, key, LEAST, &mut file, &ended);
    assert!(matches!(stopped, Err(DedupError::Job(JobError::Cancelled))));
    let stopped = shared::find(&texts, &postings, key, LEAST, work, &ended).map(drop);
    assert!(matches!(stopped, Err(DedupError::Job(JobError::Cancelled))));
}

#[test]
fn a_passage_is_found_whatever_the_number_of_its_holders() {
    let passage = words(5, 100);
    for holders in [2u32, 3, 63, 64, 65, 66, 70, 128, 300] {
        let corpus = Corpus::new(
            (0..holders)
                .map(|i| around(u64::from(i), 40, &passage, 50))
                .collect(),
        );
        let outcome = corpus.search(PartsReport::MAX_PAIRED_TEXTS);
        if holders as usize <= PartsReport::MAX_PAIRED_TEXTS {
            assert_eq!(outcome.pairs.len() as u32, holders * (holders - 1) / 2);
            assert!(outcome.passages.is_empty());
            continue;
        }
        assert!(
            outcome.pairs.is_empty() && outcome.small == 0 && outcome.phrases == 0,
            "{outcome:?}"
        );
        let [only] = outcome.passages.as_slice() else {
            panic!("{holders}: {outcome:?}")
        };
        let texts: Vec<u32> = only.iter().map(|holder| holder.text).collect();
        assert_eq!(texts, (0..holders).collect::<Vec<_>>());
        assert_eq!(only.iter().filter(|holder| holder.is_reference).count(), 1);
        for holder in only {
            assert_eq!(corpus.cut(holder), [passage.join(" ")]);
        }
    }
}

#[test]
fn a_share_is_measured_in_the_same_way_whatever_the_number_of_holders() {
    // 60 short words between 90 long ones: 58 of 148 shingles, a seventh of the characters.
    let passage: Vec<String> = words(5, 60).iter().map(|word| word[..4].to_owned()).collect();
    let long = |seed| {
        words(seed, 45)
            .iter()
            .map(|word| word.repeat(3))
            .collect::<Vec<_>>()
    };
    for holders in [64u64, 65, 200] {
        let texts = (0..holders).map(|i| {
            [&long(1000 + 2 * i), &passage[..], &long(1001 + 2 * i)]
                .concat()
                .join(" ")
        });
        let outcome = Corpus::new(texts.collect()).search(PartsReport::MAX_PAIRED_TEXTS);
        if holders as usize <= PartsReport::MAX_PAIRED_TEXTS {
            assert_eq!(outcome.pairs.len() as u64, holders * (holders - 1) / 2);
            assert!((outcome.pairs[0].containment - 58.0 / 148.0).abs() < 0.02);
            continue;
        }
        let [only] = outcome.passages.as_slice() else {
            panic!("{holders}: {outcome:?}")
        };
        assert_eq!(only.len() as u64, holders);
        assert!(
            only.iter()
                .all(|holder| (holder.share - 58.0 / 148.0).abs() < 0.02)
        );
    }
}

#[test]
fn passages_that_are_small_alone_are_reported_if_they_make_up_the_share_of_one_text_together() {
    let passages = [words(1, 40), words(2, 40), words(3, 40)];
    // Two passages of a fifth each, and one that stands in other texts alone.
    let text = |i: u64| match i % 2 {
        0 => [
            around(i, 40, &passages[0], 20),
            around(500 + i, 20, &passages[1], 40),
        ]
        .join(" "),
        _ => around(i, 100, &passages[2], 60),
    };
    let outcome = Corpus::new((0..200).map(text).collect()).search(PartsReport::MAX_PAIRED_TEXTS);
    let holders: Vec<usize> = outcome.passages.iter().map(Vec::len).collect();
    assert_eq!((holders, outcome.small), (vec![100, 100], 1));
}

#[test]
fn a_passage_that_differs_from_text_to_text_is_reported_once() {
    // A notice with a year, which many texts share in turn.
    let (before, after) = (words(1, 60), words(2, 60));
    let text = |i: u64| {
        let year = [format!("year{}", i % 5)];
        around(i, 30, &[&before, &year[..], &after].concat(), 20)
    };
    let corpus = Corpus::new((0..500).map(text).collect());
    let outcome = corpus.search(PartsReport::MAX_PAIRED_TEXTS);
    let holders: Vec<usize> = outcome.passages.iter().map(Vec::len).collect();
    assert_eq!(holders, [500]);
    assert!(
        outcome.passages[0]
            .iter()
            .all(|holder| corpus.cut(holder)[0].split(' ').count() == 121)
    );
    assert_eq!((outcome.small, outcome.phrases), (0, 0));
}

#[test]
fn quotations_of_any_part_of_a_text_are_holders_of_it() {
    let whole = words(3, 519);
    let quotation = |i: usize| around(i as u64, 30, &whole[i * 7 % 400..i * 7 % 400 + 120], 30);
    let texts = std::iter::once(whole.join(" ")).chain((1..300).map(quotation));
    let corpus = Corpus::new(texts.collect());
    let outcome = corpus.search(20);
    let [only] = outcome.passages.as_slice() else {
        panic!("{:?}", outcome.passages.len())
    };
    assert_eq!(only.len(), 300);
    // At both ends of the text fewer quotations overlap.
    assert!(only[0].is_reference && only[0].share > 0.85);
    let passage = corpus.cut(&only[0]).concat();
    for holder in &only[1..] {
        let i = holder.text as usize;
        let quoted: Vec<&str> = whole[i * 7 % 400..i * 7 % 400 + 120]
            .iter()
            .map(String::as_str)
            .collect();
        let within = quoted
            .iter()
            .filter(|&&word| passage.split(' ').any(|other| other == word));
        assert_eq!(
            corpus.cut(holder),
            [within.copied().collect::<Vec<_>>().join(" ")]
        );
    }
}

/// Texts of a passage of all, and one that every two have of their own, some words after it.
fn twins(between: usize) -> Corpus {
    let text = |i: u64| {
        let twin = words(300 + i / 2, 60);
        let all = [
            &words(1, 60),
            &words(500 + i, between),
            &twin[..],
            &words(700 + i, 40),
        ];
        all.concat().join(" ")
    };
    Corpus::new((0..70).map(text).collect())
}

#[test]
fn what_two_texts_have_beside_a_passage_of_many_makes_them_a_pair() {
    for between in [0, 3, 10] {
        let corpus = twins(between);
        let outcome = corpus.search(PartsReport::MAX_PAIRED_TEXTS);
        let pairs: Vec<(u32, u32)> = outcome.pairs.iter().map(|pair| (pair.a, pair.b)).collect();
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
fn a_template_with_own_words_between_is_found_whatever_the_number_of_its_holders() {
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
fn a_passage_that_another_family_shares_in_part_is_found() {
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
        assert!(outcome.connects(a, b), "{a} and {b}");
    }
}

#[test]
fn few_texts_with_two_passages_of_many_in_a_row_make_no_passage_of_their_own() {
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
fn a_near_duplicate_of_the_reference_does_not_report_its_footer() {
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
fn a_passage_of_ten_thousand_texts_has_them_all() {
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
    // One text that is the notice and little else makes it a passage of all.
    texts.push(around(100, 20, &notice, 20));
    let outcome = Corpus::new(texts).search(PartsReport::MAX_PAIRED_TEXTS);
    assert_eq!((outcome.passages.len(), outcome.small), (1, 0));
    assert_eq!(outcome.passages[0].len(), 101);
}

#[test]
fn a_phrase_of_many_texts_is_counted_as_one() {
    let phrase = words(6, 9);
    let outcome = Corpus::new((0..400).map(|i| around(i, 40, &phrase, 40)).collect())
        .search(PartsReport::MAX_PAIRED_TEXTS);
    assert!(
        outcome.pairs.is_empty() && outcome.passages.is_empty(),
        "{outcome:?}"
    );
    assert_eq!((outcome.small, outcome.phrases), (0, 1));
}

/// A text of own words with passages of the corpus between, by their numbers.
fn text() -> impl Strategy<Value = Vec<(usize, usize)>> {
    prop::collection::vec((0usize..3, 0usize..30), 0..3)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn every_pair_that_brute_force_finds_is_a_pair_or_holds_one_passage(
        texts in prop::collection::vec(text(), 2..30),
        lengths in prop::array::uniform3(PartsReport::NOTICED_WORDS..120),
        longer in 1usize..5,
        many in 2usize..12,
    ) {
        // Own words are longer than those of the passages.
        let own = |seed, n| words(seed, n).iter().map(|word| word.repeat(longer)).collect::<Vec<_>>();
        let passages: Vec<Vec<String>> = lengths.iter().zip(1..).map(|(&length, seed)| words(seed, length)).collect();
        let write = |(i, pieces): (usize, &Vec<(usize, usize)>)| {
            let mut text = own(100 + i as u64, 20);
            for (n, &(passage, between)) in pieces.iter().enumerate() {
                text.extend_from_slice(&passages[passage]);
                text.extend(own((200 + i * 10 + n) as u64, between));
            }
            text.join(" ")
        };
        let corpus = Corpus::new(texts.iter().enumerate().map(write).collect());
        let outcome = corpus.search(many);
        let expected = corpus.by_brute_force();
        for pair in &expected {
            prop_assert!(outcome.connects(pair.a, pair.b), "{} and {}: {:?}", pair.a, pair.b, outcome);
        }
        // Texts that share a passage of few texts are a pair, whatever else they share.
        let holders = |passage: usize| {
            let holds = |pieces: &[(usize, usize)]| pieces.iter().any(|piece| piece.0 == passage);
            let holders = (0u32..).zip(&texts).filter(|(_, pieces)| holds(pieces));
            holders.map(|(text, _)| text).collect::<BTreeSet<u32>>()
        };
        for few in (0..3).map(holders).filter(|holders| holders.len() <= many) {
            for pair in expected.iter().filter(|pair| few.contains(&pair.a) && few.contains(&pair.b)) {
                prop_assert!(outcome.pairs.contains(pair), "{:?}: {:?}", pair, outcome);
            }
        }
        for holders in &outcome.passages {
            prop_assert!(holders.len() > many);
        }
        // Nothing else is a pair, and every pair is measured right.
        for pair in &outcome.pairs {
            prop_assert!(expected.contains(pair), "{:?}", pair);
        }
        for holders in &outcome.passages {
            let texts: BTreeSet<u32> = holders.iter().map(|holder| holder.text).collect();
            prop_assert_eq!(texts.len(), holders.len(), "a holder is named once");
            let reference = holders.iter().find(|holder| holder.is_reference).unwrap();
            let whole = format!(" {} ", corpus.cut(reference).concat());
            for holder in holders {
                for place in corpus.cut(holder) {
                    // Both ends of a place are runs of the reference.
                    let words: Vec<&str> = place.split(' ').collect();
                    for run in [&words[..4], &words[words.len() - 4..]] {
                        let run = format!(" {} ", run.join(" "));
                        prop_assert!(whole.contains(&run), "{:?} in {:?}", run, whole);
                    }
                }
            }
        }
        // As many as there are have the same outcome on one thread.
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        prop_assert_eq!(one.install(|| corpus.search(many)), outcome);
    }
}
