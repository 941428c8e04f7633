//! Collections: concurrent writes, expiry, backup, repair and canonical documents.

mod damage;
mod faults;
mod faulty_store;
mod groups;
mod read_only;
mod runs;
mod stories;

use super::*;

const WORDS: [&str; 40] = [
    "river", "stone", "light", "harbour", "council", "voted", "tuesday", "evening", "tram", "line", "campus",
    "debate", "rain", "road", "mountain", "driver", "home", "morning", "lamp", "oak", "lens", "bearing",
    "市", "议", "会", "星", "期", "晚", "投", "票", "学", "校", "园", "电", "车", "线", "路", "老", "港",
    "口",
];

/// Word `i` of text `n`.
fn word(n: u64, i: u64) -> &'static str {
    let mixed = (n << 32 | i).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    // A third of the texts is Chinese, the others are English.
    let (from, count) = if n.is_multiple_of(3) { (22, 18) } else { (0, 22) };
    WORDS[from + (mixed >> 33) as usize % count]
}

/// Text `n` with word number `edit` replaced, or unchanged if `edit` is 0.
pub(super) fn text(n: u64, words: u64, edit: u64) -> String {
    let words = (0..words).map(|i| {
        if edit > 0 && i + 1 == edit {
            "edited"
        } else {
            word(n, i)
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

pub(super) fn document(id: &str, text: String) -> NewDocument {
    NewDocument {
        id: id.to_owned(),
        content: Content::Text(text),
        details: Details::default(),
        ttl: None,
    }
}

fn add(collection: &Collection, id: &str, text: String) -> Answer {
    let mut answers = collection
        .add(vec![document(id, text)], false, Durability::Synced)
        .unwrap();
    answers.pop().unwrap().unwrap()
}

#[test]
fn exactly_one_of_concurrent_near_duplicates_is_new() {
    let dir = tempfile::tempdir().unwrap();
    let collection = Collection::create(&dir.path().join("c"), Settings::default()).unwrap();
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..8)
            .map(|client| {
                let collection = collection.clone();
                scope.spawn(move || {
                    let pages = (0..40).map(|n| document(&format!("{client}/{n}"), text(n, 150, client)));
                    let answers = pages
                        .collect::<Vec<_>>()
                        .chunks(3)
                        .flat_map(|batch| collection.add(batch.to_vec(), false, Durability::Synced).unwrap())
                        .collect::<Vec<_>>();
                    answers.into_iter().map(Result::unwrap).collect::<Vec<_>>()
                })
            })
            .collect();
        clients
            .into_iter()
            .flat_map(|client| client.join().unwrap())
            .collect()
    });
    let new = answers
        .iter()
        .filter(|answer| answer.verdict == Verdict::New)
        .count();
    assert_eq!((new, answers.len()), (40, 320));
    assert_eq!(collection.stats(None, None, 0).unwrap().groups, 40);
    collection.verify().unwrap();
}

#[test]
fn documents_expire_and_their_groups_stay() {
    let dir = tempfile::tempdir().unwrap();
    let collection = Collection::create(&dir.path().join("c"), Settings::default()).unwrap();
    collection.set_clock(1000);
    let mut first = document("first", text(1, 200, 0));
    first.ttl = Some(50);
    collection.add(vec![first], false, Durability::Synced).unwrap();
    assert_eq!(add(&collection, "second", text(1, 200, 9)).verdict, Verdict::Near);
    collection.set_clock(1050);
    assert!(matches!(
        collection.get("first"),
        Err(CollectionError::NoDocument { .. })
    ));
    let third = add(&collection, "third", text(1, 200, 9));
    assert_eq!(
        (third.verdict, third.best.unwrap().id.as_str()),
        (Verdict::Exact, "second")
    );
    let group = collection.group(third.group_id.unwrap(), 0, 10).unwrap();
    assert_eq!((group.size, group.leader.id.as_str()), (2, "second"));
    let kinds: Vec<ChangeKind> = collection
        .changes(0, 10)
        .unwrap()
        .iter()
        .map(|c| c.change)
        .collect();
    assert_eq!(
        kinds,
        [
            ChangeKind::New,
            ChangeKind::Near,
            ChangeKind::Expired,
            ChangeKind::Regrouped,
            ChangeKind::Exact
        ]
    );
    collection.verify().unwrap();
}

#[test]
fn a_backup_under_load_can_be_restored_and_repaired() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let collection = Collection::create(&path("c"), Settings::default()).unwrap();
    for n in 0..30 {
        add(&collection, &format!("a{n}"), text(n, 120, 0));
    }
    let other = collection.clone();
    let load = std::thread::spawn(move || {
        (0..60).for_each(|n| drop(add(&other, &format!("b{n}"), text(n, 120, 5))));
    });
    let backed_up = collection.backup(&path("backup")).unwrap();
    assert!(backed_up.documents >= 30);
    load.join().unwrap();
    let restored = Collection::restore(&path("backup"), &path("again")).unwrap();
    assert_eq!(backed_up, restored);
    let again = Collection::open(&path("again")).unwrap();
    assert_eq!(again.get("a7").unwrap(), collection.get("a7").unwrap());
    assert!(matches!(
        collection.backup(&path("again")),
        Err(CollectionError::NotEmpty { .. })
    ));
    assert!(matches!(
        Collection::open(&path("c")),
        Err(CollectionError::InUse { .. })
    ));
    assert!(matches!(
        Collection::open(&path("nowhere")),
        Err(CollectionError::NotThere { .. })
    ));
    drop(again);
    assert_eq!(
        Collection::repair(&path("again"), &path("mended")).unwrap(),
        RepairReport {
            saved: restored.documents,
            lost: Some(0)
        }
    );
}

#[test]
fn canonical_documents_follow_the_policy_and_keyed_fingerprints_stay_secret() {
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings {
        canonical: CanonicalBy::Score,
        keyed: true,
        ..Settings::default()
    };
    let collection = Collection::create(&dir.path().join("c"), settings).unwrap();
    let scored = |id: &str, edit, score| {
        let mut document = document(id, text(4, 200, edit));
        document.details.score = Some(score);
        collection
            .add(vec![document], false, Durability::Synced)
            .unwrap()
            .remove(0)
            .unwrap()
    };
    scored("plain", 0, 1.0);
    assert_eq!(scored("best", 7, 9.0).canonical.unwrap().id, "best");
    assert_eq!(scored("worse", 8, 2.0).canonical.unwrap().id, "best");
    collection.delete(&["best"], Durability::Synced).unwrap();
    assert_eq!(scored("plain", 0, 1.5).canonical.unwrap().id, "worse");
    assert_eq!(collection.get("plain").unwrap().fingerprint, None);
    let query = NewDocument {
        content: Content::Fingerprint(5),
        ..document("x", String::new())
    };
    assert!(collection.check(vec![query]).unwrap()[0].is_err());
    let explained = collection.explain("plain", "worse").unwrap();
    assert!(explained.fingerprints[0].is_empty() && explained.explanation.unwrap().bits.is_empty());
}

#[test]
fn fingerprints_without_texts_are_compared_by_distance() {
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings {
        store: StoredContent::None,
        k: 3,
        profile: "tp1-words-lntf-64".to_owned(),
        ..Settings::default()
    };
    let collection = Collection::create(&dir.path().join("c"), settings).unwrap();
    let with = |id: &str, fingerprint| NewDocument {
        content: Content::Fingerprint(fingerprint),
        ..document(id, String::new())
    };
    let batch = vec![
        with("a", 0xFF),
        with("b", 0xF8),
        with("c", 0xF0),
        with("d", 1 << 64),
    ];
    let answers = collection.add(batch, false, Durability::Buffered).unwrap();
    let verdicts: Vec<_> = answers
        .iter()
        .map(|answer| answer.as_ref().ok().map(|a| (a.verdict, a.verified)))
        .collect();
    assert_eq!(
        verdicts,
        [
            Some((Verdict::New, false)),
            Some((Verdict::Near, false)),
            Some((Verdict::New, false)),
            None
        ]
    );
    assert!(!answers[0].as_ref().unwrap().durable);
    drop(collection);
    assert_eq!(
        Collection::open(&dir.path().join("c"))
            .unwrap()
            .verify()
            .unwrap()
            .documents,
        3
    );
}
