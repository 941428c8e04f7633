//! What is told of stories: as lists, through endings of every kind, after documents have gone.

use super::*;
use crate::RepairReport;

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
            .map(|document| (document.id, document.story_id))
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
                let stamp = |seconds: Option<i64>| seconds.and_then(twinprint_stream::time::stamp);
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
        let (of_title, rest): (Vec<&DocumentRef>, Vec<&DocumentRef>) =
            members.iter().partition(|member| titled(&member.id));
        assert_eq!(of_title.len(), 1, "{story:?}");
        collection.delete(&[&of_title[0].id], Durability::Synced).unwrap();
        let left = collection.story(story.story_id, 0, 1000).unwrap();
        assert_ne!(left.story.title, story.title);
        assert_eq!((left.story.size, left.story.ended), (story.size - 1, ended));
        let rest: Vec<&str> = rest.iter().map(|member| member.id.as_str()).collect();
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
    assert_eq!((left.story.size, left.members[0].id.as_str()), (1, "long"));
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
        RepairReport {
            saved: 120,
            lost: Some(0)
        }
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
    assert_eq!(super::super::add(&plain, "a", report(1, 0)).story_id, None);
    assert_eq!(plain.get("a").unwrap().story_id, None);
    assert!(matches!(
        plain.stories(&StoryQuery::default()),
        Err(CollectionError::NoStories)
    ));
    assert!(matches!(plain.story(1, 0, 1), Err(CollectionError::NoStories)));
    for store in [StoredContent::None, StoredContent::Shingles] {
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
        assert_eq!(collection.story(story, 0, 1).unwrap().members[0].id, "a");
    }
}
