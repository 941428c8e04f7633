//! Collections on storage that fails, and on damaged bytes: what was acknowledged is there, what was not sent is not, and damage is a named
//! error or does not matter.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use super::damage::{panics_let_out, watch_panics};
use super::faulty_store::FaultyStore;
use crate::{Collection, CollectionError, Content, Details, Durability, NewDocument, Settings, Verdict};

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (*state ^ *state >> 31).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    mixed ^ mixed >> 32
}

/// A text of its own for every `n`.
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

/// What was sent, and of it what was acknowledged, by id; nothing stands for a deletion.
#[derive(Default)]
struct Sent {
    acknowledged: BTreeMap<String, Option<String>>,
    /// The story told of each document, where stories are kept.
    stories: BTreeMap<String, u64>,
    /// Of a write that failed, what may be there instead.
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

    /// Everything acknowledged is there, nothing else is, and every text is known for what it is.
    fn check(&self, collection: &Collection) {
        collection.verify().unwrap();
        for (id, &story) in &self.stories {
            // Nothing merges here: what was told is what is there.
            if let Ok(document) = collection.get(id) {
                assert_eq!(document.story_id, Some(story), "{id}");
            }
        }
        let (documents, _) = collection.documents(0, 10_000).unwrap();
        let there: BTreeMap<&str, &str> = documents
            .iter()
            .map(|document| (document.id.as_str(), document.text.as_deref().unwrap()))
            .collect();
        for (id, text) in &self.acknowledged {
            let found = there.get(id.as_str()).map(|&text| text.to_owned());
            let may = [Some(text), self.doubtful.get(id)];
            assert!(
                may.into_iter().flatten().any(|text| *text == found),
                "{id}: {found:?}"
            );
        }
        for (id, text) in &there {
            let known = self.acknowledged.contains_key(*id)
                || self.doubtful.get(*id) == Some(&Some((*text).to_owned()));
            assert!(known, "{id} was never sent");
            let asked = NewDocument {
                id: "asked".to_owned(),
                ..document(id[1..].parse().unwrap())
            };
            let answer = collection.check(vec![asked]).unwrap().remove(0).unwrap();
            assert_eq!(
                (answer.verdict, answer.best.unwrap().id.as_str()),
                (Verdict::Exact, *id)
            );
        }
    }
}

#[test]
fn whatever_write_or_sync_fails_what_was_acknowledged_is_there() {
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
        let left = FaultyStore::holding(store.power_cut(|| random(&mut state)));
        sent.check(&open(&left, stories).unwrap());
        // As after kill -9: the system still has every write.
        sent.check(&open(&FaultyStore::holding(store.bytes()), stories).unwrap());
    }
}

#[test]
fn power_cuts_at_any_time_leave_what_was_acknowledged() {
    for stories in [false, true] {
        cut_at_any_time(stories);
    }
}

fn cut_at_any_time(stories: bool) {
    let mut state = 7;
    let mut bytes = Vec::new();
    let mut sent = Sent::default();
    for cycle in 0..20u64 {
        let store = FaultyStore::holding(bytes);
        let collection = open(&store, stories).unwrap();
        sent.check(&collection);
        let ahead = random(&mut state) % 300;
        store.fail_after(ahead, ErrorKind::Other);
        sent.write_until_failure(&collection, cycle * 100, 30);
        bytes = store.power_cut(|| random(&mut state));
        drop(collection);
    }
    assert!(sent.acknowledged.len() > 20, "{}", sent.acknowledged.len());
}

#[test]
fn every_damaged_byte_is_harmless_or_named() {
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
    let whole = store.bytes();
    // Bytes of data, and some of the empty rest.
    let places: Vec<usize> = (0..whole.len())
        .filter(|&at| whole[at] != 0 || at % 4099 == 0)
        .collect();
    assert!(places.len() > 1000, "{}", places.len());
    watch_panics();
    let (mut harmless, mut named) = (0, 0);
    for at in places.into_iter().step_by(211) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        let right = || -> Result<(), CollectionError> {
            let collection = open(&FaultyStore::holding(bytes.clone()), stories)?;
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
                    let asked = NewDocument {
                        id: "asked".to_owned(),
                        ..document(id[1..].parse().unwrap())
                    };
                    let answer = collection.check(vec![asked])?.remove(0)?;
                    assert_eq!(answer.verdict, Verdict::Exact, "byte {at}");
                }
            }
            Ok(())
        };
        match right() {
            Ok(()) => harmless += 1,
            Err(
                CollectionError::Damaged { .. } | CollectionError::Io { .. } | CollectionError::Newer { .. },
            ) => named += 1,
            Err(error) => panic!("byte {at}: {error}"),
        }
    }
    assert_eq!(panics_let_out(), 0);
    assert!(named > 10 && harmless > 10, "{named} named, {harmless} harmless");
}
