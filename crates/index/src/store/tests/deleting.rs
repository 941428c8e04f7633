//! Deletion of stored and of unknown ids.

use std::path::Path;

use super::*;

/// Ids 0, 2, … in two segments whose ranges overlap, and in the memtable.
fn index<W: Width>(directory: &Path) -> Index<W> {
    let index = Index::create(directory, &settings(), &options(1 << 10, Upkeep::FlushOnly, Disk)).unwrap();
    for (from, to) in [(0, 40), (20, 60), (60, 80)] {
        for id in (from..to).step_by(2) {
            index.add(id, near((id % 3, id as u32 % W::BITS, 1))).unwrap();
        }
        if to < 80 {
            index.commit().unwrap();
        }
    }
    index
}

fn ids<W: Width>(index: &Index<W>) -> Vec<u64> {
    let snapshot = index.snapshot();
    let mut ids: Vec<u64> = snapshot.iter().map(|row| row.unwrap().1).collect();
    ids.sort_unstable();
    ids
}

fn only_stored_ids_are_deleted_and_counted<W: Width>() {
    let directory = tempfile::tempdir().unwrap();
    let index = index::<W>(directory.path());
    index.commit().unwrap();
    let before = read::<W>(directory.path()).unwrap();
    let unknown = [1, 3, 41, 77, 1000];
    assert_eq!(index.delete_known(unknown).unwrap(), 0);
    index.commit().unwrap();
    let after = read::<W>(directory.path()).unwrap();
    assert_eq!(
        (after.generation, after.tombstones),
        (before.generation, before.tombstones)
    );
    // 30 is in both segments. In the first one it is replaced.
    assert_eq!(index.delete_known([4, 30, 30, 58, 1, 66]).unwrap(), 4);
    assert_eq!(index.delete_known([4, 30, 8]).unwrap(), 1);
    index.commit().unwrap();
    assert_eq!(
        read::<W>(directory.path()).unwrap().tombstones,
        before.tombstones + 5
    );
    let expected: Vec<u64> = (0..80)
        .step_by(2)
        .filter(|id| ![4, 8, 30, 58, 66].contains(id))
        .collect();
    assert_eq!(ids(&index), expected);
    index.compact().unwrap();
    assert_eq!(ids(&index), expected);
}

fn uncommitted_additions_can_be_deleted<W: Width>() {
    let directory = tempfile::tempdir().unwrap();
    let index = index::<W>(directory.path());
    assert_eq!(index.delete_known([60, 61, 78]).unwrap(), 2);
    assert_eq!(index.delete_known([60, 78]).unwrap(), 0);
    let snapshot = index.snapshot();
    index.add(60, W::truncate(7)).unwrap();
    assert_eq!(index.delete_known([60]).unwrap(), 1);
    drop(snapshot);
    index.commit().unwrap();
    assert!(!ids(&index).contains(&60) && ids(&index).contains(&62));
}

fn lookups_are_complete_at_every_radius<W: Width>() {
    for radius in 0..=W::BITS {
        let directory = tempfile::tempdir().unwrap();
        let settings = Settings { radius, ..settings() };
        let index = Index::create(directory.path(), &settings, &options(64, Upkeep::Caller, Disk)).unwrap();
        for id in 0..100 {
            index.add(id, near((id % 3, id as u32 % W::BITS, 9))).unwrap();
        }
        index.commit().unwrap();
        let snapshot = index.snapshot();
        let query: W = near((1, 5, 9));
        let mut found = 0;
        snapshot
            .lookup(query, radius, &mut Scratch::default(), |_, _, _| found += 1)
            .unwrap();
        let near = |row: Result<(W, u64), StoreError>| row.unwrap().0.distance(query) <= radius;
        assert_eq!(
            found,
            snapshot.iter().filter_map(|row| near(row).then_some(())).count(),
            "{radius}"
        );
    }
}

at_every_width! {
    only_stored_ids_are_deleted_and_counted
    uncommitted_additions_can_be_deleted
    lookups_are_complete_at_every_radius
}
