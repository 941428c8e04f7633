use proptest::prelude::*;
use twinprint_text::overlap::overlap;

use super::*;

const KEY: HashKey = HashKey::PUBLIC;
const THRESHOLD: f64 = 0.6;
const SEED: u64 = 5;

fn described(number: usize, text: &str) -> CorpusText {
    CorpusText {
        item: number as u64,
        order: number as u64,
        fingerprint: number as u128 * 0x9E37_79B9_7F4A_7C15,
        features: 9,
        bytes: text.len() as u32,
        measure: Measure::WordGrams,
    }
}

proptest! {
    #[test]
    fn the_duplicate_with_the_least_priority_is_drawn(
        texts in prop::collection::vec(prop::collection::vec(0u8..6, 3..30), 2..40),
        copies in prop::collection::vec((any::<prop::sample::Index>(), 0u8..6), 0..40),
        sampled in 1usize..12,
    ) {
        let mut words = texts;
        for (of, last) in copies {
            let mut copy = of.get(&words).clone();
            copy.push(last);
            words.push(copy);
        }
        let join = |words: &Vec<u8>| words.iter().map(|word| format!("w{word}")).collect::<Vec<_>>().join(" ");
        let texts: Vec<String> = words.iter().map(join).collect();
        let corpus: Vec<CorpusText> = texts.iter().enumerate().map(|(n, text)| described(n, text)).collect();
        let mut shingler = Shingler::for_one_run(KEY);
        let sets: Vec<Vec<u64>> = texts.iter().map(|text| shingler.shingle(text, Measure::WordGrams)).collect();
        let sampled = sampled.min(texts.len());
        let chosen = (0..sampled).map(|n| Ok::<_, ()>((corpus[n], sets[n].clone())));
        let sample = Sample::new(KEY, THRESHOLD, SEED, chosen).unwrap();
        // The buffers are used for all texts, one after another.
        let mut scratch = sample.scratch();
        for (text, canonical) in corpus.iter().zip(&texts) {
            sample.join_text(text, canonical, &mut scratch);
            prop_assert!(scratch.meetings.shared.iter().all(|&count| count == 0));
        }
        let hash = |n: usize, r#use: u64| corpus[n].hash(SEED, r#use);
        let expected = (0..sampled).map(|n| {
            let others = (0..texts.len()).filter(|&other| other != n);
            let duplicates = others.filter(|&other| overlap(&sets[n], &sets[other]).jaccard() >= THRESHOLD);
            duplicates.map(|other| (priority(hash(n, 1), hash(other, 2)), other as u64)).min()
        });
        let drawn = sample.drawn().map(|(_, drawn)| drawn.map(|drawn| (drawn.priority, drawn.item)));
        prop_assert_eq!(drawn.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    }
}
