//! An end between any two operations on the disk: kill or power cut.

use super::disk::{End, Recorder};
use super::*;

/// Works on a disk that remembers. Commits after some changes, compacts after others.
fn work(path: &std::path::Path, recorder: &Recorder, changes: &[Change]) {
    let options = options(6, Upkeep::Caller, recorder.clone());
    let index = Index::create(path, &settings(), &options).unwrap();
    let mut acknowledged = 0;
    for (i, &change) in changes.iter().enumerate() {
        // A full memtable commits what was there before this change.
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

fn reopens(moment: &disk::CommitPoint, end: End, changes: &[Change]) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    moment.leave(end, path);
    let committed = match read::<u64>(path) {
        // Before the first manifest there is no index, and nothing was promised.
        Err(StoreError::NotAnIndex { .. }) => {
            assert_eq!(moment.acknowledged, 0);
            drop(Index::<u64>::create(path, &settings(), &Options::default()).unwrap());
            assert!(check::<u64>(path).unwrap().left_over.is_empty());
            return;
        }
        read => read.unwrap(),
    };
    let checkpoint = committed.checkpoint as usize;
    assert!((moment.acknowledged..=moment.sent).contains(&checkpoint));
    let expected = living(&changes[..checkpoint]);
    same(&committed.snapshot, &expected).unwrap();
    assert_eq!(check::<u64>(path).unwrap().living, expected.len() as u64);
    // It goes on from there, as if nothing had happened.
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

fn ends(changes: &[Change], seed: u64) -> usize {
    let directory = tempfile::tempdir().unwrap();
    let recorder = Recorder::default();
    work(directory.path(), &recorder, changes);
    for steps in 0..=recorder.len() {
        let moment = recorder.after(steps);
        let random = seed ^ (steps as u64) << 8;
        for end in [
            End::Kill,
            End::CutLosingAll,
            End::CutLosingContent,
            End::CutAtRandom(random),
        ] {
            let result = std::panic::catch_unwind(|| reopens(&moment, end, changes));
            assert!(result.is_ok(), "after {steps} steps: {end:?}");
        }
    }
    recorder.len()
}

#[test]
fn an_end_between_any_two_steps_loses_nothing_that_was_committed() {
    let steps = ends(&changes(26, 1), 7);
    assert!(steps > 100, "only {steps} steps");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3, max_shrink_iters: 64, ..ProptestConfig::default() })]

    #[test]
    fn and_so_for_other_changes(changes in prop::collection::vec(change(), 0..14), seed: u64) {
        ends(&changes, seed);
    }
}
