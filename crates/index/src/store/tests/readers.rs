//! Readers during writes and background work.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

fn readers_see_only_states_that_existed<W: Width>() {
    let directory = tempfile::tempdir().unwrap();
    let options = options(64, Upkeep::Background, Unsynced);
    let index = Index::create(directory.path(), &settings(), &options).unwrap();
    let changes = changes::<W>(fewer::<W>(3000), 4);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for &change in &changes {
                match change {
                    Change::Add(id, fingerprint) => index.add(id, fingerprint).unwrap(),
                    Change::Delete(id) => index.delete(id).unwrap(),
                }
            }
            index.commit().unwrap();
            done.store(true, Ordering::Release);
        });
        for _ in 0..2 {
            scope.spawn(|| {
                let mut last = 0;
                while !done.load(Ordering::Acquire) || last == 0 {
                    let snapshot = index.snapshot();
                    // A stamp counts the changes since the index was opened.
                    let stamp = snapshot.stamp as usize;
                    assert!(stamp >= last);
                    same(&snapshot, &living(&changes[..stamp])).unwrap();
                    last = stamp;
                }
            });
            scope.spawn(|| {
                let mut last = 0;
                while !done.load(Ordering::Acquire) || last == 0 {
                    // Reads like another process, while files are renamed and removed.
                    let committed = read::<W>(directory.path()).unwrap();
                    assert!(committed.generation >= last);
                    last = committed.generation;
                    for row in committed.snapshot.iter() {
                        row.unwrap();
                    }
                }
            });
        }
    });
    same(&index.snapshot(), &living(&changes)).unwrap();
    drop(index);
    check::<W>(directory.path()).unwrap();
    same(&read(directory.path()).unwrap().snapshot, &living(&changes)).unwrap();
}

at_every_width! {
    readers_see_only_states_that_existed
}
