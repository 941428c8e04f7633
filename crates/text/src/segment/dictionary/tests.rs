use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// Rules opposite to those of [`JiebaRs`]: any character may be a word, and of equally likely words the shorter is chosen.
struct OppositeRules;

impl Rules for OppositeRules {
    const PREFERS_LONGER_ON_TIE: bool = false;
    const ALLOWS_LONE_PREFIX: bool = true;

    fn is_barrier(c: char) -> bool {
        c == '，'
    }
}

/// A dictionary of words with these frequencies.
fn dictionary(words: &[(&str, u64)]) -> Dictionary {
    let written = writer::write(words).unwrap_or_else(|writer::TooLarge(why)| panic!("{why}"));
    Dictionary {
        alphabet: Alphabet::new(written.characters.into_iter()),
        nodes: written.nodes,
        weights: std::iter::once(0.0)
            .chain(written.weights.iter().map(|&weight| (weight as f64).ln()))
            .collect(),
        unknown: -1.0,
    }
}

fn lengths<R: Rules>(dictionary: &Dictionary, run: &str) -> Vec<usize> {
    let mut path = Path::default();
    dictionary.find::<R>(run.chars(), &mut path);
    path.lengths().collect()
}

/// The best path by brute force: every word at every position.
fn by_definition<R: Rules>(words: &[(&str, u64)], run: &str) -> Vec<usize> {
    let weights: BTreeMap<&str, f64> = words.iter().map(|&(word, n)| (word, (n as f64).ln())).collect();
    let chars: Vec<char> = run.chars().collect();
    let mut best = vec![(0.0, 1); chars.len() + 1];
    for at in (0..chars.len()).rev() {
        let alone: String = chars[at].into();
        let mut found: Vec<(f64, usize)> = Vec::new();
        if R::ALLOWS_LONE_PREFIX && !weights.contains_key(alone.as_str()) {
            found.push((-1.0 + best[at + 1].0, 1));
        }
        for length in 1..=chars.len() - at {
            let word: String = chars[at..at + length].iter().collect();
            if !word.contains(R::is_barrier)
                && let Some(weight) = weights.get(word.as_str())
            {
                found.push((weight + best[at + length].0, length));
            }
        }
        let order = |a: &(f64, usize), b: &(f64, usize)| {
            let lengths = if R::PREFERS_LONGER_ON_TIE {
                a.1.cmp(&b.1)
            } else {
                b.1.cmp(&a.1)
            };
            a.0.total_cmp(&b.0).then(lengths)
        };
        best[at] = match found.into_iter().max_by(order) {
            _ if R::is_barrier(chars[at]) => (0.0, 1),
            Some(found) => found,
            None => (-1.0 + best[at + 1].0, 1),
        };
    }
    let mut at = 0;
    std::iter::from_fn(|| {
        let length = (at < chars.len()).then(|| best[at].1)?;
        at += length;
        Some(length)
    })
    .collect()
}

proptest! {
    /// Few characters and frequencies, so that words share prefixes and paths tie.
    #[test]
    fn the_path_is_that_of_the_definition(
        words in prop::collection::vec(("[一丁七b𠀀]{1,5}", 1u64..4), 0..60),
        run in "[一丁七b𠀀x，\u{2A6E0}]{0,30}",
    ) {
        let words: Vec<(&str, u64)> = words.iter().map(|(word, n)| (word.as_str(), *n)).collect();
        let dictionary = dictionary(&words);
        prop_assert_eq!(lengths::<JiebaRs>(&dictionary, &run), by_definition::<JiebaRs>(&words, &run));
        prop_assert_eq!(lengths::<OppositeRules>(&dictionary, &run), by_definition::<OppositeRules>(&words, &run));
    }
}

#[test]
fn every_bundled_word_is_found_with_its_frequency() {
    let text = include_str!("../../../dictionary/jieba.dict.txt");
    let entries = text.lines().filter_map(|line| {
        let mut parts = line.split(' ');
        Some((parts.next()?, parts.next()?.parse::<u64>().ok()?))
    });
    let entries: Vec<(&str, u64)> = entries.collect();
    let total: u64 = entries.iter().map(|(_, n)| n).sum();
    let mut found = 0;
    for (word, frequency) in entries {
        let mut node = JIEBA.node(0);
        let mut known = true;
        for c in word.chars() {
            let code = JIEBA.alphabet.code(c);
            known &= code != UNKNOWN && node.may_have_child(code);
            node = JIEBA.node(node.base() + usize::from(code));
            known &= node.code() == code;
        }
        let weight = JIEBA.weights[usize::from(node.weight())];
        let expected = (frequency as f64).ln() - (total as f64).ln();
        if known && node.weight() != 0 && weight.to_bits() == expected.to_bits() {
            found += 1;
        } else {
            assert!(
                !word.chars().all(|c| matches!(c, '\u{4E00}'..='\u{9FFF}')),
                "{word}"
            );
        }
    }
    assert_eq!(found, 348_974);
}

#[test]
fn the_last_of_equal_words_counts_and_empty_words_are_ignored() {
    let dictionary = dictionary(&[("", 9), ("一丁", 1), ("一丁", 1000), ("一", 9), ("丁", 9)]);
    assert_eq!(lengths::<JiebaRs>(&dictionary, "一丁"), [2]);
}

#[test]
fn more_characters_than_codes_are_refused() {
    let characters: Vec<String> = ('\u{3400}'..='\u{1FFFF}').map(String::from).collect();
    let words: Vec<(&str, u64)> = characters.iter().map(|c| (c.as_str(), 1)).collect();
    assert!(writer::write(&words).is_err());
    assert!(writer::write(&words[..60_000]).is_ok());
}
