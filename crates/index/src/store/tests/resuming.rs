//! Indexes of one segment whose build is interrupted by a failure, a kill or a power cut at any operation.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::disk::{Crash, Recorder};
use super::faults::FailsOnce;
use super::*;
use crate::plan::Plan;
use crate::segment::{self, Builder, Interrupted, ProgressCallback, Resumable, Segment, SegmentError};

const N: u64 = 300;

fn segment_options<W: Width>(storage: &Arc<dyn Storage>) -> segment::Options {
    segment::Options {
        plan: Some(Plan::thirds(W::BITS, 3).unwrap()),
        storage: Some(Arc::clone(storage)),
        resume: Some(b"sample".to_vec()),
        ..segment::Options::default()
    }
}

/// Creates the index, or resumes its build. Returns the number of complete tables at the beginning.
fn create_or_resume<W: Width>(
    path: &Path,
    storage: Arc<dyn Storage>,
    segment: &segment::Options,
) -> Result<usize, StoreError> {
    let options = Options {
        storage,
        ..Options::default()
    };
    let mut complete = 0;
    create_from::<W, StoreError>(path, &settings(), &options, |path| {
        let built = if let Resumable::Tables(interrupted) = Interrupted::find(path, segment)? {
            complete = interrupted.whole();
            assert_eq!(interrupted.notes(), N.to_le_bytes());
            interrupted.finish()?
        } else {
            let mut builder = Builder::new(path, segment)?;
            for id in 0..N {
                let fingerprint = id.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                builder.push(W::truncate(u128::from(fingerprint)), id)?;
            }
            builder.note(N.to_le_bytes().to_vec());
            builder.finish()?
        };
        Ok((built, N))
    })?;
    Ok(complete)
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

fn expected<W: Width>() -> BTreeMap<String, Vec<u8>> {
    let directory = tempfile::tempdir().unwrap();
    let storage: Arc<dyn Storage> = Arc::new(Unsynced);
    assert_eq!(
        create_or_resume::<W>(directory.path(), storage.clone(), &segment_options::<W>(&storage)).unwrap(),
        0
    );
    files(directory.path())
}

/// Options that stop a build after it has reported `after` rows.
fn stopping_after<W: Width>(storage: &Arc<dyn Storage>, after: u64) -> segment::Options {
    let stop = Arc::new(AtomicBool::new(false));
    let (set, reported) = (Arc::clone(&stop), AtomicU64::new(0));
    segment::Options {
        stop: Some(stop),
        written: Some(ProgressCallback::new(move |rows| {
            let all = reported.fetch_add(rows, Ordering::Relaxed) + rows;
            set.fetch_or(all >= after, Ordering::Relaxed);
        })),
        ..segment_options::<W>(storage)
    }
}

fn assert_stopped(result: &Result<usize, StoreError>) {
    let is_stopped = matches!(result, Err(StoreError::Segment(SegmentError::Stopped)));
    assert!(is_stopped, "{result:?}");
}

/// Repeats the build after a crash, and checks that it gives the same index. Returns the number of tables that were already complete.
fn repeat<W: Width>(path: &Path, expected: &BTreeMap<String, Vec<u8>>) -> usize {
    let storage: Arc<dyn Storage> = Arc::new(Unsynced);
    let complete = create_or_resume::<W>(path, storage.clone(), &segment_options::<W>(&storage)).unwrap();
    assert!(files(path) == *expected);
    check::<W>(path).unwrap();
    complete
}

fn a_build_is_resumed_to_the_same_index_after_any_failure<W: Width>() {
    let expected = expected::<W>();
    let mut from = [0; 3];
    // A new build, and a build that resumes after the first table.
    for is_resumed in [false, true] {
        for at in 0.. {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path();
            if is_resumed {
                let storage: Arc<dyn Storage> = Arc::new(Unsynced);
                assert_stopped(&create_or_resume::<W>(
                    path,
                    storage.clone(),
                    &stopping_after::<W>(&storage, N + 1),
                ));
            }
            let failing = FailsOnce::new(at, ErrorKind::StorageFull);
            let storage: Arc<dyn Storage> = Arc::new(failing.clone());
            let ended = create_or_resume::<W>(path, storage.clone(), &segment_options::<W>(&storage));
            if files(path).contains_key("manifest") {
                assert!(files(path).len() >= 3);
                check::<W>(path).unwrap();
                if failing.failed() {
                    continue;
                }
                ended.unwrap();
                break;
            }
            assert!(ended.is_err());
            from[repeat::<W>(path, &expected)] += 1;
        }
    }
    assert!(from.iter().all(|&times| times > 3), "{from:?}");
}

fn a_build_is_resumed_to_the_same_index_after_a_kill_or_a_power_cut<W: Width>() {
    let expected = expected::<W>();
    let directory = tempfile::tempdir().unwrap();
    let recorder = Recorder::default();
    let storage: Arc<dyn Storage> = Arc::new(recorder.clone());
    // The build needs three attempts.
    assert_stopped(&create_or_resume::<W>(
        directory.path(),
        storage.clone(),
        &stopping_after::<W>(&storage, N + 1),
    ));
    assert_stopped(&create_or_resume::<W>(
        directory.path(),
        storage.clone(),
        &stopping_after::<W>(&storage, 2 * N + 1),
    ));
    assert_eq!(
        create_or_resume::<W>(directory.path(), storage.clone(), &segment_options::<W>(&storage)).unwrap(),
        2
    );
    let mut from = [0; 3];
    for steps in 0..=recorder.len() {
        let point = recorder.after(steps);
        let random = Crash::CutAtRandom(steps as u64 + 9);
        for crash in [Crash::Kill, Crash::CutLosingAll, Crash::CutLosingContent, random] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path();
            point.write_remains(crash, path);
            if path.join("manifest").exists() {
                check::<W>(path).unwrap();
                Index::<W>::open(path, &Options::default()).unwrap();
                let lock = ("lock".to_owned(), Vec::new());
                let remaining: BTreeMap<_, _> = files(path).into_iter().chain([lock]).collect();
                assert!(remaining == expected);
            } else {
                from[repeat::<W>(path, &expected)] += 1;
            }
        }
    }
    assert!(from.iter().all(|&times| times > 12), "{from:?}");
}

fn an_unfinished_build_is_refused_with_the_way_to_finish_it<W: Width>() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let storage: Arc<dyn Storage> = Arc::new(Unsynced);
    assert_stopped(&create_or_resume::<W>(
        path,
        storage.clone(),
        &stopping_after::<W>(&storage, N + 1),
    ));
    let names: Vec<String> = files(path).into_keys().collect();
    assert_eq!(names, ["00000001.seg.new.resume", "00000001.seg.new.tmp", "lock"]);
    let refused = [
        read::<W>(path).map(|_| ()),
        check::<W>(path).map(|_| ()),
        Index::<W>::open(path, &Options::default()).map(|_| ()),
    ];
    for refused in refused {
        let error = refused.unwrap_err();
        assert!(matches!(error, StoreError::Unfinished { .. }), "{error}");
        assert!(error.to_string().contains("is not an index yet"), "{error}");
    }
    // `create` removes the files of the unfinished build.
    drop(Index::<W>::create(path, &settings(), &Options::default()).unwrap());
    let names: Vec<String> = files(path).into_keys().collect();
    assert_eq!(names, ["lock", "manifest"]);
    // So does a build without `resume`.
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    assert_stopped(&create_or_resume::<W>(
        path,
        storage.clone(),
        &stopping_after::<W>(&storage, N + 1),
    ));
    create_from::<W, StoreError>(path, &settings(), &Options::default(), |path| {
        let builder = Builder::new(path, &segment::Options::default())?;
        let segment: Segment<W> = builder.finish()?;
        Ok((segment, 0))
    })
    .unwrap();
    let names: Vec<String> = files(path).into_keys().collect();
    assert_eq!(names, ["00000001.seg", "lock", "manifest"]);
}

fn an_index_can_be_created_where_a_build_ended_before_the_rename_of_its_manifest<W: Width>() {
    let expected = expected::<W>();
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
        let refused = Index::<W>::create(path, &wrong, &Options::default()).unwrap_err();
        assert!(matches!(refused, StoreError::Label { .. }), "{refused}");
        assert!(files(path) == before);
        // `create` fails at any operation, and can be repeated. The build can be repeated, too.
        let failing = FailsOnce::new(at, ErrorKind::StorageFull);
        let options = options(8, Upkeep::FlushOnly, failing.clone());
        let created = Index::<W>::create(path, &settings(), &options).map(drop);
        if files(path).contains_key("manifest") {
            check::<W>(path).unwrap();
        } else {
            failed += 1;
            assert!(created.is_err());
            let copy = tempfile::tempdir().unwrap();
            for (name, bytes) in files(path) {
                std::fs::write(copy.path().join(name), bytes).unwrap();
            }
            drop(Index::<W>::create(copy.path(), &settings(), &Options::default()).unwrap());
            assert_eq!(
                files(copy.path()).into_keys().collect::<Vec<_>>(),
                ["lock", "manifest"]
            );
            assert_eq!(repeat::<W>(path, &expected), 0);
        }
        if !failing.failed() {
            break;
        }
    }
    assert!(failed > 3, "only {failed} failures");
}

at_every_width! {
    a_build_is_resumed_to_the_same_index_after_any_failure
    a_build_is_resumed_to_the_same_index_after_a_kill_or_a_power_cut
    an_unfinished_build_is_refused_with_the_way_to_finish_it
    an_index_can_be_created_where_a_build_ended_before_the_rename_of_its_manifest
}
