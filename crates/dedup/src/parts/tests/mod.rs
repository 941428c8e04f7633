//! Pairs and passages of generated texts compared with brute force.

mod brute_force;
mod pairs_and_holders;
mod passages;

use crate::corpus::shingle_sets;
use tempfile::TempDir;
use twinprint_io::JobError;
use twinprint_text::Measure;

use super::pairs::PairMeasurer;
use super::*;
use crate::corpus::{Classes, TextValues};
use crate::ids::{Id, IdVec, ids};
use twinprint_io::work::SpoolWriter;

const LEAST: f64 = 0.3;

/// `n` generated words, which depend on the seed only.
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
    places: IdVec<TextId, TextPlace>,
    texts: Vec<String>,
}

impl Corpus {
    fn new(texts: Vec<String>) -> Self {
        Self::measured(texts, Measure::WordGrams)
    }

    fn measured(texts: Vec<String>, measure: Measure) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = SpoolWriter::create(dir.path(), 0);
        let mut classes = Classes::default();
        let mut added = writer.add(texts.concat());
        for (i, text) in texts.iter().enumerate() {
            let text = TextValues {
                text: added.keep(text.len()).unwrap(),
                features: 99,
                shingles: 0,
                measure,
            };
            classes.push(i as u128, text);
        }
        drop(added);
        let places = classes
            .class_ids()
            .map(|class| TextPlace {
                text: classes.text(class),
                measure: classes.measure(class),
            })
            .collect();
        Self {
            dir,
            classes,
            spool: writer.finish().unwrap(),
            places,
            texts,
        }
    }

    fn numbered(&self) -> Texts<'_> {
        Texts::new(&self.places, &self.spool)
    }

    fn input<'s>(
        &'s self,
        texts: &'s Texts<'s>,
        index: &'s dyn FingerprintIndex,
        check_cancelled: CheckCancelled<'s>,
    ) -> PassageInput<'s> {
        PassageInput {
            texts,
            index,
            key: shingle_sets::key_of(&self.classes),
            work: SortSpace::new(self.dir.path(), MAX_SORT_BYTES),
            check_cancelled,
        }
    }

    /// All pairs with a containment of at least [`LEAST`], from a comparison of all texts.
    fn by_brute_force(&self) -> Vec<TextPair> {
        let texts = self.numbered();
        let mut measuring = PairMeasurer::new(shingle_sets::key_of(&self.classes));
        let mut pairs = Vec::new();
        for a in ids::<TextId>(texts.len()) {
            let others: Vec<TextId> = ids(texts.len()).skip(a.index() + 1).collect();
            pairs.extend(measuring.pairs(&texts, a, &others, LEAST).unwrap());
        }
        pairs
    }

    /// The pairs, the passages with their holders, and the counts of omitted ones. A fingerprint of more than `many` texts is common.
    fn search(&self, many: usize) -> Outcome {
        let texts = self.numbered();
        let key = shingle_sets::key_of(&self.classes);
        let free = Budget::new(None, 1).unwrap();
        let check_cancelled = || Ok(());
        let postings = Postings::of(&texts, key, many, &|bytes| free.check(bytes), &check_cancelled).unwrap();
        let input = self.input(&texts, &postings, &check_cancelled);
        let references = postings.references(MIN_SHARED).into_iter().map(Ok);
        let shared = find_passages(input, LEAST, references).unwrap();
        let mut passages = shared.found;
        let candidates = Candidates::new(&postings, &shared.covered, LEAST);
        let mut file = NumberWriter::create(self.dir.path()).unwrap();
        let push = |pair: TextPair| pair.write(&mut file);
        find_pairs(&texts, &candidates, key, LEAST, push, &check_cancelled).unwrap();
        let mut file = file.finish().unwrap();
        let mut outcome = Outcome {
            pairs: std::iter::from_fn(|| TextPair::read(&mut file).unwrap()).collect(),
            passages: Vec::new(),
            small: passages.unreported(),
            phrases: shared.left.phrases,
            limited: shared.left.limited,
        };
        let mut holders_left = 0;
        passages
            .each(|holders, holder| {
                if holders_left == 0 {
                    holders_left = holders;
                    outcome.passages.push(Vec::new());
                }
                holders_left -= 1;
                outcome.passages.last_mut().unwrap().push(holder);
                Ok(())
            })
            .unwrap();
        outcome
    }

    /// The text of each range of a holder.
    fn cut(&self, holder: &Holder) -> Vec<String> {
        let text: Vec<char> = self.texts[holder.text.index()].chars().collect();
        let ranges = holder
            .places
            .iter()
            .map(|range| &text[range.start as usize..range.end as usize]);
        ranges.map(|range| range.iter().collect()).collect()
    }
}

#[derive(Debug, PartialEq)]
struct Outcome {
    pairs: Vec<TextPair>,
    passages: Vec<Vec<Holder>>,
    small: u64,
    phrases: u64,
    limited: u64,
}

impl Outcome {
    /// True if two texts are a pair, or share a passage.
    fn connects(&self, a: TextId, b: TextId) -> bool {
        let shares = |passage: &Vec<Holder>| {
            [a, b]
                .iter()
                .all(|&text| passage.iter().any(|holder| holder.text == text))
        };
        self.pairs.iter().any(|pair| (pair.a, pair.b) == (a, b)) || self.passages.iter().any(shares)
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
