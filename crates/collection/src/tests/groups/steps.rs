//! Random sequences of changes, power cuts and reopening, on a collection and its brute-force twin.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proptest::prelude::*;

use super::super::faulty_store::FaultyStore;
use super::Incoming;
use super::twin::{Document, Twin};
use crate::row::Row;
use crate::*;

const NOW: u64 = 1_000_000;

#[derive(Clone, Debug)]
enum Step {
    Add(Vec<Incoming>),
    Delete(BTreeSet<u8>),
    DeleteSource(u8),
    Wait(u64),
    Check(Incoming),
    Reopen,
    PowerCut,
}

fn incoming() -> impl Strategy<Value = Incoming> {
    let text = (
        0u64..3,
        prop_oneof![Just(20u64), Just(70), Just(160)],
        prop_oneof![
            0u16..4096,
            (0u16..12).prop_map(|edit| 1 << edit),
            (0u16..12, 0u16..12).prop_map(|(a, b)| 1 << a | 1 << b)
        ],
    );
    let ttl = prop_oneof![3 => Just(None), 1 => (1u64..20).prop_map(Some)];
    (0u8..30, text, 0u8..4, ttl).prop_map(|(id, text, source, ttl)| Incoming {
        id,
        text,
        source,
        ttl,
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => prop::collection::vec(incoming(), 1..5).prop_map(Step::Add),
        4 => prop::collection::btree_set(0u8..30, 1..5).prop_map(Step::Delete),
        1 => (0u8..4).prop_map(Step::DeleteSource),
        2 => (1u64..12).prop_map(Step::Wait),
        2 => incoming().prop_map(Step::Check),
        1 => Just(Step::Reopen),
        1 => Just(Step::PowerCut),
    ]
}

/// A collection on storage that can lose unsynced writes, and its brute-force twin.
struct Pair {
    storage: FaultyStore,
    settings: Settings,
    collection: Option<Collection>,
    twin: Twin,
    random: u64,
}

impl Pair {
    fn new(k: u32) -> Self {
        let settings = Settings {
            k,
            max_texts: 10_000,
            ..Settings::default()
        };
        let twin = Twin {
            threshold: settings.threshold,
            k,
            now: NOW,
            next: 1,
            documents: BTreeMap::new(),
            changes: BTreeMap::new(),
        };
        let mut pair = Self {
            storage: FaultyStore::default(),
            settings,
            collection: None,
            twin,
            random: 1,
        };
        pair.open();
        pair
    }

    fn open(&mut self) {
        self.collection = None;
        let collection =
            Collection::with_backend(Path::new("groups"), self.storage.clone(), &self.settings).unwrap();
        collection.set_clock(self.twin.now);
        self.collection = Some(collection);
    }

    fn collection(&self) -> &Collection {
        self.collection.as_ref().unwrap()
    }

    fn random(&mut self) -> u64 {
        self.random = self
            .random
            .wrapping_mul(0x5851_F42D_4C95_7F2D)
            .wrapping_add(0x1405_7B7E_F767_814F);
        self.random >> 33
    }

    fn check(&self, document: NewDocument) -> Answer {
        let mut answers = self.collection().check(vec![document]).unwrap();
        answers.remove(0).unwrap()
    }

    fn row(&self, incoming: &Incoming) -> Row {
        self.collection()
            .shared
            .preparer
            .prepare(incoming.document(), 0)
            .unwrap()
            .row
    }

    /// Cuts the power during or after a write. Acknowledged changes are stored. An unacknowledged write is stored completely or not at all.
    fn cut(&mut self, before: Option<Twin>) -> Result<(), TestCaseError> {
        let mut state = self.random();
        let bytes = self.storage.power_cut(|| {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            state >> 33
        });
        self.storage = FaultyStore::with_bytes(bytes);
        self.open();
        // The next write deletes the expired documents that the lost write would have deleted.
        self.collection().delete(&["nobody"], Durability::Synced).unwrap();
        let after = self.twin.compare(self.collection());
        match before {
            Some(mut before) if after.is_err() => {
                before.expire();
                self.twin = before;
                self.twin.compare(self.collection())
            }
            _ => after,
        }
    }

    /// Writes, on storage that may fail at any call. Returns the answer of the collection, or `None` after a failure.
    fn write<T>(
        &mut self,
        write: impl FnOnce(&Collection) -> Result<T, CollectionError>,
        model: impl FnOnce(&mut Twin),
    ) -> Result<Option<T>, TestCaseError> {
        let before = self.twin.clone();
        self.twin.expire();
        model(&mut self.twin);
        if self.random().is_multiple_of(8) {
            let calls = self.random() % 12;
            self.storage.fail_after(calls, std::io::ErrorKind::Other);
        }
        match write(self.collection()) {
            Ok(answer) => Ok(Some(answer)),
            Err(_) => self.cut(Some(before)).map(|()| None),
        }
    }

    fn take(&mut self, step: Step) -> Result<(), TestCaseError> {
        match step {
            Step::Add(batch) => {
                let rows: Vec<Row> = batch.iter().map(|incoming| self.row(incoming)).collect();
                // `check` of a single document gives the answer that `add` gives.
                let checked = match &batch[..] {
                    [one] => Some(self.check(one.document())),
                    _ => None,
                };
                let documents = batch.iter().map(Incoming::document).collect();
                let mut expected = Vec::new();
                let answers = self.write(
                    |collection| collection.add(documents, false, Durability::Synced),
                    |twin| {
                        expected.extend(
                            batch
                                .iter()
                                .zip(rows)
                                .map(|(incoming, row)| twin.put(incoming, row)),
                        );
                    },
                )?;
                for (answer, expected) in answers.into_iter().flatten().zip(expected) {
                    let answer = answer.unwrap();
                    let actual = (
                        answer.verdict,
                        answer.as_new,
                        answer.group_id.unwrap(),
                        answer.best.is_some(),
                    );
                    prop_assert_eq!(actual, expected);
                    if let Some(checked) = &checked {
                        let key = |answer: &Answer| {
                            let best = answer.best.as_ref().map(|best| best.id.clone());
                            (
                                answer.verdict,
                                answer.as_new,
                                answer.unchanged,
                                answer.moved,
                                best,
                            )
                        };
                        prop_assert_eq!(key(checked), key(&answer));
                    }
                }
            }
            Step::Delete(ids) => {
                let ids: Vec<String> = ids.iter().map(u8::to_string).collect();
                self.write(
                    |collection| collection.delete(&ids, Durability::Synced),
                    |twin| twin.delete_ids(&ids),
                )?;
            }
            Step::DeleteSource(source) => {
                let source = format!("source{source}");
                loop {
                    let ids = self.collection().ids_of_source(&source, 2).unwrap();
                    let expected = self
                        .twin
                        .documents
                        .values()
                        .filter(|document| document.source == source);
                    let expected: Vec<&str> = expected.map(|document| document.id.as_str()).take(2).collect();
                    prop_assert_eq!(&ids, &expected);
                    if ids.is_empty() {
                        return Ok(());
                    }
                    self.write(
                        |collection| collection.delete(&ids, Durability::Synced),
                        |twin| twin.delete_ids(&ids),
                    )?;
                }
            }
            Step::Wait(seconds) => {
                self.twin.now += seconds;
                self.collection().set_clock(self.twin.now);
                self.write(
                    |collection| collection.delete(&["nobody"], Durability::Synced),
                    |_| {},
                )?;
            }
            Step::Check(incoming) => {
                let row = self.row(&incoming);
                let id = "query".to_owned();
                let query = NewDocument {
                    id: id.clone(),
                    ..incoming.document()
                };
                let answer = self.check(query);
                let canonical = twinprint_text::canonical(&incoming.text());
                let source = incoming.source();
                let query = Document {
                    id,
                    source,
                    canonical,
                    row,
                    expires: u64::MAX,
                    group: 0,
                    follows: None,
                };
                let decided = self.twin.decide(&query);
                prop_assert_eq!(
                    answer.verdict,
                    decided.map_or(Verdict::New, |(verdict, _, _)| verdict)
                );
                prop_assert_eq!(answer.group_id, decided.map(|(_, group, _)| group));
            }
            Step::Reopen => self.open(),
            Step::PowerCut => self.cut(None)?,
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn groups_equal_those_of_the_brute_force_twin(k in prop_oneof![Just(16u32), Just(24)], steps in prop::collection::vec(step(), 1..40)) {
        let mut pair = Pair::new(k);
        for step in steps {
            pair.take(step)?;
            pair.twin.compare(pair.collection())?;
        }
    }
}
