//! Files damaged page by page. A check finds the damage, or all documents can be read. A repair saves the readable documents, or writes
//! nothing. Neither changes the file, and every panic of the store is caught.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{set_hook, take_hook};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::database::FILE;
use crate::{
    Collection, CollectionError, Content, Details, Document, Durability, NewDocument, RepairReport, Settings,
};
use twinprint_io::guard::catches_panics;

/// Bytes of a page of the store.
const PAGE: usize = 4096;

/// The number of panics of the store that were not caught on their thread.
static UNCAUGHT_PANICS: AtomicUsize = AtomicUsize::new(0);

/// Returns the number of panics of the store that were not caught on their thread.
pub(super) fn uncaught_panics() -> usize {
    UNCAUGHT_PANICS.load(Ordering::Relaxed)
}

/// Installs a panic hook that prints panics as the command does, and counts the uncaught ones of the store.
pub(super) fn count_uncaught_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let print = take_hook();
        set_hook(Box::new(move |panic| {
            if catches_panics() {
                return;
            }
            if panic.location().is_some_and(|at| at.file().contains("redb-")) {
                UNCAUGHT_PANICS.fetch_add(1, Ordering::Relaxed);
            }
            print(panic);
        }));
    });
}

fn document(n: u64) -> NewDocument {
    let mut state = n;
    let mut words = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        format!("word{}", (state >> 33) % 50_000)
    };
    let text: Vec<String> = (0..150).map(|_| words()).collect();
    NewDocument {
        id: format!("d{n}"),
        content: Content::Text(text.join(" ")),
        details: Details {
            url: Some(format!("http://h{}.example/{n}", n % 7)),
            time: Some("2026-01-01".to_owned()),
            ..Details::default()
        },
        ttl: None,
    }
}

/// A collection whose file is damaged in many ways.
struct DamagedCollection {
    temp: tempfile::TempDir,
    intact: Vec<u8>,
    documents: BTreeMap<String, Document>,
}

/// The outcome of a repair of a damaged file.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Intact,
    Saved { lost: u64 },
    Refused,
}

impl DamagedCollection {
    fn new(stories: bool) -> Self {
        count_uncaught_panics();
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("c");
        let settings = Settings {
            stories,
            ..Settings::default()
        };
        let collection = Collection::create(&dir, settings).unwrap();
        for part in 0..4 {
            let documents = (part * 40..(part + 1) * 40).map(document).collect();
            collection.add(documents, false, Durability::Synced).unwrap();
        }
        // Deletions leave pages of deleted documents in the file.
        let deleted: Vec<String> = (0..150).step_by(11).map(|n| format!("d{n}")).collect();
        collection.delete(&deleted, Durability::Synced).unwrap();
        let documents = all(&collection);
        drop(collection);
        let intact = fs::read(dir.join(FILE)).unwrap();
        Self {
            temp,
            intact,
            documents,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    /// The pages that contain data.
    fn pages(&self) -> Vec<usize> {
        let pages = self.intact.chunks(PAGE).enumerate();
        let pages: Vec<usize> = pages
            .filter(|(_, page)| page.iter().any(|&byte| byte != 0))
            .map(|(number, _)| number)
            .collect();
        assert!(pages.len() >= 35, "{}", pages.len());
        pages
    }

    /// Checks and repairs a collection file with these bytes.
    fn check_and_repair(&self, bytes: &[u8], damage: &str) -> Outcome {
        let (dir, mended) = (self.path("c"), self.path("mended"));
        fs::write(dir.join(FILE), bytes).unwrap();
        let checked = Collection::verify_in(&dir);
        match &checked {
            Ok(_) => {
                let read = all(&Collection::open_read_only(&dir).unwrap());
                assert!(
                    read == self.documents,
                    "{damage}: the check succeeds, but documents are missing"
                );
            }
            Err(error) => {
                assert!(
                    matches!(error, CollectionError::Damaged { .. }),
                    "{damage}: {error}"
                );
                let message = error.to_string();
                for part in ["damaged", "collection repair"] {
                    assert!(message.contains(part), "{damage}: no {part:?} in {message}");
                }
            }
        }
        let repaired = Collection::repair(&dir, &mended);
        let outcome = match repaired {
            Ok(repaired) => self.check_repaired(checked.is_ok(), repaired, damage),
            Err(error) => {
                assert!(
                    matches!(error, CollectionError::BeyondRepair { .. }) && checked.is_err(),
                    "{damage}: {error}"
                );
                assert!(!mended.exists(), "{damage}: an incomplete collection remains");
                Outcome::Refused
            }
        };
        assert!(
            fs::read(dir.join(FILE)).unwrap() == bytes,
            "{damage}: the file changed"
        );
        write_after_damage(&dir);
        outcome
    }

    fn check_repaired(&self, is_intact: bool, repaired: RepairReport, damage: &str) -> Outcome {
        let (dir, mended) = (self.path("c"), self.path("mended"));
        Collection::verify_in(&mended).unwrap_or_else(|error| panic!("{damage}: {error}"));
        let saved = all(&Collection::open_read_only(&mended).unwrap());
        fs::remove_dir_all(&mended).unwrap();
        let lost = (self.documents.len() - saved.len()) as u64;
        assert_eq!(repaired.saved, saved.len() as u64, "{damage}");
        assert!(repaired.lost.is_none_or(|reported| reported == lost), "{damage}");
        for (id, document) in &saved {
            let original = self.documents.get(id);
            let original = original.unwrap_or_else(|| panic!("{damage}: {id} was deleted"));
            assert_eq!(document.text, original.text, "{damage}: {id}");
            assert_eq!(document.details, original.details, "{damage}: {id}");
        }
        if let Ok(collection) = Collection::open_read_only(&dir) {
            for id in self.documents.keys() {
                assert!(
                    collection.get(id).is_err() || saved.contains_key(id),
                    "{damage}: {id} can be read but was not saved"
                );
            }
        }
        if is_intact {
            assert_eq!(lost, 0, "{damage}");
            return Outcome::Intact;
        }
        Outcome::Saved { lost }
    }
}

/// Writes to a damaged collection and closes it. Each call returns a result or an error.
fn write_after_damage(dir: &Path) {
    let Ok(collection) = Collection::open(dir) else {
        return;
    };
    let many = (200..220).map(document).collect();
    let _answered = collection.check((100..140).map(document).collect());
    let _added = collection.add(many, false, Durability::Synced);
    let _deleted = collection.delete(&["d1", "d90", "d159"], Durability::Synced);
    let _verified = collection.verify();
}

fn all(collection: &Collection) -> BTreeMap<String, Document> {
    let (documents, _) = collection.documents(0, 10_000).unwrap();
    let documents = documents.into_iter();
    documents
        .map(|document| (document.id.clone(), document))
        .collect()
}

fn count(outcomes: &[Outcome], of: impl Fn(&Outcome) -> bool) -> usize {
    outcomes.iter().filter(|outcome| of(outcome)).count()
}

#[test]
fn a_zeroed_page_loses_only_its_own_documents() {
    let damaged = DamagedCollection::new(false);
    let mut outcomes = Vec::new();
    for page in damaged.pages() {
        let mut bytes = damaged.intact.clone();
        bytes[page * PAGE..(page + 1) * PAGE].fill(0);
        outcomes.push(damaged.check_and_repair(&bytes, &format!("page {page} is zero")));
    }
    let some = |outcome: &Outcome| matches!(outcome, Outcome::Saved { lost: 1..40 });
    let none = |outcome: &Outcome| *outcome == Outcome::Saved { lost: 0 };
    let tally = [
        count(&outcomes, |outcome| *outcome == Outcome::Intact),
        count(&outcomes, some),
        count(&outcomes, none),
        count(&outcomes, |outcome| *outcome == Outcome::Refused),
    ];
    // Unused pages of old commits, pages of documents and texts, pages of other tables, pages of settings and roots.
    assert!(tally.iter().all(|&many| many > 0), "{tally:?}: {outcomes:?}");
    assert!(tally[3] <= 6, "{tally:?}");
    assert_eq!(uncaught_panics(), 0);
}

#[test]
fn flipped_bits_on_any_page_are_found_or_harmless() {
    let mut state = 1u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(7);
        (state >> 33) as usize % below
    };
    let mut outcomes = Vec::new();
    // Collections with stories are slower, so fewer pages are tested.
    for (stories, step) in [(false, 1), (true, 9)] {
        let damaged = DamagedCollection::new(stories);
        for page in damaged.pages().into_iter().step_by(step) {
            let mut bytes = damaged.intact.clone();
            let used: Vec<usize> = (page * PAGE..(page + 1) * PAGE)
                .filter(|&at| bytes[at] != 0)
                .collect();
            // Links and lengths are at the beginning of a page.
            let range = [used.len(), used.len().min(40)][random(2)];
            let at = used[random(range)];
            bytes[at] ^= 1 << random(8);
            outcomes
                .push(damaged.check_and_repair(&bytes, &format!("stories {stories}, byte {at} is flipped")));
        }
    }
    let intact = count(&outcomes, |outcome| *outcome == Outcome::Intact);
    assert!(intact > 0 && intact < outcomes.len(), "{outcomes:?}");
    assert_eq!(uncaught_panics(), 0);
}

#[test]
fn documents_of_a_truncated_file_are_saved() {
    let damaged = DamagedCollection::new(false);
    let pages = damaged.pages();
    let mut outcomes = Vec::new();
    for page in pages.iter().step_by(4) {
        let bytes = &damaged.intact[..page * PAGE];
        outcomes.push(damaged.check_and_repair(bytes, &format!("cut off after {page} pages")));
    }
    assert_eq!(count(&outcomes, |outcome| *outcome == Outcome::Intact), 0);
    let saved = count(&outcomes, |outcome| matches!(outcome, Outcome::Saved { .. }));
    assert!(saved > 0 && saved < outcomes.len(), "{outcomes:?}");
    assert_eq!(uncaught_panics(), 0);
}
