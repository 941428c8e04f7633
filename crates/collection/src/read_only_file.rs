//! A file that is read and never changed, as storage of redb.
//!
//! redb writes when it opens a store for checking or after a kill. Here those writes stay in memory and are gone at the end. The file is
//! opened for reading only, so it may lie on a medium that cannot be written.
//!
//! A shared lock over the whole file keeps writing processes away, and lets others read. Nobody writes, so redb gets every lock that it
//! asks for. Where a file system has no locks, it goes without.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Bound;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use redb::backends::FileBackend;
use redb::{BackendError, StorageBackend};

use super::error::CollectionError;

/// Bytes in which writes are held.
const PAGE: u64 = 4096;

/// The storage.
#[derive(Debug)]
pub(super) struct ReadOnlyFile {
    file: FileBackend,
    written: Mutex<Overlay>,
    header_locked: AtomicBool,
}

/// The pages that differ from the file.
#[derive(Debug)]
struct Overlay {
    length: u64,
    /// The first bytes that still come from the file.
    of_file: u64,
    pages: BTreeMap<u64, Vec<u8>>,
}

impl ReadOnlyFile {
    /// Opens a file.
    ///
    /// # Errors
    /// A file that a process writes to, that is empty, or that cannot be opened.
    pub(super) fn open(path: &Path) -> Result<Self, CollectionError> {
        let failed = |error: io::Error| CollectionError::io(path, &error);
        let damaged = |what: String| CollectionError::Damaged {
            path: path.to_owned(),
            what,
        };
        let file = File::open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        if length == 0 {
            return Err(damaged("the file is empty".to_owned()));
        }
        let file = FileBackend::new(file).map_err(|error| damaged(error.to_string()))?;
        match file.try_lock_shared_range(Bound::Unbounded, Bound::Unbounded) {
            Ok(true) | Err(BackendError::Unsupported) => Ok(Self {
                file,
                written: Mutex::new(Overlay {
                    length,
                    of_file: length,
                    pages: BTreeMap::new(),
                }),
                header_locked: AtomicBool::new(false),
            }),
            Ok(false) => Err(CollectionError::InUse {
                path: path.to_owned(),
            }),
            Err(error) => Err(failed(io::Error::from(error))),
        }
    }

    fn written(&self) -> MutexGuard<'_, Overlay> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads from the first `of_file` bytes of the file. What cannot be read, or lies behind them, is zero: no page of the store is all
    /// zeros, so redb finds that page damaged, and goes on with the others. After an error it would read nothing any more.
    fn read_file(&self, of_file: u64, offset: u64, out: &mut [u8]) {
        let there = of_file.saturating_sub(offset).min(out.len() as u64);
        let (there, behind) = out.split_at_mut(there as usize);
        behind.fill(0);
        if self.file.read(offset, there).is_err() {
            there.fill(0);
        }
    }
}

/// The pages of a range: the number of each, where the range begins in it, and the bytes of the range that are in it.
fn pages(offset: u64, length: usize) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = offset + done as u64;
        let within = at % PAGE;
        let some = (length - done).min((PAGE - within) as usize);
        let part = done..done + some;
        done += some;
        (some > 0).then_some((at / PAGE, within as usize, part))
    })
}

impl StorageBackend for ReadOnlyFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.written().length)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let of_file = self.written().of_file;
        self.read_file(of_file, offset, out);
        let written = self.written();
        if written.pages.is_empty() {
            return Ok(());
        }
        for (number, within, part) in pages(offset, out.len()) {
            let page = written.pages.get(&number);
            let page = page.and_then(|page| page.get(within..within + part.len()));
            if let (Some(page), Some(out)) = (page, out.get_mut(part)) {
                out.copy_from_slice(page);
            }
        }
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let mut written = self.written();
        written.length = length;
        // Bytes that are cut off are zero if they come back.
        written.of_file = written.of_file.min(length);
        drop(written.pages.split_off(&length.div_ceil(PAGE)));
        if let Some(page) = written.pages.get_mut(&(length / PAGE))
            && let Some(behind) = page.get_mut((length % PAGE) as usize..)
        {
            behind.fill(0);
        }
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut written = self.written();
        let of_file = written.of_file;
        for (number, within, part) in pages(offset, data.len()) {
            let page = written.pages.entry(number).or_insert_with(|| {
                let mut page = vec![0; PAGE as usize];
                self.read_file(of_file, number * PAGE, &mut page);
                page
            });
            let end = within + part.len();
            if let (Some(page), Some(data)) = (page.get_mut(within..end), data.get(part)) {
                page.copy_from_slice(data);
            }
        }
        Ok(())
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }

    fn try_lock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<bool, BackendError> {
        Ok(true)
    }

    fn try_lock_shared_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<bool, BackendError> {
        Ok(true)
    }

    fn lock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<(), BackendError> {
        Ok(())
    }

    fn lock_shared_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<(), BackendError> {
        self.header_locked.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn unlock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<(), BackendError> {
        Ok(())
    }

    /// redb first asks for handles that lock in another way: there is none. Then it locks the header and asks whether somebody vouches
    /// for a store that was not closed. Our shared lock does: nobody changes what the last commit left.
    fn query_lock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<bool, BackendError> {
        Ok(self.header_locked.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_read_back_and_the_file_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let bytes: Vec<u8> = (0..10_000u32).map(|n| n as u8 | 1).collect();
        std::fs::write(&path, &bytes).unwrap();
        let frozen = ReadOnlyFile::open(&path).unwrap();
        let mut expected = bytes.clone();
        for (at, length) in [(0, 3), (4090, 5000), (9990, 10), (4096, 4096)] {
            frozen.write(at, &vec![at as u8; length]).unwrap();
            expected[at as usize..at as usize + length].fill(at as u8);
        }
        frozen.set_len(12_000).unwrap();
        frozen.write(11_000, b"behind").unwrap();
        expected.resize(12_000, 0);
        expected[11_000..11_006].copy_from_slice(b"behind");
        let mut read = vec![0; expected.len()];
        frozen.read(0, &mut read).unwrap();
        assert!(read == expected);
        frozen.set_len(5000).unwrap();
        frozen.set_len(12_000).unwrap();
        expected[5000..].fill(0);
        frozen.read(0, &mut read).unwrap();
        assert!(read == expected);
        frozen.write(10_995, b"again").unwrap();
        expected[10_995..11_000].copy_from_slice(b"again");
        let mut part = [0; 20];
        frozen.read(10_990, &mut part).unwrap();
        assert_eq!(part, expected[10_990..11_010]);
        assert_eq!(
            (frozen.len().unwrap(), std::fs::read(&path).unwrap()),
            (12_000, bytes)
        );
    }

    #[test]
    fn readers_share_a_file_and_keep_writers_away() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store");
        let writer = redb::Database::create(&path).unwrap();
        assert!(matches!(
            ReadOnlyFile::open(&path),
            Err(CollectionError::InUse { .. })
        ));
        drop(writer);
        let readers = [
            ReadOnlyFile::open(&path).unwrap(),
            ReadOnlyFile::open(&path).unwrap(),
        ];
        let refused = redb::Database::open(&path);
        assert!(matches!(refused, Err(redb::DatabaseError::DatabaseAlreadyOpen)));
        drop(readers);
        redb::Database::open(&path).unwrap();
    }
}
