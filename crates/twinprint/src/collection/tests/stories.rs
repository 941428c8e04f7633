//! The stories of a collection against the engine fed by hand, through endings of every kind, and as lists.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cluster::stories::Stories;
use proptest::prelude::*;

use super::super::stories::options;
use super::super::*;
use super::faulty_store::FaultyStore;

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

/// Report `n`: words of its subject and of its own, `edit` of them exchanged.
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
    let time = crate::stream::time::stamp(DAY + hours * 3600);
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
        story_threshold: 0.2,
        story_merge: 0.4,
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

/// The engine, told by hand what the collection decided.
struct Twin {
    engine: Stories,
    clock: i64,
    /// Of each document by id: its number, group and story.
    documents: BTreeMap<String, (u64, u64, u64)>,
    labels: BTreeMap<u64, u64>,
    /// Ids ever told for stories.
    told: BTreeSet<u64>,
}

impl Twin {
    fn new() -> Self {
        Self {
            engine: Stories::new(options(&settings()).unwrap()),
            clock: i64::MIN,
            documents: BTreeMap::new(),
            labels: BTreeMap::new(),
            told: BTreeSet::new(),
        }
    }

    fn put(&mut self, collection: &Collection, document: &NewDocument, answer: &Answer) {
        if answer.moved == Some(0) {
            return;
        }
        let (seq, group) = (answer.seq.unwrap(), answer.group_id.unwrap());
        let old = self.documents.remove(&document.id);
        let time = crate::stream::parse_time(document.details.time.as_deref().unwrap()).unwrap();
        self.clock = self.clock.max(time);
        self.engine.advance(self.clock);
        let label = self.labels.get(&group).filter(|_| answer.best.is_some());
        let story = match label {
            Some(&label) if self.engine.grow(label, time, self.clock) => self.engine.resolve(label),
            _ => {
                let prepared = collection.inner.workshop.prepare(document.clone(), 0).unwrap();
                let (item, _) = prepared.item.unwrap();
                item.represent(seq, time, |item| self.engine.place(item, self.clock))
                    .story
            }
        };
        assert_eq!(answer.story_id, Some(story));
        self.told.insert(story);
        self.labels.insert(group, story);
        self.documents.insert(document.id.clone(), (seq, group, story));
        if let Some(old) = old {
            self.leave(old);
        }
    }

    fn delete(&mut self, id: &str) {
        if let Some(old) = self.documents.remove(id) {
            self.leave(old);
        }
    }

    fn leave(&mut self, (seq, group, story): (u64, u64, u64)) {
        self.engine.shrink(story, seq);
        if !self.documents.values().any(|&(_, other, _)| other == group) {
            self.labels.remove(&group);
        }
    }

    /// Every document in the story it was told, every story of its documents, live where the engine has it.
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
                    .map(|member| member.doc_id.as_str())
                    .eq(documents.iter().map(|&(_, id)| id))
            );
            if let Some(live) = live {
                assert_eq!(story.title, self.engine.topic(live).title);
                assert_eq!((story.distinct, &story.merged), (live.members, &live.merged));
            }
        }
        for &story in &self.told {
            let there = members.contains_key(&self.engine.resolve(story));
            match collection.story(story, 0, 1) {
                Ok(detail) => assert!(there && detail.story.story_id == self.engine.resolve(story)),
                Err(CollectionError::NoStory(_)) => assert!(!there, "{story}"),
                Err(error) => panic!("{error}"),
            }
        }
        // Ends with a look at whether the disk says the same as memory.
        assert_eq!(collection.verify().unwrap().stories, list.stories.len() as u64);
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// Some documents at once: id, report, edit, and hours gone by.
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
        let (mut twin, mut hours) = (Twin::new(), 0);
        for step in steps {
            match step {
                Step::Add(documents) => {
                    let documents: Vec<NewDocument> = documents
                        .into_iter()
                        .map(|(id, n, edit, gone)| {
                            hours += gone;
                            document(&id.to_string(), report(n, edit), hours)
                        })
                        .collect();
                    let answers = put(&collection, documents.clone());
                    for (document, answer) in documents.iter().zip(&answers) {
                        twin.put(&collection, document, answer);
                    }
                }
                Step::Delete(id) => {
                    collection.delete(&[id.to_string()], Durability::Synced).unwrap();
                    twin.delete(&id.to_string());
                }
                Step::Close => {
                    drop(collection);
                    collection = open(&store);
                }
                Step::Kill => {
                    // The bytes as they are, without an orderly end.
                    store = FaultyStore::holding(store.bytes());
                    collection = open(&store);
                }
            }
        }
        twin.compare(&collection);
    }
}

/// Reports an hour apart: on two subjects in the first half of `hours`, on three others in the second.
fn hourly(hours: u64) -> Vec<NewDocument> {
    let of_half = |n: &u64| (n % 5 < 2) == (*n < hours / 2);
    let report = |n: u64| document(&n.to_string(), report(n, 0), n as i64);
    (0..hours).filter(of_half).map(report).collect()
}

/// A collection of such reports, taken in one by one.
fn reports(hours: u64) -> Collection {
    let collection = open(&FaultyStore::default());
    for document in hourly(hours) {
        put(&collection, vec![document]);
    }
    collection
}

#[test]
fn batches_threads_and_endings_do_not_show() {
    let told = |collection: &Collection| -> Vec<(String, Option<u64>)> {
        let (documents, _) = collection.documents(0, 10_000).unwrap();
        documents
            .into_iter()
            .map(|document| (document.doc_id, document.story_id))
            .collect()
    };
    // More than are left in the log at an end, so that the state is saved as well.
    let hours = 900;
    let one_by_one = reports(hours);
    for (batch, threads) in [(1000, 1), (7, 2), (100, 4)] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let store = FaultyStore::default();
        let mut collection = open(&store);
        let documents = hourly(hours);
        for (n, batch) in documents.chunks(batch).enumerate() {
            pool.install(|| put(&collection, batch.to_vec()));
            if n == 3 {
                drop(collection);
                collection = open(&store);
            }
        }
        assert_eq!(told(&collection), told(&one_by_one));
        let all = StoryQuery {
            min_size: 1,
            limit: 1000,
            ..StoryQuery::default()
        };
        assert_eq!(
            collection.stories(&all).unwrap(),
            one_by_one.stories(&all).unwrap()
        );
        collection.verify().unwrap();
    }
}

#[test]
fn lists_are_by_time_and_in_parts() {
    let collection = reports(120);
    let all = StoryQuery {
        min_size: 1,
        limit: 1000,
        ..StoryQuery::default()
    };
    let whole = collection.stories(&all).unwrap().stories;
    assert!(whole.iter().any(|story| story.ended) && whole.iter().any(|story| !story.ended));
    let key = |story: &Story| (story.last.clone().unwrap(), story.story_id);
    assert!(whole.windows(2).all(|pair| key(&pair[0]) > key(&pair[1])));
    let hour = |n: i64| DAY + n * 3600;
    for ended in [None, Some(true), Some(false)] {
        for (since, until) in [
            (None, None),
            (Some(hour(20)), Some(hour(70))),
            (Some(hour(118)), None),
            (None, Some(hour(-1))),
        ] {
            for min_size in [1, 3] {
                let stamp = |seconds: Option<i64>| seconds.and_then(crate::stream::time::stamp);
                let expected: Vec<&Story> = whole
                    .iter()
                    .filter(|story| ended.is_none_or(|ended| story.ended == ended) && story.size >= min_size)
                    .filter(|story| stamp(since).is_none_or(|since| story.last.as_ref().unwrap() >= &since))
                    .filter(|story| stamp(until).is_none_or(|until| story.last.as_ref().unwrap() <= &until))
                    .collect();
                let mut parts = Vec::new();
                let mut query = StoryQuery {
                    ended,
                    since,
                    until,
                    min_size,
                    limit: 3,
                    after: None,
                };
                loop {
                    let part = collection.stories(&query).unwrap();
                    assert!(part.stories.len() <= 3);
                    parts.extend(part.stories);
                    query.after = part.next_after;
                    if query.after.is_none() {
                        break;
                    }
                }
                assert!(
                    parts.iter().eq(expected),
                    "{ended:?} {since:?} {until:?} {min_size}"
                );
            }
        }
    }
    let wrong = StoryQuery {
        after: Some("nowhere".to_owned()),
        ..StoryQuery::default()
    };
    assert!(matches!(
        collection.stories(&wrong),
        Err(CollectionError::Invalid(_))
    ));
    // The documents of a story in parts.
    let large = whole.iter().max_by_key(|story| story.size).unwrap();
    let (mut after, mut members) = (0, Vec::new());
    loop {
        let part = collection.story(large.story_id, after, 2).unwrap();
        members.extend(part.members);
        match part.next_after {
            Some(next) => after = next,
            None => break,
        }
    }
    assert_eq!(
        members,
        collection.story(large.story_id, 0, 1000).unwrap().members
    );
    assert_eq!(members.len() as u64, large.size);
}

#[test]
fn documents_that_go_take_their_titles_along_and_the_last_its_story() {
    let collection = reports(120);
    let all = StoryQuery {
        min_size: 1,
        limit: 1000,
        ..StoryQuery::default()
    };
    for ended in [false, true] {
        let stories = collection.stories(&all).unwrap().stories;
        let story = stories
            .iter()
            .find(|story| story.ended == ended && story.size > 2)
            .unwrap();
        let members = collection.story(story.story_id, 0, 1000).unwrap().members;
        let titled = |id: &str| report(id.parse().unwrap(), 0).starts_with(story.title.trim_end_matches('…'));
        let (of_title, rest): (Vec<&Named>, Vec<&Named>) =
            members.iter().partition(|member| titled(&member.doc_id));
        assert_eq!(of_title.len(), 1, "{story:?}");
        collection
            .delete(&[&of_title[0].doc_id], Durability::Synced)
            .unwrap();
        let left = collection.story(story.story_id, 0, 1000).unwrap();
        assert_ne!(left.story.title, story.title);
        assert_eq!((left.story.size, left.story.ended), (story.size - 1, ended));
        let rest: Vec<&str> = rest.iter().map(|member| member.doc_id.as_str()).collect();
        collection.delete(&rest, Durability::Synced).unwrap();
        assert!(matches!(
            collection.story(story.story_id, 0, 1),
            Err(CollectionError::NoStory(_))
        ));
        collection.verify().unwrap();
    }
}

#[test]
fn expired_documents_leave_and_ended_stories_stay() {
    let collection = open(&FaultyStore::default());
    let mut short = document("short", report(1, 0), 0);
    short.ttl = Some(50);
    let story = put(&collection, vec![short, document("long", report(1, 9), 1)])[1]
        .story_id
        .unwrap();
    // Much later another subject comes, and the story has ended.
    put(&collection, vec![document("other", report(2, 0), 100)]);
    assert!(collection.story(story, 0, 10).unwrap().story.ended);
    collection.set_clock(NOW + 60);
    put(&collection, vec![document("another", report(3, 0), 101)]);
    let left = collection.story(story, 0, 10).unwrap();
    assert_eq!((left.story.size, left.members[0].doc_id.as_str()), (1, "long"));
    // A duplicate after the end begins a story; the group is the same.
    let again = put(&collection, vec![document("again", report(1, 12), 102)]).remove(0);
    assert_eq!((again.verdict, again.story_id), (Verdict::Near, again.seq));
    let more = put(&collection, vec![document("more", report(1, 13), 103)]).remove(0);
    assert_eq!(more.story_id, again.seq);
    let checked = collection
        .check(vec![document("x", report(1, 12), 0)])
        .unwrap()
        .remove(0)
        .unwrap();
    assert_eq!((checked.verdict, checked.story_id), (Verdict::Exact, again.seq));
    collection.verify().unwrap();
}

#[test]
fn copies_have_the_stories_and_repair_makes_them_anew() {
    let dir = tempfile::tempdir().unwrap();
    let place = |name: &str| dir.path().join(name);
    let collection = Collection::create(&place("c"), settings()).unwrap();
    let documents = |from: u64, to: u64| {
        (from..to)
            .map(|n| document(&n.to_string(), report(n, 0), n as i64))
            .collect::<Vec<_>>()
    };
    put(&collection, documents(0, 90));
    let checked = collection.backup(&place("backup")).unwrap();
    assert_eq!(
        Collection::restore(&place("backup"), &place("again")).unwrap(),
        checked
    );
    let again = Collection::open(&place("again")).unwrap();
    let all = StoryQuery {
        min_size: 1,
        limit: 1000,
        ..StoryQuery::default()
    };
    assert_eq!(collection.stories(&all).unwrap(), again.stories(&all).unwrap());
    // Both go on alike.
    assert_eq!(
        put(&collection, documents(90, 120)),
        put(&again, documents(90, 120))
    );
    let stories = collection.stories(&all).unwrap();
    drop(again);
    assert_eq!(
        Collection::repair(&place("again"), &place("mended")).unwrap(),
        (120, 0)
    );
    assert_eq!(
        Collection::open(&place("mended")).unwrap().stories(&all).unwrap(),
        stories
    );
}

#[test]
fn without_stories_there_are_none_and_with_them_a_text_is_needed() {
    let dir = tempfile::tempdir().unwrap();
    let plain = Collection::create(&dir.path().join("plain"), Settings::default()).unwrap();
    assert_eq!(super::add(&plain, "a", report(1, 0)).story_id, None);
    assert_eq!(plain.get("a").unwrap().story_id, None);
    assert!(matches!(
        plain.stories(&StoryQuery::default()),
        Err(CollectionError::NoStories)
    ));
    assert!(matches!(plain.story(1, 0, 1), Err(CollectionError::NoStories)));
    for store in [Store::None, Store::Shingles] {
        let settings = Settings {
            store,
            k: 3,
            ..settings()
        };
        let collection = Collection::create(&dir.path().join(format!("{store:?}")), settings).unwrap();
        let bare = NewDocument {
            content: Content::Fingerprint(5),
            ..document("bare", String::new(), 0)
        };
        let mut answers = collection
            .add(
                vec![bare, document("a", report(1, 0), 0)],
                false,
                Durability::Synced,
            )
            .unwrap();
        let story = answers.remove(1).unwrap().story_id.unwrap();
        assert!(answers.remove(0).unwrap_err().to_string().contains("stories"));
        collection.verify().unwrap();
        drop(collection);
        let collection = Collection::open(&dir.path().join(format!("{store:?}"))).unwrap();
        assert_eq!(collection.story(story, 0, 1).unwrap().members[0].doc_id, "a");
    }
}
