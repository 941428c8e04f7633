//! Collections against a map and brute force, and through reopening, backup, expiry and repair.

mod damage;
mod faults;
mod faulty_store;
mod read_only;
mod runs;
mod stories;

use std::collections::BTreeMap;

use fingerprint::HashKey;
use proptest::prelude::*;
use text::overlap::{Shingler, overlap};

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
    // English texts and Chinese ones.
    let (from, many) = if n.is_multiple_of(3) { (22, 18) } else { (0, 22) };
    WORDS[from + (mixed >> 33) as usize % many]
}

/// Text `n` with word number `edit` exchanged.
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

/// What a document would be beside leaders, all of which are compared.
fn brute_force<'m>(
    text: &str,
    leaders: impl Iterator<Item = (&'m u64, &'m (String, String))>,
    threshold: f64,
) -> Option<(f64, u64)> {
    let mut shingler = Shingler::new(HashKey::PUBLIC);
    let mut best: Option<(f64, u64)> = None;
    let mine = text::canonical(text);
    let profile = Profile::parse(&Settings::default().profile).unwrap();
    let mut analyzer = text::Analyzer::new(&profile, HashKey::PUBLIC);
    let mut fingerprint = |canonical: &str| analyzer.analyze_canonical(canonical).fingerprint;
    let (asked, mut nearest) = (fingerprint(&mine), u32::MAX);
    for (&seq, (_, other)) in leaders {
        let theirs = text::canonical(other);
        let measure = text::Measure::of(&mine).with(text::Measure::of(&theirs));
        let jaccard = overlap(
            &shingler.shingle(&mine, measure),
            &shingler.shingle(&theirs, measure),
        )
        .jaccard();
        let distance = (asked ^ fingerprint(&theirs)).count_ones();
        // Leaders come in order of their numbers, so that the first of equals stays.
        let better = |(most, _): (f64, u64)| jaccard > most || jaccard >= most && distance < nearest;
        if jaccard >= threshold && best.is_none_or(better) {
            best = Some((jaccard, seq));
            nearest = distance;
        }
    }
    best
}

#[derive(Clone, Debug)]
enum Step {
    Add { id: u8, text: (u64, u64, u64) },
    Delete { id: u8 },
    Check { text: (u64, u64, u64) },
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let text = (
        0u64..6,
        prop_oneof![Just(3u64), Just(20), Just(70), Just(200)],
        0u64..60,
    );
    prop_oneof![
        8 => (0u8..24, text.clone()).prop_map(|(id, text)| Step::Add { id, text }),
        2 => (0u8..24).prop_map(|id| Step::Delete { id }),
        3 => text.prop_map(|text| Step::Check { text }),
        1 => Just(Step::Reopen),
    ]
}

/// What a collection is to hold, found the slow way.
#[derive(Default)]
struct Model {
    /// Id and text by the number that brought them.
    documents: BTreeMap<u64, (String, String)>,
    group: BTreeMap<u64, u64>,
    leads: BTreeMap<u64, u64>,
}

impl Model {
    fn decide(&self, text: &str, threshold: f64) -> Option<(Verdict, u64)> {
        let canonical = text::canonical(text);
        let same = self
            .documents
            .iter()
            .find(|(_, (_, other))| text::canonical(other) == canonical);
        if let Some((seq, _)) = same {
            return Some((Verdict::Exact, *seq));
        }
        let leaders = self
            .documents
            .iter()
            .filter(|(seq, _)| self.leads.values().any(|leader| leader == *seq));
        brute_force(text, leaders, threshold).map(|(_, seq)| (Verdict::Near, seq))
    }

    fn remove(&mut self, id: &str) -> Option<(u64, String)> {
        let (&seq, _) = self.documents.iter().find(|(_, (other, _))| other == id)?;
        let (_, text) = self.documents.remove(&seq)?;
        let group = self.group.remove(&seq)?;
        let first = self.group.iter().find(|&(_, g)| *g == group).map(|(&seq, _)| seq);
        match first {
            None => {
                self.leads.remove(&group);
            }
            Some(first) if self.leads.get(&group) == Some(&seq) => {
                self.leads.insert(group, first);
            }
            Some(_) => {}
        }
        Some((group, text))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_collection_is_a_map_with_brute_force(steps in prop::collection::vec(step(), 1..60)) {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("c");
        // A radius that misses nothing among so few texts: the promise is the radius, not the Jaccard.
        let settings = Settings { k: 24, max_texts: 10_000, ..Settings::default() };
        let threshold = settings.threshold;
        let mut collection = Collection::create(&place, settings).unwrap();
        let mut model = Model::default();
        for step in steps {
            match step {
                Step::Add { id, text: (n, words, edit) } => {
                    let (id, text) = (id.to_string(), text(n, words, edit));
                    let old = model.documents.iter().find(|(_, (other, _))| *other == id).map(|(&seq, _)| seq);
                    let answer = add(&collection, &id, text.clone());
                    if let Some(old) = old {
                        prop_assert_eq!(answer.verdict, Verdict::Updated);
                        if text::canonical(&model.documents[&old].1) == text::canonical(&text) {
                            prop_assert_eq!(answer.moved, Some(0));
                            continue;
                        }
                    }
                    let before = model.remove(&id);
                    let decided = model.decide(&text, threshold);
                    let seq = answer.seq.unwrap();
                    let alone = before.filter(|(group, _)| !model.leads.contains_key(group)).map(|(group, _)| group);
                    let group = decided.map_or(alone.unwrap_or(seq), |(_, leader)| model.group[&leader]);
                    prop_assert_eq!(answer.group_id, Some(group));
                    if old.is_none() {
                        prop_assert_eq!(answer.verdict, decided.map_or(Verdict::New, |(verdict, _)| verdict));
                    }
                    model.documents.insert(seq, (id, text));
                    model.group.insert(seq, group);
                    model.leads.entry(group).or_insert(seq);
                }
                Step::Delete { id } => {
                    let there = model.remove(&id.to_string()).is_some();
                    let deleted = collection.delete(&[id.to_string()], Durability::Synced).unwrap();
                    prop_assert_eq!(deleted[0].is_some(), there);
                }
                Step::Check { text: (n, words, edit) } => {
                    let text = text(n, words, edit);
                    let answer = collection.check(vec![document("nobody", text.clone())]).unwrap().remove(0).unwrap();
                    let decided = model.decide(&text, threshold);
                    prop_assert_eq!(answer.verdict, decided.map_or(Verdict::New, |(verdict, _)| verdict));
                    prop_assert_eq!(answer.group_id, decided.map(|(_, leader)| model.group[&leader]));
                }
                Step::Reopen => {
                    drop(collection);
                    collection = Collection::open(&place).unwrap();
                }
            }
        }
        prop_assert_eq!(collection.verify().unwrap().documents as usize, model.documents.len());
        for (seq, (id, text)) in &model.documents {
            let stored = collection.get(id).unwrap();
            prop_assert_eq!(stored.text.as_ref(), Some(text));
            prop_assert_eq!(stored.group_id, model.group[seq]);
            prop_assert_eq!(stored.leads, model.leads[&stored.group_id] == *seq);
        }
    }
}

#[test]
fn of_concurrent_near_duplicates_exactly_one_is_new() {
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
    assert_eq!(collection.stats(None, 0).unwrap().groups, 40);
    collection.verify().unwrap();
}

#[test]
fn documents_expire_and_their_groups_live_on() {
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
        (third.verdict, third.best.unwrap().doc_id.as_str()),
        (Verdict::Exact, "second")
    );
    let group = collection.group(third.group_id.unwrap(), 10).unwrap();
    assert_eq!((group.size, group.leader.doc_id.as_str()), (2, "second"));
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
            ChangeKind::Exact
        ]
    );
    collection.verify().unwrap();
}

#[test]
fn a_backup_under_load_is_a_collection_and_a_repair_saves_documents() {
    let dir = tempfile::tempdir().unwrap();
    let place = |name: &str| dir.path().join(name);
    let collection = Collection::create(&place("c"), Settings::default()).unwrap();
    for n in 0..30 {
        add(&collection, &format!("a{n}"), text(n, 120, 0));
    }
    let other = collection.clone();
    let load = std::thread::spawn(move || {
        (0..60).for_each(|n| drop(add(&other, &format!("b{n}"), text(n, 120, 5))));
    });
    let backed_up = collection.backup(&place("backup")).unwrap();
    assert!(backed_up.documents >= 30);
    load.join().unwrap();
    let restored = Collection::restore(&place("backup"), &place("again")).unwrap();
    assert_eq!(backed_up, restored);
    let again = Collection::open(&place("again")).unwrap();
    assert_eq!(again.get("a7").unwrap(), collection.get("a7").unwrap());
    assert!(matches!(
        collection.backup(&place("again")),
        Err(CollectionError::NotEmpty { .. })
    ));
    assert!(matches!(
        Collection::open(&place("c")),
        Err(CollectionError::InUse { .. })
    ));
    assert!(matches!(
        Collection::open(&place("nowhere")),
        Err(CollectionError::NotThere { .. })
    ));
    drop(again);
    assert_eq!(
        Collection::repair(&place("again"), &place("mended")).unwrap(),
        Repaired {
            saved: restored.documents,
            lost: Some(0)
        }
    );
}

#[test]
fn canonical_documents_follow_the_policy_and_secrets_stay() {
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
    assert_eq!(scored("best", 7, 9.0).canonical.unwrap().doc_id, "best");
    assert_eq!(scored("worse", 8, 2.0).canonical.unwrap().doc_id, "best");
    collection.delete(&["best"], Durability::Synced).unwrap();
    assert_eq!(scored("plain", 0, 1.5).canonical.unwrap().doc_id, "worse");
    assert_eq!(collection.get("plain").unwrap().fingerprint, None);
    let asked = NewDocument {
        content: Content::Fingerprint(5),
        ..document("x", String::new())
    };
    assert!(collection.check(vec![asked]).unwrap()[0].is_err());
    let explained = collection.explain("plain", "worse").unwrap();
    assert!(explained.fingerprints[0].is_empty() && explained.explanation.unwrap().bits.is_empty());
}

#[test]
fn fingerprints_alone_are_compared_by_distance() {
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings {
        store: Store::None,
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
