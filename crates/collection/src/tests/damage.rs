//! Files damaged page by page: a check finds it or nothing is wrong, a repair saves what can be read or makes nothing, and neither changes
//! the file or lets a panic of the store out.

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

/// Panics of the store that nobody caught on the thread where they happened.
static LET_OUT: AtomicUsize = AtomicUsize::new(0);

/// Panics of the store so far that nobody caught where they happened.
pub(super) fn panics_let_out() -> usize {
    LET_OUT.load(Ordering::Relaxed)
}

/// Prints panics as the command does, and counts those of the store.
pub(super) fn watch_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let print = take_hook();
        set_hook(Box::new(move |panic| {
            if catches_panics() {
                return;
            }
            if panic.location().is_some_and(|at| at.file().contains("redb-")) {
                LET_OUT.fetch_add(1, Ordering::Relaxed);
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
struct Victim {
    room: tempfile::TempDir,
    whole: Vec<u8>,
    documents: BTreeMap<String, Document>,
}

/// The fate of a damaged file.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Whole,
    Saved { lost: u64 },
    Refused,
}

impl Victim {
    fn new(stories: bool) -> Self {
        watch_panics();
        let room = tempfile::tempdir().unwrap();
        let dir = room.path().join("c");
        let settings = Settings {
            stories,
            ..Settings::default()
        };
        let collection = Collection::create(&dir, settings).unwrap();
        for part in 0..4 {
            let documents = (part * 40..(part + 1) * 40).map(document).collect();
            collection.add(documents, false, Durability::Synced).unwrap();
        }
        // Pages of what is gone as well.
        let gone: Vec<String> = (0..150).step_by(11).map(|n| format!("d{n}")).collect();
        collection.delete(&gone, Durability::Synced).unwrap();
        let documents = all(&collection);
        drop(collection);
        let whole = fs::read(dir.join(FILE)).unwrap();
        Self {
            room,
            whole,
            documents,
        }
    }

    fn place(&self, name: &str) -> PathBuf {
        self.room.path().join(name)
    }

    /// The pages that hold anything.
    fn pages(&self) -> Vec<usize> {
        let pages = self.whole.chunks(PAGE).enumerate();
        let pages: Vec<usize> = pages
            .filter(|(_, page)| page.iter().any(|&byte| byte != 0))
            .map(|(number, _)| number)
            .collect();
        assert!(pages.len() >= 35, "{}", pages.len());
        pages
    }

    /// Checks and repairs a collection with these bytes.
    fn judge(&self, bytes: &[u8], damage: &str) -> End {
        let (dir, mended) = (self.place("c"), self.place("mended"));
        fs::write(dir.join(FILE), bytes).unwrap();
        let checked = Collection::verify_in(&dir);
        match &checked {
            Ok(_) => {
                let read = all(&Collection::open_read_only(&dir).unwrap());
                assert!(read == self.documents, "{damage}: whole, but not all is there");
            }
            Err(error) => {
                assert!(
                    matches!(error, CollectionError::Damaged { .. }),
                    "{damage}: {error}"
                );
                let told = error.to_string();
                for part in ["damaged", "collection repair"] {
                    assert!(told.contains(part), "{damage}: no {part:?} in {told}");
                }
            }
        }
        let repaired = Collection::repair(&dir, &mended);
        let end = match repaired {
            Ok(repaired) => self.judge_repaired(checked.is_ok(), repaired, damage),
            Err(error) => {
                assert!(
                    matches!(error, CollectionError::BeyondRepair { .. }) && checked.is_err(),
                    "{damage}: {error}"
                );
                assert!(!mended.exists(), "{damage}: half a collection stays");
                End::Refused
            }
        };
        assert!(
            fs::read(dir.join(FILE)).unwrap() == bytes,
            "{damage}: the file changed"
        );
        write_on(&dir);
        end
    }

    fn judge_repaired(&self, whole: bool, repaired: RepairReport, damage: &str) -> End {
        let (dir, mended) = (self.place("c"), self.place("mended"));
        Collection::verify_in(&mended).unwrap_or_else(|error| panic!("{damage}: {error}"));
        let saved = all(&Collection::open_read_only(&mended).unwrap());
        fs::remove_dir_all(&mended).unwrap();
        let lost = (self.documents.len() - saved.len()) as u64;
        assert_eq!(repaired.saved, saved.len() as u64, "{damage}");
        assert!(repaired.lost.is_none_or(|told| told == lost), "{damage}");
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
                    "{damage}: {id} can be read"
                );
            }
        }
        if whole {
            assert_eq!(lost, 0, "{damage}");
            return End::Whole;
        }
        End::Saved { lost }
    }
}

/// Writing to what is left ends in an answer or an error as well, and so does closing it.
fn write_on(dir: &Path) {
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

fn count(ends: &[End], of: impl Fn(&End) -> bool) -> usize {
    ends.iter().filter(|end| of(end)).count()
}

#[test]
fn a_page_of_zeros_costs_what_is_on_it() {
    let victim = Victim::new(false);
    let mut ends = Vec::new();
    for page in victim.pages() {
        let mut bytes = victim.whole.clone();
        bytes[page * PAGE..(page + 1) * PAGE].fill(0);
        ends.push(victim.judge(&bytes, &format!("page {page} is zero")));
    }
    let some = |end: &End| matches!(end, End::Saved { lost: 1..40 });
    let none = |end: &End| *end == End::Saved { lost: 0 };
    let tally = [
        count(&ends, |end| *end == End::Whole),
        count(&ends, some),
        count(&ends, none),
        count(&ends, |end| *end == End::Refused),
    ];
    // Pages of old commits; of documents and texts; of the rest; of settings and roots.
    assert!(tally.iter().all(|&many| many > 0), "{tally:?}: {ends:?}");
    assert!(tally[3] <= 6, "{tally:?}");
    assert_eq!(panics_let_out(), 0);
}

#[test]
fn flipped_bits_on_any_page_are_found_or_do_not_matter() {
    let mut state = 1u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(7);
        (state >> 33) as usize % below
    };
    let mut ends = Vec::new();
    // Stories take their time.
    for (stories, step) in [(false, 1), (true, 9)] {
        let victim = Victim::new(stories);
        for page in victim.pages().into_iter().step_by(step) {
            let mut bytes = victim.whole.clone();
            let used: Vec<usize> = (page * PAGE..(page + 1) * PAGE)
                .filter(|&at| bytes[at] != 0)
                .collect();
            // Links and lengths stand at the beginning.
            let many = [used.len(), used.len().min(40)][random(2)];
            let at = used[random(many)];
            bytes[at] ^= 1 << random(8);
            ends.push(victim.judge(&bytes, &format!("stories {stories}, byte {at} is flipped")));
        }
    }
    let whole = count(&ends, |end| *end == End::Whole);
    assert!(whole > 0 && whole < ends.len(), "{ends:?}");
    assert_eq!(panics_let_out(), 0);
}

#[test]
fn a_file_cut_short_is_damaged_and_the_rest_is_saved() {
    let victim = Victim::new(false);
    let pages = victim.pages();
    let mut ends = Vec::new();
    for page in pages.iter().step_by(4) {
        let bytes = &victim.whole[..page * PAGE];
        ends.push(victim.judge(bytes, &format!("{page} pages are left")));
    }
    assert_eq!(count(&ends, |end| *end == End::Whole), 0);
    let saved = count(&ends, |end| matches!(end, End::Saved { .. }));
    assert!(saved > 0 && saved < ends.len(), "{ends:?}");
    assert_eq!(panics_let_out(), 0);
}
