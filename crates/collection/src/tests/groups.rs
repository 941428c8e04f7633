//! Groups compared with a brute-force twin, and groups whose leader is deleted.

mod steps;
mod twin;

use std::collections::{BTreeMap, BTreeSet};

use super::{add, document, text, word};
use crate::*;

/// Text `n` of `words` words. The bits of `edits` choose which of twelve words are replaced: a few edits decide whether two texts are
/// duplicates.
fn edited(n: u64, words: u64, edits: u16) -> String {
    let edited_words: BTreeMap<u64, u64> = (0..12)
        .filter(|edit| edits >> edit & 1 == 1)
        .map(|edit| ((edit * 2 + 1) * words / 24, edit))
        .collect();
    let words = (0..words).map(|i| match edited_words.get(&i) {
        Some(edit) => format!("edited{edit}"),
        // Long texts have many different words, so only their fingerprints find them.
        None if words > 100 => format!("{}{}", word(n, i), i % 8),
        None => word(n, i).to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A document to be added.
#[derive(Clone, Debug)]
struct Incoming {
    id: u8,
    text: (u64, u64, u16),
    source: u8,
    ttl: Option<u64>,
}

impl Incoming {
    fn text(&self) -> String {
        let (n, words, edits) = self.text;
        edited(n, words, edits)
    }

    fn source(&self) -> String {
        format!("source{}", self.source)
    }

    fn document(&self) -> NewDocument {
        NewDocument {
            details: Details {
                source: Some(self.source()),
                ..Details::default()
            },
            ttl: self.ttl,
            ..document(&self.id.to_string(), self.text())
        }
    }
}

fn collection() -> (tempfile::TempDir, Collection) {
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings {
        k: 24,
        ..Settings::default()
    };
    let collection = Collection::create(&dir.path().join("c"), settings).unwrap();
    (dir, collection)
}

#[test]
fn members_that_are_not_duplicates_of_each_other_separate_when_their_leader_is_deleted() {
    let (_dir, collection) = collection();
    let (a, b) = (0b0000_0001_1111, 0b1111_1000_0000);
    let leader = add(&collection, "leader", edited(1, 160, 0));
    for (id, edits) in [("a", a), ("b", b)] {
        assert_eq!(
            add(&collection, id, edited(1, 160, edits)).group_id,
            leader.group_id
        );
    }
    let between = collection.explain("a", "b").unwrap().jaccard;
    assert!(between < 0.75, "{between}");
    let before = collection.stats(None, None, 0).unwrap().seq;
    collection.delete(&["leader"], Durability::Synced).unwrap();
    let (a, b) = (collection.get("a").unwrap(), collection.get("b").unwrap());
    assert!(a.leads && b.leads && a.best.is_none() && b.best.is_none());
    let groups = [leader.group_id.unwrap(), a.group_id, b.group_id];
    assert!(groups.is_sorted(), "{groups:?}: each text has its own group");
    let changes: Vec<_> = collection
        .changes(before + 1, 10)
        .unwrap()
        .into_iter()
        .map(|change| (change.change, change.id, change.group_id))
        .collect();
    assert_eq!(
        changes,
        [
            (ChangeKind::Deleted, "leader".to_owned(), groups[0]),
            (ChangeKind::Regrouped, "b".to_owned(), b.group_id),
            (ChangeKind::Regrouped, "a".to_owned(), a.group_id),
        ]
    );
}

#[test]
fn a_page_that_drifts_while_earlier_versions_are_deleted_does_not_stay_in_one_group() {
    let (_dir, collection) = collection();
    let mut edits = 0u16;
    let mut seen = BTreeSet::new();
    add(&collection, "0", edited(1, 160, edits));
    for n in 1..12 {
        edits |= 1 << n;
        add(&collection, &n.to_string(), edited(1, 160, edits));
        collection
            .delete(&[(n - 1).to_string()], Durability::Synced)
            .unwrap();
        let group = collection.get(&n.to_string()).unwrap().group_id;
        assert!(seen.insert(group), "{n} has the group of an earlier text");
        let members = collection.group(group, 0, 100).unwrap();
        assert_eq!(members.size, 1);
    }
    // If some earlier versions stay, each document is a duplicate of its leader.
    for n in 0..12u16 {
        add(&collection, &format!("past {n}"), edited(1, 160, (1 << n) - 1));
    }
    for n in 0..11 {
        collection
            .delete(&[format!("past {n}")], Durability::Synced)
            .unwrap();
        for document in collection.documents(0, 100).unwrap().0 {
            let leader = collection.group(document.group_id, 0, 0).unwrap().leader.id;
            assert!(
                collection.explain(&document.id, &leader).unwrap().jaccard >= 0.8,
                "{} and {leader}",
                document.id
            );
        }
    }
}

#[test]
fn a_copy_of_a_deleted_leader_becomes_the_leader_and_nothing_else_changes() {
    let (_dir, collection) = collection();
    let group = add(&collection, "leader", text(1, 160, 0)).group_id.unwrap();
    for n in 0..50 {
        assert_eq!(
            add(&collection, &format!("copy {n}"), text(1, 160, 0)).group_id,
            Some(group)
        );
    }
    let near = add(&collection, "near", text(1, 160, 7));
    let seq = near.seq.unwrap();
    collection.delete(&["leader"], Durability::Synced).unwrap();
    let changes: Vec<_> = collection
        .changes(seq + 1, 10)
        .unwrap()
        .into_iter()
        .map(|change| (change.change, change.id))
        .collect();
    assert_eq!(
        changes,
        [
            (ChangeKind::Deleted, "leader".to_owned()),
            (ChangeKind::Regrouped, "copy 49".to_owned())
        ]
    );
    let group = collection.group(group, 0, 100).unwrap();
    assert_eq!(
        (group.size, group.leader.id.as_str(), group.canonical.id.as_str()),
        (51, "copy 49", "copy 0")
    );
    let best = collection.get("near").unwrap().best.unwrap();
    assert_eq!(
        (best.id.as_str(), best.jaccard),
        ("copy 49", near.best.unwrap().jaccard)
    );
    collection.verify().unwrap();
}

#[test]
fn members_of_a_large_group_are_placed_again_with_a_similar_leader() {
    let (_dir, collection) = collection();
    add(&collection, "leader", edited(1, 160, 0));
    // Pages of two kinds that are not duplicates of each other. Each page has one word of its own.
    let kinds = [0b0000_0000_1111, 0b1111_0000_0000];
    let page = |n: usize| {
        document(
            &n.to_string(),
            format!("{} page{n}", edited(1, 160, kinds[n % 2])),
        )
    };
    let many = 1200;
    let added = collection
        .add((0..many).map(page).collect(), false, Durability::Synced)
        .unwrap();
    let first = added[0].as_ref().unwrap().group_id.unwrap();
    assert_eq!(collection.group(first, 0, 0).unwrap().size, many as u64 + 1);
    collection.delete(&["leader"], Durability::Synced).unwrap();
    let groups = collection.groups(0, 0, 1000).unwrap().groups;
    let sizes: Vec<u64> = groups.iter().map(|group| group.size).collect();
    assert_eq!(sizes, [many as u64 / 2; 2]);
    for document in collection.documents(0, 10_000).unwrap().0 {
        let leader = collection.group(document.group_id, 0, 0).unwrap().leader.id;
        let jaccard = collection.explain(&document.id, &leader).unwrap().jaccard;
        assert!(jaccard >= 0.8, "{} and {leader}: {jaccard}", document.id);
    }
    collection.verify().unwrap();
}

#[test]
fn a_stored_page_is_found_by_its_own_id_and_text() {
    let (_dir, collection) = collection();
    add(&collection, "a", edited(1, 160, 0));
    add(&collection, "copy", edited(1, 160, 0));
    let similar = collection
        .similar(document("a", edited(1, 160, 0)), None, 10)
        .unwrap();
    assert_eq!(
        similar
            .hits
            .iter()
            .map(|hit| hit.best.id.as_str())
            .collect::<Vec<_>>(),
        ["a"]
    );
}
