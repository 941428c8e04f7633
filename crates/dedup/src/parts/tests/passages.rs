//! Passages: their holders, shares and counts.

use super::*;

#[test]
fn candidates_include_every_pair_of_brute_force() {
    // Every third text contains the middle of an earlier one.
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
fn a_cancelled_search_stops_and_a_search_beyond_the_memory_limit_is_refused() {
    let corpus = Corpus::new((0..70).map(|i| around(i, 40, &words(7, 60), 40)).collect());
    let texts = corpus.numbered();
    let key = shingle_sets::key_of(&corpus.classes);
    let (running, ended) = (|| Ok(()), || Err(DedupError::Job(JobError::Cancelled)));
    let free = Budget::new(None, 1).unwrap();
    let postings = |budget: Budget, table_bytes, check_cancelled| {
        let check_memory = |bytes| budget.check(table_bytes + bytes);
        Postings::of(&texts, key, 64, &check_memory, check_cancelled)
    };
    let stopped = postings(free, 0, &ended).map(drop);
    assert!(matches!(stopped, Err(DedupError::Job(JobError::Cancelled))));
    let small = Budget::new(Some(160 << 20), 1).unwrap();
    assert!(postings(small, 1 << 30, &running).is_err());
    let postings = postings(free, 0, &running).unwrap();
    let none = Covered::none(postings.entries());
    let candidates = Candidates::new(&postings, &none, LEAST);
    let stopped = find_pairs(&texts, &candidates, key, LEAST, |_| Ok(()), &ended);
    assert!(matches!(stopped, Err(DedupError::Job(JobError::Cancelled))));
    let references = postings.references(MIN_SHARED).into_iter().map(Ok);
    let stopped = find_passages(corpus.input(&texts, &postings, &ended), LEAST, references).map(drop);
    assert!(matches!(stopped, Err(DedupError::Job(JobError::Cancelled))));
}

#[test]
fn a_passage_is_found_for_any_number_of_holders() {
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
        let texts: Vec<u32> = only.iter().map(|holder| holder.text.get()).collect();
        assert_eq!(texts, (0..holders).collect::<Vec<_>>());
        assert_eq!(only.iter().filter(|holder| holder.is_reference).count(), 1);
        for holder in only {
            assert_eq!(corpus.cut(holder), [passage.join(" ")]);
        }
    }
}

#[test]
fn a_share_is_measured_in_the_same_way_for_any_number_of_holders() {
    // 60 short words between 90 long ones: 58 of 148 shingles, but only a seventh of the characters.
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
fn small_passages_are_reported_if_they_reach_the_share_together() {
    let passages = [words(1, 40), words(2, 40), words(3, 40)];
    // Half of the texts have two passages of a fifth each. The other half has a third passage only.
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
fn a_passage_with_a_varying_word_is_reported_once() {
    // A notice with one of five years in it.
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
fn texts_with_overlapping_quotations_of_a_text_are_holders_of_one_passage() {
    let quoted_text = words(3, 519);
    let quotation = |i: usize| around(i as u64, 30, &quoted_text[i * 7 % 400..i * 7 % 400 + 120], 30);
    let texts = std::iter::once(quoted_text.join(" ")).chain((1..300).map(quotation));
    let corpus = Corpus::new(texts.collect());
    let outcome = corpus.search(20);
    let [only] = outcome.passages.as_slice() else {
        panic!("{:?}", outcome.passages.len())
    };
    assert_eq!(only.len(), 300);
    // Fewer quotations overlap at both ends of the text.
    assert!(only[0].is_reference && only[0].share > 0.85);
    let passage = corpus.cut(&only[0]).concat();
    for holder in &only[1..] {
        let i = holder.text.index();
        let quoted: Vec<&str> = quoted_text[i * 7 % 400..i * 7 % 400 + 120]
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
