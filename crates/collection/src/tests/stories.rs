//! The stories of a collection, compared with those of a story engine that gets the same documents directly.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proptest::prelude::*;
use twinprint_cluster::stories::Stories;

use super::super::*;
use super::faulty_store::FaultyStore;
use crate::stories::options;

mod answers;

const SUBJECTS: [&str; 5] = [
    "quake coast harbour towns rescue shaken tremor wave",
    "football final stadium goal keeper striker cup crowd",
    "bank rates inflation loan market bond cut reserve",
    "comet telescope orbit tail dust observatory bright sky",
    "地震 海岸 救援 城镇 海浪 余震 港口 灾区",
];
/// A day in May 2024, and the clock of the tests a year later.
const DAY: i64 = 1_714_521_600;
const NOW: u64 = 1_746_057_600;

/// Report `n`: words of its subject, and words of its own. The word at `edit` is replaced, unless it is 0.
fn report(n: u64, edit: u64) -> String {
    let subject: Vec<&str> = SUBJECTS[(n % 5) as usize].split(' ').collect();
    let words = (0..70u64).map(|i| match i % 2 {
        _ if edit > 0 && i == edit => "edited".to_owned(),
        0 => subject[((n * 7 + i * i + i / 3) % 8) as usize].to_owned(),
        _ => format!("w{}", (n * 31 + i * 17) % 300),
    });
    words.collect::<Vec<_>>().join(" ")
}

fn document(id: &str, text: String, hours: i64) -> NewDocument {
    let time = twinprint_stream::time::stamp(DAY + hours * 3600);
    NewDocument {
        details: Details {
            url: Some(format!("http://site{}.example/{id}", id.len() % 3)),
            time,
            ..Details::default()
        },
        ..super::document(id, text)
    }
}

fn settings() -> Settings {
    Settings {
        k: 24,
        max_texts: 10_000,
        stories: true,
        story_threshold: Some(0.2),
        story_merge: Some(0.4),
        story_window: Some(30 * 3600),
        story_half_life: Some(20 * 3600),
        ..Settings::default()
    }
}

fn open(store: &FaultyStore) -> Collection {
    let collection = Collection::with_backend(Path::new("stories"), store.clone(), &settings()).unwrap();
    collection.set_clock(NOW);
    collection
}

fn put(collection: &Collection, documents: Vec<NewDocument>) -> Vec<Answer> {
    let answers = collection.add(documents, false, Durability::Synced).unwrap();
    answers.into_iter().map(Result::unwrap).collect()
}

/// The reference: a story engine that gets the documents, groups and deletions of the collection.
struct Reference {
    engine: Stories,
    clock: i64,
    /// The number, group and story of each document, by id.
    documents: BTreeMap<String, (u64, u64, u64)>,
    /// The latest text of each document.
    texts: BTreeMap<String, Content>,
    /// The story of each group.
    labels: BTreeMap<u64, u64>,
    /// All story ids that were ever reported.
    reported: BTreeSet<u64>,
}

impl Reference {
    fn new() -> Self {
        Self {
            engine: Stories::new(options(&settings()).unwrap()),
            clock: i64::MIN,
            documents: BTreeMap::new(),
            texts: BTreeMap::new(),
            labels: BTreeMap::new(),
            reported: BTreeSet::new(),
        }
    }

    /// Updates the members of group `old` that were placed again after change `seq`, because their leader was deleted or got another text.
    /// They stay in their stories. A group that one of them founds continues its story. `text` is the text of a deleted leader.
    fn regroup(&mut self, collection: &Collection, old: u64, seq: u64, text: Option<&Content>) {
        let changes = collection.changes(seq + 1, 10_000).unwrap();
        let placed: Vec<Change> = changes
            .into_iter()
            .take_while(|change| change.change == ChangeKind::Regrouped)
            .collect();
        // A member with the same text becomes the leader, and nothing else changes.
        if let [successor] = &placed[..]
            && text == Some(&self.texts[&successor.id])
        {
            return;
        }
        if text.is_some() && !placed.is_empty() {
            self.labels.remove(&old);
        }
        for Change { id, group_id, .. } in placed {
            let (_, group, story) = self.documents.get_mut(&id).unwrap();
            *group = group_id;
            self.labels.entry(group_id).or_insert(*story);
        }
    }

    fn put(&mut self, collection: &Collection, document: &NewDocument, answer: &Answer) {
        // Another text counts as a change even if its fingerprint is the same.
        let before = self.texts.insert(document.id.clone(), document.content.clone());
        if answer.moved == Some(0) && before.as_ref() == Some(&document.content) {
            return;
        }
        let (seq, group) = (answer.seq.unwrap(), answer.group_id.unwrap());
        let old = self.documents.remove(&document.id);
        let time = parse_time(document.details.time.as_deref().unwrap()).unwrap();
        self.clock = self.clock.max(time);
        self.engine.advance(self.clock);
        let label = self.labels.get(&group).filter(|_| answer.best.is_some());
        let story = match label {
            Some(&label) if self.engine.grow(label, time, self.clock) => self.engine.resolve(label),
            _ => {
                let prepared = collection.shared.preparer.prepare(document.clone(), 0).unwrap();
                let (item, _) = prepared.item.unwrap();
                item.represent(seq, time, |item| self.engine.place(item, self.clock))
                    .story
            }
        };
        assert_eq!(answer.story_id, Some(story));
        self.reported.insert(story);
        self.labels.insert(group, story);
        self.documents.insert(document.id.clone(), (seq, group, story));
        if let Some(old) = old {
            self.regroup(collection, old.1, seq, None);
            self.leave(old);
        }
    }

    fn delete(&mut self, collection: &Collection, id: &str, seq: Option<u64>) {
        if let (Some(old), Some(text)) = (self.documents.remove(id), self.texts.remove(id)) {
            let seq = seq.unwrap();
            self.regroup(collection, old.1, seq, Some(&text));
            self.leave(old);
        }
    }

    fn leave(&mut self, (seq, group, story): (u64, u64, u64)) {
        self.engine.shrink(story, seq);
        if !self.documents.values().any(|&(_, other, _)| other == group) {
            self.labels.remove(&group);
        }
    }

    /// Checks that every document is in its story, and that the stories and their documents are those of the engine.
    fn compare(&self, collection: &Collection) {
        let mut members: BTreeMap<u64, Vec<(u64, &str)>> = BTreeMap::new();
        for (id, &(seq, _, story)) in &self.documents {
            let story = self.engine.resolve(story);
            assert_eq!(collection.get(id).unwrap().story_id, Some(story), "{id}");
            members.entry(story).or_default().push((seq, id));
        }
        let all = StoryQuery {
            min_size: 1,
            limit: 1000,
            ..StoryQuery::default()
        };
        let list = collection.stories(&all).unwrap();
        assert_eq!(list.next_after, None);
        let ids: BTreeSet<u64> = list.stories.iter().map(|story| story.story_id).collect();
        assert!(ids.iter().eq(members.keys()), "{ids:?}");
        for story in &list.stories {
            let documents = members.get_mut(&story.story_id).unwrap();
            documents.sort_unstable();
            assert_eq!(story.size, documents.len() as u64);
            let live = self.engine.get(story.story_id);
            assert_eq!(story.ended, live.is_none());
            let detail = collection.story(story.story_id, 0, 1000).unwrap();
            assert_eq!(&detail.story, story);
            assert!(
                detail
                    .members
                    .iter()
                    .map(|member| member.id.as_str())
                    .eq(documents.iter().map(|&(_, id)| id))
            );
            if let Some(live) = live {
                assert_eq!(story.title, self.engine.topic(live).title);
                assert_eq!((story.distinct, &story.merged), (live.members, &live.merged));
            }
        }
        for &story in &self.reported {
            let exists = members.contains_key(&self.engine.resolve(story));
            match collection.story(story, 0, 1) {
                Ok(detail) => assert!(exists && detail.story.story_id == self.engine.resolve(story)),
                Err(CollectionError::NoStory(_)) => assert!(!exists, "{story}"),
                Err(error) => panic!("{error}"),
            }
        }
        // `verify` compares the stored state with the state in memory.
        assert_eq!(collection.verify().unwrap().stories, list.stories.len() as u64);
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// A batch of documents: id, report, edit, and hours since the last document.
    Add(Vec<(u8, u64, u64, i64)>),
    Delete(u8),
    Close,
    Kill,
}

fn step() -> impl Strategy<Value = Step> {
    let document = (
        0u8..60,
        0u64..25,
        prop_oneof![3 => Just(0u64), 1 => 1u64..60],
        0i64..4,
    );
    prop_oneof![
        8 => prop::collection::vec(document, 1..6).prop_map(Step::Add),
        2 => (0u8..60).prop_map(Step::Delete),
        1 => Just(Step::Close),
        1 => Just(Step::Kill),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn the_stories_of_a_collection_are_those_of_the_engine(steps in prop::collection::vec(step(), 1..50)) {
        let mut store = FaultyStore::default();
        let mut collection = open(&store);
        let (mut reference, mut hours) = (Reference::new(), 0);
        for step in steps {
            match step {
                Step::Add(documents) => {
                    let documents: Vec<NewDocument> = documents
                        .into_iter()
                        .map(|(id, n, edit, elapsed)| {
                        hours += elapsed;
                            document(&id.to_string(), report(n, edit), hours)
                        })
                        .collect();
                    let answers = put(&collection, documents.clone());
                    for (document, answer) in documents.iter().zip(&answers) {
                        reference.put(&collection, document, answer);
                    }
                }
                Step::Delete(id) => {
                    let deleted = collection.delete(&[id.to_string()], Durability::Synced).unwrap();
                    reference.delete(&collection, &id.to_string(), deleted[0]);
                }
                Step::Close => {
                    drop(collection);
                    collection = open(&store);
                }
                Step::Kill => {
                    // The collection is reopened from the current bytes, without an orderly close.
                    store = FaultyStore::with_bytes(store.bytes());
                    collection = open(&store);
                }
            }
        }
        reference.compare(&collection);
    }
}

#[test]
fn an_estimated_threshold_is_reported_and_is_the_same_after_restarts_and_kills() {
    let settings = Settings {
        stories: true,
        ..Settings::default()
    };
    let open = |store: &FaultyStore| {
        let collection = Collection::with_backend(Path::new("stories"), store.clone(), &settings).unwrap();
        collection.set_clock(NOW);
        collection
    };
    let stats = |collection: &Collection| collection.stats(None, None, 1).unwrap().stories.unwrap();
    let stories = |collection: &Collection| -> Vec<Option<u64>> {
        let story = |n: u64| collection.get(&n.to_string()).unwrap().story_id;
        (0..90).map(story).collect()
    };
    let whole = open(&FaultyStore::default());
    assert_eq!(stats(&whole).estimate, ThresholdEstimate::TooFewDocuments);
    put(
        &whole,
        (0..90)
            .map(|n| document(&n.to_string(), report(n, 0), 0))
            .collect(),
    );
    assert!(matches!(
        stats(&whole).estimate,
        ThresholdEstimate::FromDocuments(32 | 64)
    ));
    let mut store = FaultyStore::default();
    let mut parts = open(&store);
    for n in 0..90 {
        put(&parts, vec![document(&n.to_string(), report(n, 0), 0)]);
        if n % 20 == 7 {
            drop(parts);
            parts = open(&store);
        } else if n % 20 == 17 {
            store = FaultyStore::with_bytes(store.bytes());
            parts = open(&store);
        }
    }
    assert_eq!(stats(&whole), stats(&parts));
    assert_eq!(stories(&whole), stories(&parts));
    parts.verify().unwrap();
}
