//! A disk on which one operation fails.

use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::storage::RawFile;

/// A storage that fails once, at the operation number `at`. A failing write writes half of its bytes.
#[derive(Clone, Debug)]
pub(super) struct FailsOnce {
    at: u64,
    done: Arc<AtomicU64>,
    kind: ErrorKind,
}

impl FailsOnce {
    pub(super) fn new(at: u64, kind: ErrorKind) -> Self {
        Self {
            at,
            done: Arc::default(),
            kind,
        }
    }

    /// Returns `true` if it has failed.
    pub(super) fn failed(&self) -> bool {
        self.done.load(Ordering::Relaxed) > self.at
    }

    fn operation(&self) -> io::Result<()> {
        if self.done.fetch_add(1, Ordering::Relaxed) == self.at {
            Err(self.kind.into())
        } else {
            Ok(())
        }
    }
}

struct FailingFile(Box<dyn RawFile>, FailsOnce);

impl Storage for FailsOnce {
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        Unsynced.create_dir_all(path)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn RawFile>> {
        self.operation()?;
        Ok(Box::new(FailingFile(Unsynced.create(path)?, self.clone())))
    }

    fn cut(&self, path: &Path, length: u64) -> io::Result<Box<dyn RawFile>> {
        self.operation()?;
        Ok(Box::new(FailingFile(Unsynced.cut(path, length)?, self.clone())))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.operation()?;
        Unsynced.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.operation()?;
        Unsynced.remove(path)
    }

    fn sync_dir(&self, _path: &Path) -> io::Result<()> {
        self.operation()
    }
}

impl Write for FailingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Err(error) = self.1.operation() {
            self.0.write_all(&bytes[..bytes.len() / 2])?;
            return Err(error);
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl RawFile for FailingFile {
    fn sync(&mut self) -> io::Result<()> {
        self.1.operation()
    }
}

/// Makes changes until one fails. Returns the number of changes made, the number committed, and the error.
fn work<W: Width>(index: &Index<W>, changes: &[Change<W>]) -> (usize, usize, Option<StoreError>) {
    let mut committed = 0;
    for (i, &change) in changes.iter().enumerate() {
        if let Err(error) = apply(index, change, i + 1) {
            return (i, committed, Some(error));
        }
        let result = match i {
            i if i % 5 == 3 => index.commit(),
            i if i % 13 == 11 => index.compact(),
            _ => continue,
        };
        if let Err(error) = result {
            return (i + 1, committed, Some(error));
        }
        committed = i + 1;
    }
    (changes.len(), committed, None)
}

fn after_any_failure_changes_are_refused_and_queries_are_answered<W: Width>() {
    let changes = changes::<W>(30, 2);
    for kind in [ErrorKind::StorageFull, ErrorKind::Other] {
        let mut failed = 0;
        for at in 0.. {
            let directory = tempfile::tempdir().unwrap();
            let storage = FailsOnce::new(at, kind);
            let options = options(6, Upkeep::Caller, storage.clone());
            let index = match Index::<W>::create(directory.path(), &settings(), &options) {
                Ok(index) => index,
                Err(error) => {
                    assert!(matches!(error, StoreError::Io { .. }), "{error}");
                    continue;
                }
            };
            let (made, committed, error) = work(&index, &changes);
            // A failing change is not applied, because the full memtable before it could not be written.
            same(&index.snapshot(), &living(&changes[..made])).unwrap();
            if let Some(error) = &error {
                failed += 1;
                assert!(
                    matches!(error, StoreError::Io { .. } | StoreError::Segment(_)),
                    "{error}"
                );
                let refusals = [
                    index.add(1, W::truncate(1)),
                    index.delete(1),
                    index.mark(99),
                    index.commit(),
                    index.compact(),
                ];
                for refusal in refusals {
                    let Err(StoreError::Refused { because, .. }) = refusal else {
                        panic!("{refusal:?}");
                    };
                    assert!(
                        because.contains(&directory.path().display().to_string()),
                        "{because}"
                    );
                    assert_eq!(index.refused(), Some(because));
                }
                same(&index.snapshot(), &living(&changes[..made])).unwrap();
            } else {
                assert_eq!(index.refused(), None);
            }
            drop(index);
            let index =
                Index::<W>::open(directory.path(), &super::options(6, Upkeep::Caller, Unsynced)).unwrap();
            let checkpoint = index.checkpoint() as usize;
            assert!((committed..=made).contains(&checkpoint));
            same(&index.snapshot(), &living(&changes[..checkpoint])).unwrap();
            drop(index);
            check::<W>(directory.path()).unwrap();
            if !storage.failed() {
                break;
            }
        }
        assert!(failed > 60, "only {failed} failures");
    }
}

at_every_width! {
    after_any_failure_changes_are_refused_and_queries_are_answered
}
