//! Collections on storage that fails, and on damaged bytes. Acknowledged documents are stored, documents that were not sent are not, and
//! damage is a typed error or harmless.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use super::damage::{count_uncaught_panics, uncaught_panics};
use super::faulty_store::FaultyStore;
use crate::{Collection, CollectionError, Content, Details, Durability, NewDocument, Settings, Verdict};

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (*state ^ *state >> 31).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    mixed ^ mixed >> 32
}

/// A different text for every `n`.
fn text(n: u64) -> String {
    let mut state = n;
    let words: Vec<String> = (0..70)
        .map(|_| format!("word{}", random(&mut state) % 5000))
        .collect();
    words.join(" ")
}

fn document(n: u64) -> NewDocument {
    NewDocument {
        id: format!("d{n}"),
        content: Content::Text(text(n)),
        details: Details {
            url: Some(format!("http://h{}.example/{n}", n % 3)),
            ..Details::default()
        },
        ttl: None,
    }
}

fn open(store: &FaultyStore, stories: bool) -> Result<Collection, CollectionError> {
    let settings = Settings {
        stories,
        ..Settings::default()
    };
    Collection::with_backend(Path::new("faulty"), store.clone(), &settings)
}

/// The texts that were sent, by id. `None` is a deletion.
#[derive(Default)]
struct Sent {
    acknowledged: BTreeMap<String, Option<String>>,
    /// The reported story of each document, if the collection has stories.
    stories: BTreeMap<String, u64>,
    /// The texts of a failed write, which may be stored instead of the acknowledged ones.
    doubtful: BTreeMap<String, Option<String>>,
}

impl Sent {
    /// Writes until the storage fails.
    fn write_until_failure(
        &mut self,
        collection: &Collection,
        from: u64,
        writes: u64,
    ) -> Option<CollectionError> {
        for n in from..from + writes {
            let id = format!("d{n}");
            let result = collection.add(vec![document(n)], false, Durability::Synced);
            match result {
                Ok(answers) => {
                    let answer = answers[0].as_ref().unwrap();
                    assert!(answer.durable);
                    self.stories
                        .extend(answer.story_id.map(|story| (id.clone(), story)));
                    self.acknowledged.insert(id, Some(text(n)));
                }
                Err(error) => {
                    self.doubtful.insert(id, Some(text(n)));
                    return Some(error);
                }
            }
            if n % 4 == 3 {
                let old = format!("d{}", n - 2);
                match collection.delete(&[&old], Durability::Synced) {
                    Ok(_) => {
                        self.acknowledged.insert(old, None);
                    }
                    Err(error) => {
                        self.doubtful.insert(old, None);
                        return Some(error);
                    }
                }
            }
        }
        None
    }

    /// Checks that all acknowledged documents are stored, that no other is, and that every text is an exact duplicate of itself.
    fn check(&self, collection: &Collection) {
        collection.verify().unwrap();
        for (id, &story) in &self.stories {
            // No stories merge here, so the story is the reported one.
            if let Ok(document) = collection.get(id) {
                assert_eq!(document.story_id, Some(story), "{id}");
            }
        }
        let (documents, _) = collection.documents(0, 10_000).unwrap();
        let stored: BTreeMap<&str, &str> = documents
            .iter()
            .map(|document| (document.id.as_str(), document.text.as_deref().unwrap()))
            .collect();
        for (id, text) in &self.acknowledged {
            let found = stored.get(id.as_str()).map(|&text| text.to_owned());
            let allowed = [Some(text), self.doubtful.get(id)];
            assert!(
                allowed.into_iter().flatten().any(|text| *text == found),
                "{id}: {found:?}"
            );
        }
        for (id, text) in &stored {
            let was_sent = self.acknowledged.contains_key(*id)
                || self.doubtful.get(*id) == Some(&Some((*text).to_owned()));
            assert!(was_sent, "{id} was never sent");
            let query = NewDocument {
                id: "query".to_owned(),
                ..document(id[1..].parse().unwrap())
            };
            let answer = collection.check(vec![query]).unwrap().remove(0).unwrap();
            assert_eq!(
                (answer.verdict, answer.best.unwrap().id.as_str()),
                (Verdict::Exact, *id)
            );
        }
    }
}

#[test]
fn acknowledged_documents_survive_a_failure_of_any_write_or_sync() {
    for stories in [false, true] {
        fail_everywhere(stories);
    }
}

fn fail_everywhere(stories: bool) {
    let calls = {
        let store = FaultyStore::default();
        let collection = open(&store, stories).unwrap();
        let began = store.calls();
        assert!(Sent::default().write_until_failure(&collection, 0, 12).is_none());
        store.calls() - began
    };
    assert!(calls > 30, "{calls}");
    for (n, kind) in (0..calls)
        .step_by(3)
        .zip([ErrorKind::StorageFull, ErrorKind::Other].into_iter().cycle())
    {
        let store = FaultyStore::default();
        let mut sent = Sent::default();
        {
            let collection = open(&store, stories).unwrap();
            store.fail_after(n, kind);
            if let Some(error) = sent.write_until_failure(&collection, 0, 40) {
                assert!(matches!(error, CollectionError::ReadOnly { .. }), "{error}");
                // The error is repeated, and queries are still answered.
                let again = collection
                    .add(vec![document(99)], false, Durability::Synced)
                    .unwrap_err();
                assert!(again.to_string().contains("accepts no writes"), "{again}");
                assert!(collection.check(vec![document(98)]).is_ok());
                for (id, text) in &sent.acknowledged {
                    assert_eq!(collection.get(id).ok().and_then(|document| document.text), *text);
                }
            }
        }
        let mut state = n;
        let after_power_cut = FaultyStore::with_bytes(store.power_cut(|| random(&mut state)));
        sent.check(&open(&after_power_cut, stories).unwrap());
        // After kill -9 the system still has every write.
        sent.check(&open(&FaultyStore::with_bytes(store.bytes()), stories).unwrap());
    }
}

#[test]
fn acknowledged_documents_survive_power_cuts_at_any_time() {
    for stories in [false, true] {
        cut_at_any_time(stories);
    }
}

fn cut_at_any_time(stories: bool) {
    let mut state = 7;
    let mut bytes = Vec::new();
    let mut sent = Sent::default();
    for cycle in 0..20u64 {
        let store = FaultyStore::with_bytes(bytes);
        let collection = open(&store, stories).unwrap();
        sent.check(&collection);
        let calls = random(&mut state) % 300;
        store.fail_after(calls, ErrorKind::Other);
        sent.write_until_failure(&collection, cycle * 100, 30);
        bytes = store.power_cut(|| random(&mut state));
        drop(collection);
    }
    assert!(sent.acknowledged.len() > 20, "{}", sent.acknowledged.len());
}

#[test]
fn every_damaged_byte_is_harmless_or_reported() {
    for stories in [false, true] {
        damage_everywhere(stories);
    }
}

fn damage_everywhere(stories: bool) {
    let store = FaultyStore::default();
    let mut sent = Sent::default();
    {
        let collection = open(&store, stories).unwrap();
        assert!(sent.write_until_failure(&collection, 0, 8).is_none());
    }
    let intact = store.bytes();
    // All nonzero bytes, and some of the zeros.
    let offsets: Vec<usize> = (0..intact.len())
        .filter(|&at| intact[at] != 0 || at % 4099 == 0)
        .collect();
    assert!(offsets.len() > 1000, "{}", offsets.len());
    count_uncaught_panics();
    let (mut harmless, mut reported) = (0, 0);
    for at in offsets.into_iter().step_by(211) {
        let mut bytes = intact.clone();
        bytes[at] ^= 1 << (at % 8);
        let read_all = || -> Result<(), CollectionError> {
            let collection = open(&FaultyStore::with_bytes(bytes.clone()), stories)?;
            for (id, text) in &sent.acknowledged {
                match collection.get(id) {
                    Ok(document) => {
                        assert_eq!(document.text, *text, "byte {at}");
                        assert_eq!(document.story_id, sent.stories.get(id).copied(), "byte {at}");
                        if let Some(story) = document.story_id {
                            assert_eq!(collection.story(story, 0, 9)?.members[0].id, *id, "byte {at}");
                        }
                    }
                    Err(CollectionError::NoDocument { .. }) => {
                        assert!(text.is_none(), "byte {at}: {id} is lost");
                    }
                    Err(error) => return Err(error),
                }
                if text.is_some() {
                    let query = NewDocument {
                        id: "query".to_owned(),
                        ..document(id[1..].parse().unwrap())
                    };
                    let answer = collection.check(vec![query])?.remove(0)?;
                    assert_eq!(answer.verdict, Verdict::Exact, "byte {at}");
                }
            }
            Ok(())
        };
        match read_all() {
            Ok(()) => harmless += 1,
            Err(
                CollectionError::Damaged { .. } | CollectionError::Io { .. } | CollectionError::Newer { .. },
            ) => reported += 1,
            Err(error) => panic!("byte {at}: {error}"),
        }
    }
    assert_eq!(uncaught_panics(), 0);
    assert!(
        reported > 10 && harmless > 10,
        "{reported} reported, {harmless} harmless"
    );
}
