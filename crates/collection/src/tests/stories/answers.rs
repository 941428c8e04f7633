//! Story queries: lists, stories after every kind of close, stories of deleted and expired documents.

use super::*;
use crate::RepairReport;

/// Reports an hour apart, on two subjects in the first half of `hours`, and on three others in the second.
fn hourly(hours: u64) -> Vec<NewDocument> {
    let of_half = |n: &u64| (n % 5 < 2) == (*n < hours / 2);
    let report = |n: u64| document(&n.to_string(), report(n, 0), n as i64);
    (0..hours).filter(of_half).map(report).collect()
}

/// A collection of these reports, added one by one.
fn reports(hours: u64) -> Collection {
    let collection = open(&FaultyStore::default());
    for document in hourly(hours) {
        put(&collection, vec![document]);
    }
    collection
}

#[test]
fn batches_threads_and_reopening_do_not_change_the_stories() {
    let assigned = |collection: &Collection| -> Vec<(String, Option<u64>)> {
        let (documents, _) = collection.documents(0, 10_000).unwrap();
        documents
            .into_iter()
            .map(|document| (document.id, document.story_id))
            .collect()
    };
    // More documents than the log may contain at a close, so the state is saved too.
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
        assert_eq!(assigned(&collection), assigned(&one_by_one));
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
fn lists_are_sorted_by_time_and_paginated() {
    let collection = reports(120);
    let all = StoryQuery {
        min_size: 1,
        limit: 1000,
        ..StoryQuery::default()
    };
    let all_stories = collection.stories(&all).unwrap().stories;
    assert!(all_stories.iter().any(|story| story.ended) && all_stories.iter().any(|story| !story.ended));
    let key = |story: &Story| (story.last.clone().unwrap(), story.story_id);
    assert!(all_stories.windows(2).all(|pair| key(&pair[0]) > key(&pair[1])));
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
                let expected: Vec<&Story> = all_stories
                    .iter()
                    .filter(|story| ended.is_none_or(|ended| story.ended == ended) && story.size >= min_size)
                    .filter(|story| stamp(since).is_none_or(|since| story.last.as_ref().unwrap() >= &since))
                    .filter(|story| stamp(until).is_none_or(|until| story.last.as_ref().unwrap() <= &until))
                    .collect();
                let mut listed = Vec::new();
                let mut query = StoryQuery {
                    ended,
                    since,
                    until,
                    min_size,
                    limit: 3,
                    after: None,
                };
                loop {
                    let page = collection.stories(&query).unwrap();
                    assert!(page.stories.len() <= 3);
                    listed.extend(page.stories);
                    query.after = page.next_after;
                    if query.after.is_none() {
                        break;
                    }
                }
                assert!(
                    listed.iter().eq(expected),
                    "{ended:?} {since:?} {until:?} {min_size}"
                );
            }
        }
    }
    let invalid = StoryQuery {
        after: Some("nowhere".to_owned()),
        ..StoryQuery::default()
    };
    assert!(matches!(
        collection.stories(&invalid),
        Err(CollectionError::Invalid(_))
    ));
    // The documents of a story are paginated.
    let large = all_stories.iter().max_by_key(|story| story.size).unwrap();
    let (mut after, mut members) = (0, Vec::new());
    loop {
        let page = collection.story(large.story_id, after, 2).unwrap();
        members.extend(page.members);
        match page.next_after {
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
fn a_deleted_document_is_not_the_title_and_the_last_deletion_removes_the_story() {
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
        let remaining = collection.story(story.story_id, 0, 1000).unwrap();
        assert_ne!(remaining.story.title, story.title);
        assert_eq!(
            (remaining.story.size, remaining.story.ended),
            (story.size - 1, ended)
        );
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
fn expired_documents_are_removed_from_ended_stories() {
    let collection = open(&FaultyStore::default());
    let mut short = document("short", report(1, 0), 0);
    short.ttl = Some(50);
    let story = put(&collection, vec![short, document("long", report(1, 9), 1)])[1]
        .story_id
        .unwrap();
    // A much later document of another subject ends the story.
    put(&collection, vec![document("other", report(2, 0), 100)]);
    assert!(collection.story(story, 0, 10).unwrap().story.ended);
    collection.set_clock(NOW + 60);
    put(&collection, vec![document("another", report(3, 0), 101)]);
    let remaining = collection.story(story, 0, 10).unwrap();
    assert_eq!(
        (remaining.story.size, remaining.members[0].id.as_str()),
        (1, "long")
    );
    // A duplicate after the end of the story joins the group and begins a new story.
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
fn backups_contain_the_stories_and_repair_rebuilds_them() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let collection = Collection::create(&path("c"), settings()).unwrap();
    let documents = |from: u64, to: u64| {
        (from..to)
            .map(|n| document(&n.to_string(), report(n, 0), n as i64))
            .collect::<Vec<_>>()
    };
    put(&collection, documents(0, 90));
    let checked = collection.backup(&path("backup")).unwrap();
    assert_eq!(
        Collection::restore(&path("backup"), &path("again")).unwrap(),
        checked
    );
    let restored = Collection::open(&path("again")).unwrap();
    let all = StoryQuery {
        min_size: 1,
        limit: 1000,
        ..StoryQuery::default()
    };
    assert_eq!(collection.stories(&all).unwrap(), restored.stories(&all).unwrap());
    // Both collections continue with the same stories.
    assert_eq!(
        put(&collection, documents(90, 120)),
        put(&restored, documents(90, 120))
    );
    let stories = collection.stories(&all).unwrap();
    drop(restored);
    assert_eq!(
        Collection::repair(&path("again"), &path("mended")).unwrap(),
        RepairReport {
            saved: 120,
            lost: Some(0)
        }
    );
    assert_eq!(
        Collection::open(&path("mended")).unwrap().stories(&all).unwrap(),
        stories
    );
}

#[test]
fn a_collection_without_stories_has_none_and_one_with_stories_requires_texts() {
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
