//! Groups against a twin that compares everything with everything: documents that come, change, go and expire in any order, through power
//! cuts and reopening.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use fingerprint::HashKey;
use proptest::prelude::*;
use text::overlap::{Shingler, overlap};

use super::faulty_store::FaultyStore;
use super::{add, document, text, word};
use crate::collection::row::Row;
use crate::collection::*;

const NOW: u64 = 1_000_000;

/// Text `n` of so many words, with words exchanged at some of twelve places: a few more or less decide whether two are duplicates.
fn edited(n: u64, words: u64, edits: u16) -> String {
    let places: BTreeMap<u64, u64> = (0..12)
        .filter(|edit| edits >> edit & 1 == 1)
        .map(|edit| ((edit * 2 + 1) * words / 24, edit))
        .collect();
    let words = (0..words).map(|i| match places.get(&i) {
        Some(edit) => format!("edited{edit}"),
        // Long texts have many different words, and are found by their fingerprints alone.
        None if words > 100 => format!("{}{}", word(n, i), i % 8),
        None => word(n, i).to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A document that comes in.
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

/// A document of the twin.
#[derive(Clone)]
struct Document {
    id: String,
    source: String,
    canonical: String,
    row: Row,
    expires: u64,
    group: u64,
    /// The leader it follows; none of a leader.
    follows: Option<u64>,
}

/// What a collection is to hold, found the slow way.
#[derive(Clone)]
struct Twin {
    threshold: f64,
    k: u32,
    now: u64,
    next: u64,
    documents: BTreeMap<u64, Document>,
    /// The feed: kind, id and group by number.
    changes: BTreeMap<u64, (ChangeKind, String, u64)>,
}

impl Twin {
    fn likeness(&self, a: &Document, b: &Document) -> Option<(f64, u32)> {
        let measure = a.row.measure.with(b.row.measure);
        let mut shingler = Shingler::new(HashKey::PUBLIC);
        let (mine, theirs) = (
            shingler.shingle(&a.canonical, measure),
            shingler.shingle(&b.canonical, measure),
        );
        let jaccard = overlap(&mine, &theirs).jaccard();
        let distance = (a.row.fingerprint ^ b.row.fingerprint).count_ones();
        let by_fingerprint = a.row.by_fingerprint && b.row.by_fingerprint && distance <= self.k;
        let by_shingles = a.row.set_size > 0 && b.row.set_size > 0 && a.row.measure == b.row.measure;
        let duplicates = jaccard >= self.threshold && (by_fingerprint || by_shingles);
        duplicates.then_some((jaccard, distance))
    }

    /// The group that a document joins, and the leader of it.
    fn decide(&self, asked: &Document) -> Option<(Verdict, u64, u64)> {
        let leader_of = |seq: u64| self.documents[&seq].follows.unwrap_or(seq);
        let mut documents = self.documents.iter();
        if let Some((&same, document)) = documents.find(|(_, other)| other.canonical == asked.canonical) {
            return Some((Verdict::Exact, document.group, leader_of(same)));
        }
        let leaders = self.documents.iter().filter(|(_, other)| other.follows.is_none());
        let near = leaders.filter_map(|(&seq, leader)| Some((self.likeness(asked, leader)?, seq)));
        let best = near.min_by(|((a, near_a), seq_a), ((b, near_b), seq_b)| {
            b.total_cmp(a).then(near_a.cmp(near_b)).then(seq_a.cmp(seq_b))
        });
        best.map(|(_, seq)| (Verdict::Near, self.documents[&seq].group, seq))
    }

    fn tell(&mut self, kind: ChangeKind, id: &str, group: u64) -> u64 {
        let seq = self.next;
        self.next += 1;
        self.changes.insert(seq, (kind, id.to_owned(), group));
        seq
    }

    fn of_id(&self, id: &str) -> Option<u64> {
        let mut documents = self.documents.iter();
        documents
            .find(|(_, document)| document.id == id)
            .map(|(&seq, _)| seq)
    }

    /// Takes documents out together, and places again the members that lost their leaders.
    fn remove(&mut self, gone: &[u64]) {
        let gone: Vec<Document> = gone
            .iter()
            .map(|seq| self.documents.remove(seq).unwrap())
            .collect();
        let leaders: BTreeMap<u64, String> = gone
            .into_iter()
            .filter(|document| document.follows.is_none())
            .map(|document| (document.group, document.canonical))
            .collect();
        for (group, text) in leaders {
            let members: Vec<u64> = self
                .documents
                .iter()
                .filter(|(_, member)| member.group == group)
                .map(|(&seq, _)| seq)
                .collect();
            let heir = members
                .iter()
                .rev()
                .find(|seq| self.documents[seq].canonical == text)
                .copied();
            if let Some(heir) = heir {
                for seq in members {
                    self.documents.get_mut(&seq).unwrap().follows = Some(heir).filter(|&heir| heir != seq);
                }
                let id = self.documents[&heir].id.clone();
                self.tell(ChangeKind::Regrouped, &id, group);
                continue;
            }
            let members = self.take_out(&members);
            self.place(members);
        }
    }

    /// Takes documents out of sight, the latest first.
    fn take_out(&mut self, members: &[u64]) -> Vec<(u64, Document)> {
        let members = members.iter().rev();
        members
            .map(|seq| (*seq, self.documents.remove(seq).unwrap()))
            .collect()
    }

    fn place(&mut self, members: Vec<(u64, Document)>) {
        for (seq, member) in members {
            let decided = self.decide(&member);
            let group = decided.map_or(seq, |(_, group, _)| group);
            let follows = decided.map(|(_, _, leader)| leader);
            self.tell(ChangeKind::Regrouped, &member.id, group);
            let placed = Document {
                group,
                follows,
                ..member
            };
            self.documents.insert(seq, placed);
        }
    }

    fn expire(&mut self) {
        let due = self
            .documents
            .iter()
            .filter(|(_, document)| document.expires <= self.now);
        let mut due: Vec<(u64, u64)> = due.map(|(&seq, document)| (document.expires, seq)).collect();
        due.sort_unstable();
        let due: Vec<u64> = due.into_iter().map(|(_, seq)| seq).collect();
        self.delete(&due, ChangeKind::Expired);
    }

    fn delete(&mut self, gone: &[u64], kind: ChangeKind) {
        for seq in gone {
            let Document { id, group, .. } = self.documents[seq].clone();
            self.tell(kind, &id, group);
        }
        self.remove(gone);
    }

    fn delete_ids(&mut self, ids: &[String]) {
        self.expire();
        let gone: Vec<u64> = ids.iter().filter_map(|id| self.of_id(id)).collect();
        self.delete(&gone, ChangeKind::Deleted);
    }

    /// Takes a document in; what is to be answered: verdict, of an update what it is as if it were new, group, and whether it follows a leader.
    fn put(&mut self, incoming: &Incoming, row: Row) -> (Verdict, Option<Verdict>, u64, bool) {
        let expires = incoming.ttl.map_or(u64::MAX, |ttl| self.now + ttl);
        let mut document = Document {
            id: incoming.id.to_string(),
            source: incoming.source(),
            canonical: text::canonical(&incoming.text()),
            row,
            expires,
            group: 0,
            follows: None,
        };
        let old = self.of_id(&document.id);
        let (mut number, mut members) = (None, Vec::new());
        if let Some(old) = old {
            let before = self.documents[&old].clone();
            if before.canonical == document.canonical {
                let kept = self.documents.get_mut(&old).unwrap();
                (kept.expires, kept.source) = (expires, document.source);
                self.tell(ChangeKind::Updated, &document.id, before.group);
                let mut copies = self.documents.iter();
                let has_copy = copies.any(|(&seq, other)| seq != old && other.canonical == before.canonical);
                let as_new = match before.follows {
                    None => Verdict::New,
                    Some(_) if has_copy => Verdict::Exact,
                    Some(_) => Verdict::Near,
                };
                return (
                    Verdict::Updated,
                    Some(as_new),
                    before.group,
                    before.follows.is_some(),
                );
            }
            if before.follows.is_none() {
                // What it led is placed after it.
                let led = self
                    .documents
                    .iter()
                    .filter(|(_, member)| member.follows == Some(old));
                let led: Vec<u64> = led.map(|(&seq, _)| seq).collect();
                members = self.take_out(&led);
                number = Some(before.group);
            }
            self.documents.remove(&old);
        }
        let decided = self.decide(&document);
        let as_new = decided.map_or(Verdict::New, |(verdict, _, _)| verdict);
        let verdict = old.map_or(as_new, |_| Verdict::Updated);
        let seq = self.next;
        document.group = decided.map(|(_, group, _)| group).or(number).unwrap_or(seq);
        document.follows = decided.map(|(_, _, leader)| leader);
        self.tell(verdict.into(), &document.id, document.group);
        let (group, follows) = (document.group, document.follows.is_some());
        self.documents.insert(seq, document);
        self.place(members);
        (verdict, old.map(|_| as_new), group, follows)
    }

    /// Whether a collection holds exactly this.
    fn compare(&self, collection: &Collection) -> Result<(), TestCaseError> {
        let checked = collection
            .verify()
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(checked.documents as usize, self.documents.len());
        let mut groups: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for (&seq, document) in &self.documents {
            groups.entry(document.group).or_default().push(seq);
            let stored = collection
                .get(&document.id)
                .map_err(|error| TestCaseError::fail(error.to_string()))?;
            prop_assert_eq!(
                (stored.group_id, stored.leads),
                (document.group, document.follows.is_none())
            );
            let followed = document.follows.map(|leader| &self.documents[&leader]);
            prop_assert_eq!(
                stored.best.as_ref().map(|best| &best.id),
                followed.map(|leader| &leader.id)
            );
            if let (Some(best), Some(leader)) = (stored.best, followed) {
                let likeness = if document.canonical == leader.canonical {
                    Some((1.0, 0))
                } else {
                    self.likeness(document, leader)
                };
                // Stored as JSON, a number may move by its last bit.
                let rounded = |jaccard: f64| (jaccard * 1e12).round();
                prop_assert_eq!(
                    best.jaccard.map(|jaccard| (rounded(jaccard), best.hamming)),
                    likeness.map(|(jaccard, distance)| (rounded(jaccard), distance)),
                    "{} follows {}",
                    document.id,
                    best.id
                );
            }
        }
        let there = collection
            .groups(0, 0, 1000)
            .map_err(|error| TestCaseError::fail(error.to_string()))?
            .groups;
        let expected = groups.iter().map(|(&group, members)| {
            let leader = members
                .iter()
                .find(|seq| self.documents[seq].follows.is_none())
                .unwrap();
            let named = |seq: &u64| self.documents[seq].id.clone();
            (group, members.len() as u64, named(leader), named(&members[0]))
        });
        let there = there
            .into_iter()
            .map(|group| (group.group_id, group.size, group.leader.id, group.canonical.id));
        prop_assert_eq!(there.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        let changes = collection
            .changes(0, 10_000)
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
        let changes: BTreeMap<_, _> = changes
            .into_iter()
            .map(|told| (told.seq, (told.change, told.id, told.group_id)))
            .collect();
        prop_assert_eq!(&changes, &self.changes);
        Ok(())
    }
}

/// A collection on storage that can lose what was not synced, and the twin of it.
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

    fn row(&self, incoming: &Incoming) -> Row {
        self.collection()
            .inner
            .workshop
            .prepare(incoming.document(), 0)
            .unwrap()
            .row
    }

    /// Cuts the power in the middle of a write, or after it. What was acknowledged is there; of the rest all or nothing.
    fn cut(&mut self, before: Option<Twin>) -> Result<(), TestCaseError> {
        let mut state = self.random();
        let bytes = self.storage.power_cut(|| {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            state >> 33
        });
        self.storage = FaultyStore::holding(bytes);
        self.open();
        // Whatever is due goes now, if it has not gone with the write.
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

    /// Writes, on storage that may fail at any call. Returns what the collection answered, if it did.
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
                    let told = (
                        answer.verdict,
                        answer.as_new,
                        answer.group_id.unwrap(),
                        answer.best.is_some(),
                    );
                    prop_assert_eq!(told, expected);
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
                    let ids = self.collection().of_source(&source, 2).unwrap();
                    let mine = self
                        .twin
                        .documents
                        .values()
                        .filter(|document| document.source == source);
                    let mine: Vec<&str> = mine.map(|document| document.id.as_str()).take(2).collect();
                    prop_assert_eq!(&ids, &mine);
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
                let id = "asked".to_owned();
                let asked = NewDocument {
                    id: id.clone(),
                    ..incoming.document()
                };
                let answer = self.collection().check(vec![asked]).unwrap().remove(0).unwrap();
                let canonical = text::canonical(&incoming.text());
                let source = incoming.source();
                let asked = Document {
                    id,
                    source,
                    canonical,
                    row,
                    expires: u64::MAX,
                    group: 0,
                    follows: None,
                };
                let decided = self.twin.decide(&asked);
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
    fn groups_are_those_of_a_twin_that_compares_everything(k in prop_oneof![Just(16u32), Just(24)], steps in prop::collection::vec(step(), 1..40)) {
        let mut pair = Pair::new(k);
        for step in steps {
            pair.take(step)?;
            pair.twin.compare(pair.collection())?;
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
fn members_that_never_were_duplicates_part_when_their_leader_goes() {
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
    assert!(
        groups.is_sorted(),
        "{groups:?}: each text has a number of its own"
    );
    let told: Vec<_> = collection
        .changes(before + 1, 10)
        .unwrap()
        .into_iter()
        .map(|told| (told.change, told.id, told.group_id))
        .collect();
    assert_eq!(
        told,
        [
            (ChangeKind::Deleted, "leader".to_owned(), groups[0]),
            (ChangeKind::Regrouped, "b".to_owned(), b.group_id),
            (ChangeKind::Regrouped, "a".to_owned(), a.group_id),
        ]
    );
}

#[test]
fn a_page_that_drifts_while_its_past_is_deleted_does_not_stay_in_one_group() {
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
        assert!(seen.insert(group), "{n} has the number of an earlier text");
        let members = collection.group(group, 0, 100).unwrap();
        assert_eq!(members.size, 1);
    }
    // And where some stay, each is a duplicate of its leader.
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
fn copies_of_a_leader_take_its_place_and_nothing_else_changes() {
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
    let told: Vec<_> = collection
        .changes(seq + 1, 10)
        .unwrap()
        .into_iter()
        .map(|told| (told.change, told.id))
        .collect();
    assert_eq!(
        told,
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
