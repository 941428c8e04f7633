//! Indexes made of one segment whose build comes to an end too early: by a failure, a kill or a power cut at any
//! operation.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::disk::{End, Recorder};
use super::faults::FailsOnce;
use super::*;
use crate::plan::Plan;
use crate::segment::{self, Builder, Interrupted, ProgressCallback, Resumable, Segment, SegmentError};

const N: u64 = 300;

fn made(storage: &Arc<dyn Storage>) -> segment::Options {
    segment::Options {
        plan: Some(Plan::thirds(64, 3).unwrap()),
        storage: Some(Arc::clone(storage)),
        resume: Some(b"sample".to_vec()),
        ..segment::Options::default()
    }
}

/// Makes the index, or goes on making it.
fn make(path: &Path, storage: Arc<dyn Storage>, segment: &segment::Options) -> Result<usize, StoreError> {
    let options = Options {
        storage,
        ..Options::default()
    };
    let mut whole = 0;
    create_from::<u64, StoreError>(path, &settings(), &options, |path| {
        let built = if let Resumable::Tables(interrupted) = Interrupted::find(path, segment)? {
            whole = interrupted.whole();
            assert_eq!(interrupted.notes(), N.to_le_bytes());
            interrupted.finish()?
        } else {
            let mut builder = Builder::new(path, segment)?;
            for id in 0..N {
                builder.push(id.wrapping_mul(0x9E37_79B9_7F4A_7C15), id)?;
            }
            builder.note(N.to_le_bytes().to_vec());
            builder.finish()?
        };
        Ok((built, N))
    })?;
    Ok(whole)
}

/// The files of an index.
fn files(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(path).unwrap().map(Result::unwrap);
    entries
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, std::fs::read(entry.path()).unwrap())
        })
        .collect()
}

fn expected() -> BTreeMap<String, Vec<u8>> {
    let directory = tempfile::tempdir().unwrap();
    let storage: Arc<dyn Storage> = Arc::new(Unsynced);
    assert_eq!(
        make(directory.path(), storage.clone(), &made(&storage)).unwrap(),
        0
    );
    files(directory.path())
}

/// Options with which a build stops once it told of so many rows.
fn stopping(storage: &Arc<dyn Storage>, after: u64) -> segment::Options {
    let stop = Arc::new(AtomicBool::new(false));
    let (set, told) = (Arc::clone(&stop), AtomicU64::new(0));
    segment::Options {
        stop: Some(stop),
        written: Some(ProgressCallback::new(move |rows| {
            let all = told.fetch_add(rows, Ordering::Relaxed) + rows;
            set.fetch_or(all >= after, Ordering::Relaxed);
        })),
        ..made(storage)
    }
}

fn stopped(result: &Result<usize, StoreError>) {
    let stopped = matches!(result, Err(StoreError::Segment(SegmentError::Stopped)));
    assert!(stopped, "{result:?}");
}

/// After any end the same again makes the same index; from which table on it was made.
fn again(path: &Path, expected: &BTreeMap<String, Vec<u8>>) -> usize {
    let storage: Arc<dyn Storage> = Arc::new(Unsynced);
    let whole = make(path, storage.clone(), &made(&storage)).unwrap();
    assert!(files(path) == *expected);
    check::<u64>(path).unwrap();
    whole
}

#[test]
fn after_any_failure_it_is_gone_on_to_the_same_index() {
    let expected = expected();
    let mut from = [0; 3];
    // From the beginning, and by what goes on after the first table.
    for begun in [false, true] {
        for at in 0.. {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path();
            if begun {
                let storage: Arc<dyn Storage> = Arc::new(Unsynced);
                stopped(&make(path, storage.clone(), &stopping(&storage, N + 1)));
            }
            let failing = FailsOnce::new(at, ErrorKind::StorageFull);
            let storage: Arc<dyn Storage> = Arc::new(failing.clone());
            let ended = make(path, storage.clone(), &made(&storage));
            if files(path).contains_key("manifest") {
                assert!(files(path).len() >= 3);
                check::<u64>(path).unwrap();
                if failing.failed() {
                    continue;
                }
                ended.unwrap();
                break;
            }
            assert!(ended.is_err());
            from[again(path, &expected)] += 1;
        }
    }
    assert!(from.iter().all(|&times| times > 3), "{from:?}");
}

#[test]
fn after_a_kill_or_a_power_cut_it_is_gone_on_to_the_same_index() {
    let expected = expected();
    let directory = tempfile::tempdir().unwrap();
    let recorder = Recorder::default();
    let storage: Arc<dyn Storage> = Arc::new(recorder.clone());
    // In three attempts.
    stopped(&make(
        directory.path(),
        storage.clone(),
        &stopping(&storage, N + 1),
    ));
    stopped(&make(
        directory.path(),
        storage.clone(),
        &stopping(&storage, 2 * N + 1),
    ));
    assert_eq!(
        make(directory.path(), storage.clone(), &made(&storage)).unwrap(),
        2
    );
    let mut from = [0; 3];
    for steps in 0..=recorder.len() {
        let moment = recorder.after(steps);
        let random = End::CutAtRandom(steps as u64 + 9);
        for end in [End::Kill, End::CutLosingAll, End::CutLosingContent, random] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path();
            moment.leave(end, path);
            if path.join("manifest").exists() {
                check::<u64>(path).unwrap();
                Index::<u64>::open(path, &Options::default()).unwrap();
                let lock = ("lock".to_owned(), Vec::new());
                let left: BTreeMap<_, _> = files(path).into_iter().chain([lock]).collect();
                assert!(left == expected);
            } else {
                from[again(path, &expected)] += 1;
            }
        }
    }
    assert!(from.iter().all(|&times| times > 12), "{from:?}");
}

#[test]
fn until_it_is_whole_it_is_no_index_and_says_how_to_finish_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let storage: Arc<dyn Storage> = Arc::new(Unsynced);
    stopped(&make(path, storage.clone(), &stopping(&storage, N + 1)));
    let names: Vec<String> = files(path).into_keys().collect();
    assert_eq!(names, ["00000001.seg.new.resume", "00000001.seg.new.tmp", "lock"]);
    let refused = [
        read::<u64>(path).map(|_| ()),
        check::<u64>(path).map(|_| ()),
        Index::<u64>::open(path, &Options::default()).map(|_| ()),
    ];
    for refused in refused {
        let error = refused.unwrap_err();
        assert!(matches!(error, StoreError::Unfinished { .. }), "{error}");
        assert!(error.to_string().contains("is not an index yet"), "{error}");
    }
    // Whoever makes another index there has no use for it.
    drop(Index::<u64>::create(path, &settings(), &Options::default()).unwrap());
    let names: Vec<String> = files(path).into_keys().collect();
    assert_eq!(names, ["lock", "manifest"]);
    // Nor has one who builds a segment without asking for it.
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    stopped(&make(path, storage.clone(), &stopping(&storage, N + 1)));
    create_from::<u64, StoreError>(path, &settings(), &Options::default(), |path| {
        let builder = Builder::new(path, &segment::Options::default())?;
        let segment: Segment<u64> = builder.finish()?;
        Ok((segment, 0))
    })
    .unwrap();
    let names: Vec<String> = files(path).into_keys().collect();
    assert_eq!(names, ["00000001.seg", "lock", "manifest"]);
}

#[test]
fn an_index_can_be_made_where_a_build_ended_before_its_manifest_had_its_name() {
    let expected = expected();
    let mut failed = 0;
    for at in 0.. {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        for (name, bytes) in &expected {
            let name = if name == "manifest" { "manifest.tmp" } else { name };
            std::fs::write(path.join(name), bytes).unwrap();
        }
        let label = "a".repeat(256);
        let before = files(path);
        let wrong = Settings { label, ..settings() };
        let refused = Index::<u64>::create(path, &wrong, &Options::default()).unwrap_err();
        assert!(matches!(refused, StoreError::Label { .. }), "{refused}");
        assert!(files(path) == before);
        // It ends at any operation, and can be made again, or built.
        let failing = FailsOnce::new(at, ErrorKind::StorageFull);
        let options = options(8, Upkeep::FlushOnly, failing.clone());
        let created = Index::<u64>::create(path, &settings(), &options).map(drop);
        if files(path).contains_key("manifest") {
            check::<u64>(path).unwrap();
        } else {
            failed += 1;
            assert!(created.is_err());
            let copy = tempfile::tempdir().unwrap();
            for (name, bytes) in files(path) {
                std::fs::write(copy.path().join(name), bytes).unwrap();
            }
            drop(Index::<u64>::create(copy.path(), &settings(), &Options::default()).unwrap());
            assert_eq!(
                files(copy.path()).into_keys().collect::<Vec<_>>(),
                ["lock", "manifest"]
            );
            assert_eq!(again(path, &expected), 0);
        }
        if !failing.failed() {
            break;
        }
    }
    assert!(failed > 3, "only {failed} failures");
}
