//! Random texts compared with brute force.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// A text as pieces: the number of a passage, and the number of own words after it.
fn text() -> impl Strategy<Value = Vec<(usize, usize)>> {
    prop::collection::vec((0usize..3, 0usize..30), 0..3)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn every_pair_of_brute_force_is_found_as_a_pair_or_in_a_passage(
        texts in prop::collection::vec(text(), 2..30),
        lengths in prop::array::uniform3(PartsReport::NOTICED_WORDS..120),
        longer in 1usize..5,
        many in 2usize..12,
    ) {
        // The words of a text outside passages are longer than those of the passages.
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
            prop_assert!(outcome.connects(pair.a, pair.b), "{:?} and {:?}: {:?}", pair.a, pair.b, outcome);
        }
        // Texts that share a passage of few texts are a pair, whatever other passages they share.
        let holders = |passage: usize| {
            let holds = |pieces: &[(usize, usize)]| pieces.iter().any(|piece| piece.0 == passage);
            let holders = ids::<TextId>(texts.len()).zip(&texts).filter(|(_, pieces)| holds(pieces));
            holders.map(|(text, _)| text).collect::<BTreeSet<TextId>>()
        };
        for few in (0..3).map(holders).filter(|holders| holders.len() <= many) {
            for pair in expected.iter().filter(|pair| few.contains(&pair.a) && few.contains(&pair.b)) {
                prop_assert!(outcome.pairs.contains(pair), "{:?}: {:?}", pair, outcome);
            }
        }
        for holders in &outcome.passages {
            prop_assert!(holders.len() > many);
        }
        // No other pair is found, and the measures of every pair are correct.
        for pair in &outcome.pairs {
            prop_assert!(expected.contains(pair), "{:?}", pair);
        }
        for holders in &outcome.passages {
            let texts: BTreeSet<TextId> = holders.iter().map(|holder| holder.text).collect();
            prop_assert_eq!(texts.len(), holders.len(), "a holder occurs once");
            let reference = holders.iter().find(|holder| holder.is_reference).unwrap();
            let reference = format!(" {} ", corpus.cut(reference).concat());
            for holder in holders {
                for range in corpus.cut(holder) {
                // Both ends of the range occur in the reference.
                let words: Vec<&str> = range.split(' ').collect();
                    for run in [&words[..4], &words[words.len() - 4..]] {
                        let run = format!(" {} ", run.join(" "));
                        prop_assert!(reference.contains(&run), "{:?} in {:?}", run, reference);
                    }
                }
            }
        }
        // One thread has the same outcome as all.
        let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        prop_assert_eq!(one_thread.install(|| corpus.search(many)), outcome);
    }
}
