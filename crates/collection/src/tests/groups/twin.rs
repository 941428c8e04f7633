//! The brute-force twin of a collection: it compares each document with all others.

use std::collections::BTreeMap;

use proptest::prelude::*;
use twinprint_fingerprint::HashKey;
use twinprint_text::overlap::{Shingler, overlap};

use super::Incoming;
use crate::row::Row;
use crate::*;

/// A stored document.
#[derive(Clone)]
pub(super) struct Document {
    pub(super) id: String,
    pub(super) source: String,
    pub(super) canonical: String,
    pub(super) row: Row,
    pub(super) expires: u64,
    pub(super) group: u64,
    /// Its leader; `None` if the document is a leader.
    pub(super) follows: Option<u64>,
}

/// The documents and changes of a collection.
#[derive(Clone)]
pub(super) struct Twin {
    pub(super) threshold: f64,
    pub(super) k: u32,
    pub(super) now: u64,
    pub(super) next: u64,
    pub(super) documents: BTreeMap<u64, Document>,
    /// The feed of changes: kind, id and group by number.
    pub(super) changes: BTreeMap<u64, (ChangeKind, String, u64)>,
}

impl Twin {
    fn similarity(&self, a: &Document, b: &Document) -> Option<(f64, u32)> {
        let measure = a.row.measure.with(b.row.measure);
        let mut shingler = Shingler::new(HashKey::PUBLIC);
        let (shingles_a, shingles_b) = (
            shingler.shingle(&a.canonical, measure),
            shingler.shingle(&b.canonical, measure),
        );
        let jaccard = overlap(&shingles_a, &shingles_b).jaccard();
        let distance = (a.row.fingerprint ^ b.row.fingerprint).count_ones();
        let by_fingerprint = a.row.by_fingerprint && b.row.by_fingerprint && distance <= self.k;
        let by_shingles = a.row.set_size > 0 && b.row.set_size > 0 && a.row.measure == b.row.measure;
        let duplicates = jaccard >= self.threshold && (by_fingerprint || by_shingles);
        duplicates.then_some((jaccard, distance))
    }

    /// The verdict, the group that a document joins, and its leader.
    pub(super) fn decide(&self, query: &Document) -> Option<(Verdict, u64, u64)> {
        let leader_of = |seq: u64| self.documents[&seq].follows.unwrap_or(seq);
        let mut documents = self.documents.iter();
        if let Some((&same, document)) = documents.find(|(_, other)| other.canonical == query.canonical) {
            return Some((Verdict::Exact, document.group, leader_of(same)));
        }
        let leaders = self.documents.iter().filter(|(_, other)| other.follows.is_none());
        let near = leaders.filter_map(|(&seq, leader)| Some((self.similarity(query, leader)?, seq)));
        let best = near.min_by(|((a, near_a), seq_a), ((b, near_b), seq_b)| {
            b.total_cmp(a).then(near_a.cmp(near_b)).then(seq_a.cmp(seq_b))
        });
        best.map(|(_, seq)| (Verdict::Near, self.documents[&seq].group, seq))
    }

    fn record(&mut self, kind: ChangeKind, id: &str, group: u64) -> u64 {
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

    /// Removes documents, and places the members of their groups again.
    fn remove(&mut self, removed: &[u64]) {
        let removed: Vec<Document> = removed
            .iter()
            .map(|seq| self.documents.remove(seq).unwrap())
            .collect();
        let leaders: BTreeMap<u64, String> = removed
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
                self.record(ChangeKind::Regrouped, &id, group);
                continue;
            }
            let members = self.take_out(&members);
            self.place(members);
        }
    }

    /// Removes members until they are placed again, the latest first.
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
            self.record(ChangeKind::Regrouped, &member.id, group);
            let placed = Document {
                group,
                follows,
                ..member
            };
            self.documents.insert(seq, placed);
        }
    }

    pub(super) fn expire(&mut self) {
        let due = self
            .documents
            .iter()
            .filter(|(_, document)| document.expires <= self.now);
        let mut due: Vec<(u64, u64)> = due.map(|(&seq, document)| (document.expires, seq)).collect();
        due.sort_unstable();
        let due: Vec<u64> = due.into_iter().map(|(_, seq)| seq).collect();
        self.delete(&due, ChangeKind::Expired);
    }

    fn delete(&mut self, deleted: &[u64], kind: ChangeKind) {
        for seq in deleted {
            let Document { id, group, .. } = self.documents[seq].clone();
            self.record(kind, &id, group);
        }
        self.remove(deleted);
    }

    pub(super) fn delete_ids(&mut self, ids: &[String]) {
        self.expire();
        let deleted: Vec<u64> = ids.iter().filter_map(|id| self.of_id(id)).collect();
        self.delete(&deleted, ChangeKind::Deleted);
    }

    /// Adds a document. Returns the expected answer: verdict, the verdict as a new document (for an update), group, and whether it has a
    /// leader.
    pub(super) fn put(&mut self, incoming: &Incoming, row: Row) -> (Verdict, Option<Verdict>, u64, bool) {
        let expires = incoming.ttl.map_or(u64::MAX, |ttl| self.now + ttl);
        let mut document = Document {
            id: incoming.id.to_string(),
            source: incoming.source(),
            canonical: twinprint_text::canonical(&incoming.text()),
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
                self.record(ChangeKind::Updated, &document.id, before.group);
                let as_new = self.verdict_as_new(old);
                return (
                    Verdict::Updated,
                    Some(as_new),
                    before.group,
                    before.follows.is_some(),
                );
            }
            if before.follows.is_none() {
                // The followers are placed after their leader.
                let followers = self
                    .documents
                    .iter()
                    .filter(|(_, member)| member.follows == Some(old));
                let followers: Vec<u64> = followers.map(|(&seq, _)| seq).collect();
                members = self.take_out(&followers);
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
        self.record(verdict.into(), &document.id, document.group);
        let (group, follows) = (document.group, document.follows.is_some());
        self.documents.insert(seq, document);
        self.place(members);
        (verdict, old.map(|_| self.verdict_as_new(seq)), group, follows)
    }

    /// The verdict of a stored document as if it were new.
    fn verdict_as_new(&self, seq: u64) -> Verdict {
        let document = &self.documents[&seq];
        let mut others = self.documents.iter().filter(|&(&other, _)| other != seq);
        if document.follows.is_none() {
            Verdict::New
        } else if others.any(|(_, other)| other.canonical == document.canonical) {
            Verdict::Exact
        } else {
            Verdict::Near
        }
    }

    /// Checks that a collection has exactly these documents, groups and changes.
    pub(super) fn compare(&self, collection: &Collection) -> Result<(), TestCaseError> {
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
                let similarity = if document.canonical == leader.canonical {
                    Some((1.0, 0))
                } else {
                    self.similarity(document, leader)
                };
                // JSON may change the last bit of a number.
                let rounded = |jaccard: f64| (jaccard * 1e12).round();
                prop_assert_eq!(
                    best.jaccard.map(|jaccard| (rounded(jaccard), best.hamming)),
                    similarity.map(|(jaccard, distance)| (rounded(jaccard), distance)),
                    "{} follows {}",
                    document.id,
                    best.id
                );
            }
        }
        let actual = collection
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
        let actual = actual
            .into_iter()
            .map(|group| (group.group_id, group.size, group.leader.id, group.canonical.id));
        prop_assert_eq!(actual.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        let changes = collection
            .changes(0, 10_000)
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
        let changes: BTreeMap<_, _> = changes
            .into_iter()
            .map(|change| (change.seq, (change.change, change.id, change.group_id)))
            .collect();
        prop_assert_eq!(&changes, &self.changes);
        Ok(())
    }
}
