//! Crashes between any two operations on the disk: kills and power cuts.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::disk::{Crash, Recorder};
use super::*;

/// Makes changes on a recording disk. Commits after some changes, and compacts after others.
fn work<W: Width>(path: &std::path::Path, recorder: &Recorder, changes: &[Change<W>]) {
    let options = options(6, Upkeep::Caller, recorder.clone());
    let index = Index::create(path, &settings(), &options).unwrap();
    let mut acknowledged = 0;
    for (i, &change) in changes.iter().enumerate() {
        // A full memtable commits the changes before this one.
        recorder.note(acknowledged, i);
        apply(&index, change, i + 1).unwrap();
        if i % 5 == 3 {
            recorder.note(acknowledged, i + 1);
            index.commit().unwrap();
            acknowledged = i + 1;
        }
        if i % 13 == 11 {
            recorder.note(acknowledged, i + 1);
            index.compact().unwrap();
            acknowledged = i + 1;
        }
        recorder.note(acknowledged, i + 1);
    }
}

fn check_reopening<W: Width>(point: &disk::CommitPoint, crash: Crash, changes: &[Change<W>]) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    point.write_remains(crash, path);
    let committed = match read::<W>(path) {
        // Before the first manifest there is no index, and no change was acknowledged.
        Err(StoreError::NotAnIndex { .. }) => {
            assert_eq!(point.acknowledged, 0);
            drop(Index::<W>::create(path, &settings(), &Options::default()).unwrap());
            assert!(check::<W>(path).unwrap().left_over.is_empty());
            return;
        }
        read => read.unwrap(),
    };
    let checkpoint = committed.checkpoint as usize;
    assert!((point.acknowledged..=point.sent).contains(&checkpoint));
    let expected = living(&changes[..checkpoint]);
    same(&committed.snapshot, &expected).unwrap();
    assert_eq!(check::<W>(path).unwrap().living, expected.len() as u64);
    // The index accepts further changes.
    let options = options(6, Upkeep::Caller, Unsynced);
    let index = Index::open(path, &options).unwrap();
    assert_eq!(index.checkpoint() as usize, checkpoint);
    for (i, &change) in changes.iter().enumerate().skip(checkpoint).take(8) {
        apply(&index, change, i + 1).unwrap();
    }
    index.commit().unwrap();
    let upto = changes.len().min(checkpoint + 8);
    same(&index.snapshot(), &living(&changes[..upto])).unwrap();
    drop(index);
    assert_eq!(
        check::<W>(path).unwrap().left_over,
        Vec::<std::path::PathBuf>::new()
    );
}

fn check_all_crashes<W: Width>(changes: &[Change<W>], seed: u64) -> usize {
    let directory = tempfile::tempdir().unwrap();
    let recorder = Recorder::default();
    work(directory.path(), &recorder, changes);
    for steps in 0..=recorder.len() {
        let point = recorder.after(steps);
        let random = seed ^ (steps as u64) << 8;
        for crash in [
            Crash::Kill,
            Crash::CutLosingAll,
            Crash::CutLosingContent,
            Crash::CutAtRandom(random),
        ] {
            let result = catch_unwind(AssertUnwindSafe(|| check_reopening(&point, crash, changes)));
            assert!(result.is_ok(), "after {steps} steps: {crash:?}");
        }
    }
    recorder.len()
}

fn a_crash_between_any_two_steps_loses_no_committed_change<W: Width>() {
    let steps = check_all_crashes(&changes::<W>(26, 1), 7);
    assert!(steps > 100, "only {steps} steps");
}

fn a_crash_after_random_changes_loses_no_committed_change<W: Width>() {
    let changes = (prop::collection::vec(change::<W>(), 0..14), any::<u64>());
    for_random::<W, _>(3, &changes, |(changes, seed)| {
        check_all_crashes(&changes, seed);
    });
}

at_every_width! {
    a_crash_between_any_two_steps_loses_no_committed_change
    a_crash_after_random_changes_loses_no_committed_change
}
