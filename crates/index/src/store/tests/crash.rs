//! Crashes between any two operations on the disk: kills and power cuts.

use super::disk::{Crash, Recorder};
use super::*;

/// Makes changes on a recording disk. Commits after some changes, and compacts after others.
fn work(path: &std::path::Path, recorder: &Recorder, changes: &[Change]) {
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

fn check_reopening(point: &disk::CommitPoint, crash: Crash, changes: &[Change]) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    point.write_remains(crash, path);
    let committed = match read::<u64>(path) {
        // Before the first manifest there is no index, and no change was acknowledged.
        Err(StoreError::NotAnIndex { .. }) => {
            assert_eq!(point.acknowledged, 0);
            drop(Index::<u64>::create(path, &settings(), &Options::default()).unwrap());
            assert!(check::<u64>(path).unwrap().left_over.is_empty());
            return;
        }
        read => read.unwrap(),
    };
    let checkpoint = committed.checkpoint as usize;
    assert!((point.acknowledged..=point.sent).contains(&checkpoint));
    let expected = living(&changes[..checkpoint]);
    same(&committed.snapshot, &expected).unwrap();
    assert_eq!(check::<u64>(path).unwrap().living, expected.len() as u64);
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
        check::<u64>(path).unwrap().left_over,
        Vec::<std::path::PathBuf>::new()
    );
}

fn check_all_crashes(changes: &[Change], seed: u64) -> usize {
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
            let result = std::panic::catch_unwind(|| check_reopening(&point, crash, changes));
            assert!(result.is_ok(), "after {steps} steps: {crash:?}");
        }
    }
    recorder.len()
}

#[test]
fn a_crash_between_any_two_steps_loses_no_committed_change() {
    let steps = check_all_crashes(&changes(26, 1), 7);
    assert!(steps > 100, "only {steps} steps");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3, max_shrink_iters: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_crash_after_random_changes_loses_no_committed_change(changes in prop::collection::vec(change(), 0..14), seed: u64) {
        check_all_crashes(&changes, seed);
    }
}
