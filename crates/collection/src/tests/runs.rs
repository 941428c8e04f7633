//! Runs: pending documents become durable with their run or not at all, stored runs are read back, and collections of older versions have
//! none.

use std::io::ErrorKind;
use std::path::Path;

use twinprint_io::runs::{AddedRecord, Appended, EndedRun, KnownAnswer, KnownDocument};

use super::faulty_store::FaultyStore;
use super::{document, text};
use crate::{Collection, CollectionError, Durability, Settings, Verdict};

fn entry(digest: u128, name: u128, added: &[u64]) -> EndedRun {
    let answer = |n: u32| KnownAnswer {
        record: n.into(),
        document: KnownDocument {
            id: format!("known {n}"),
            hamming: n,
            jaccard: Some(1.0 / f64::from(n)),
        },
    };
    EndedRun {
        name,
        digest,
        answers: [2, 3].map(answer).into(),
        recognised: vec![1, 4],
        added: (0..)
            .zip(added)
            .map(|(record, &number)| AddedRecord { record, number })
            .collect(),
        counts: Appended {
            added: added.len() as u64,
            ..Appended::default()
        },
        ended: 1_700_000_000,
    }
}

/// Adds documents `from` to `from` + 9 as pending, in two calls. Returns their numbers.
fn add_pending(collection: &Collection, from: u64) -> Result<Vec<u64>, CollectionError> {
    let mut numbers = Vec::new();
    for half in [from..from + 5, from + 5..from + 10] {
        let documents = half.map(|n| document(&format!("d{n}"), text(n, 80, 0))).collect();
        let answers = collection.add_pending(documents)?;
        numbers.extend(answers.into_iter().map(|answer| answer.unwrap().seq.unwrap()));
    }
    Ok(numbers)
}

fn open(store: &FaultyStore, stories: bool) -> Result<Collection, CollectionError> {
    let settings = Settings {
        stories,
        ..Settings::default()
    };
    Collection::with_backend(Path::new("faulty"), store.clone(), &settings)
}

#[test]
fn pending_documents_are_searched_at_once_and_dropped_unless_the_run_is_committed() {
    for stories in [false, true] {
        let store = FaultyStore::default();
        let collection = open(&store, stories).unwrap();
        let buffered = vec![document("before", text(99, 80, 0))];
        collection.add(buffered, false, Durability::Buffered).unwrap();
        add_pending(&collection, 0).unwrap();
        assert_eq!(collection.len(), 11);
        let near = collection.check(vec![document("x", text(3, 80, 7))]).unwrap();
        assert_eq!(near[0].as_ref().unwrap().verdict, Verdict::Near);
        drop(collection);
        let collection = open(&store, stories).unwrap();
        assert_eq!(collection.len(), 1);
        assert!(!collection.has_run(7, 1).unwrap() && collection.past_run(7).unwrap().is_none());
        collection.verify().unwrap();

        let numbers = add_pending(&collection, 0).unwrap();
        collection.commit_run(entry(7, 1, &numbers)).unwrap();
        // Later writes succeed.
        let further = vec![document("after", text(98, 80, 0))];
        collection.add(further, false, Durability::Synced).unwrap();
        drop(collection);
        let collection = open(&store, stories).unwrap();
        assert_eq!(collection.len(), 12);
        let run = collection.past_run(7).unwrap().unwrap();
        let written = entry(7, 1, &numbers);
        assert_eq!(
            (run.answers, run.recognised, run.added, run.latest),
            (written.answers, written.recognised, written.added, written.counts)
        );
        assert!(collection.has_run(7, 1).unwrap());
        assert!(!collection.has_run(7, 2).unwrap() && !collection.has_run(8, 1).unwrap());
        assert_eq!(collection.verify().unwrap().runs, 1);
    }
}

#[test]
fn a_later_run_of_an_input_adds_to_the_stored_run() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let collection = Collection::create(&path("c"), Settings::default()).unwrap();
    let numbers = add_pending(&collection, 0).unwrap();
    collection.commit_run(entry(7, 1, &numbers)).unwrap();
    collection.commit_run(entry(9, 3, &[])).unwrap();
    let later = EndedRun {
        answers: Vec::new(),
        ended: 1_800_000_000,
        ..entry(7, 2, &[500])
    };
    collection.commit_run(later).unwrap();
    let checked = collection.backup(&path("copy")).unwrap();
    assert_eq!(checked.runs, 2);
    drop(collection);
    for path in [path("c"), path("copy")] {
        let collection = Collection::open(&path).unwrap();
        let run = collection.past_run(7).unwrap().unwrap();
        assert_eq!(
            (run.answers.len(), run.added.len(), run.first_ended),
            (2, 11, 1_700_000_000)
        );
        assert!(collection.has_run(7, 1).unwrap() && collection.has_run(7, 2).unwrap());
        assert_eq!(collection.id_hashes_of(&run.added).len(), 10);
    }
}

/// After a failure at any call, followed by a kill or a power cut, the run is stored completely or not at all.
#[test]
fn a_run_is_stored_completely_or_not_at_all() {
    for stories in [false, true] {
        let calls = {
            let store = FaultyStore::default();
            let collection = open(&store, stories).unwrap();
            let began = store.calls();
            let numbers = add_pending(&collection, 0).unwrap();
            collection.commit_run(entry(7, 1, &numbers)).unwrap();
            drop(collection);
            store.calls() - began
        };
        let mut seen = [false; 2];
        for (n, kind) in (0..calls).zip([ErrorKind::StorageFull, ErrorKind::Other].into_iter().cycle()) {
            let store = FaultyStore::default();
            let collection = open(&store, stories).unwrap();
            store.fail_after(n, kind);
            let is_committed = add_pending(&collection, 0)
                .and_then(|numbers| collection.commit_run(entry(7, 1, &numbers)))
                .is_ok();
            drop(collection);
            let mut state = n;
            let cut = store.power_cut(|| {
                state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
                state >> 33
            });
            for bytes in [cut, store.bytes()] {
                let collection = open(&FaultyStore::with_bytes(bytes), stories).unwrap();
                let is_stored = collection.has_run(7, 1).unwrap();
                assert_eq!(collection.len(), if is_stored { 10 } else { 0 }, "call {n}");
                assert!(is_stored || !is_committed, "call {n}");
                collection.verify().unwrap();
                seen[usize::from(is_stored)] = true;
            }
        }
        assert_eq!(seen, [true, true]);
    }
}

#[test]
fn collections_of_older_versions_have_no_runs_until_one_is_committed() {
    for (packed, stories) in [
        (
            include_bytes!("../../testdata/collection-1.redb.zst").as_slice(),
            false,
        ),
        (include_bytes!("../../testdata/collection-2.redb.zst"), true),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let file = zstd::decode_all(packed).unwrap();
        std::fs::write(dir.path().join("collection.redb"), file).unwrap();
        let collection = Collection::open(dir.path()).unwrap();
        assert_eq!((collection.len(), collection.settings().stories), (3, stories));
        assert_eq!(collection.verify().unwrap().runs, 0);
        // Collections of the versions that estimated no story thresholds keep those of these versions.
        let thresholds = [
            collection.settings().story_threshold,
            collection.settings().story_merge,
        ];
        assert_eq!(
            thresholds,
            if stories {
                [Some(0.3), Some(0.65)]
            } else {
                [None; 2]
            }
        );
        assert!(!collection.has_run(7, 1).unwrap() && collection.past_run(7).unwrap().is_none());
        let numbers = add_pending(&collection, 0).unwrap();
        collection.commit_run(entry(7, 1, &numbers)).unwrap();
        drop(collection);
        let collection = Collection::open(dir.path()).unwrap();
        assert_eq!((collection.len(), collection.verify().unwrap().runs), (13, 1));
    }
}
