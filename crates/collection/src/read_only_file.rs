//! A storage backend for redb that reads a file and never changes it.
//!
//! redb writes to a store that it opens to check it, or that was not closed properly. This backend keeps those writes
//! in memory and drops them at the end. The file is opened for reading only, so it may be on a read-only file system.
//!
//! A shared lock on the whole file excludes processes that write and admits other readers. Since no process writes, the
//! backend grants every lock that redb requests. If the file system does not support locks, the file is read without a
//! lock.

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

/// The size in bytes of the pages in which writes are kept in memory.
const PAGE_BYTES: u64 = 4096;

/// The storage backend: a file, and the writes that are kept in memory.
#[derive(Debug)]
pub(super) struct ReadOnlyFile {
    file: FileBackend,
    written: Mutex<Overlay>,
    header_locked: AtomicBool,
}

/// The pages that redb has written, which hide the pages of the file.
#[derive(Debug)]
struct Overlay {
    length: u64,
    /// Bytes up to this offset are read from the file. Bytes after it are zero unless redb has written them.
    file_length: u64,
    pages: BTreeMap<u64, Vec<u8>>,
}

impl ReadOnlyFile {
    /// Opens a file for reading and takes a shared lock on it.
    ///
    /// # Errors
    /// [`CollectionError::InUse`] if a process has the file open for writing, [`CollectionError::Damaged`] if the file
    /// is empty, [`CollectionError::Io`].
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
                    file_length: length,
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

    /// Reads from the first `file_length` bytes of the file. Bytes after them, and bytes that cannot be read, are
    /// returned as zeros. No page of a store consists of zeros only, so redb recognises a page of zeros as damaged and
    /// continues with the other pages. If this returned an error instead, redb would read nothing more.
    fn read_file(&self, file_length: u64, offset: u64, out: &mut [u8]) {
        let present = file_length.saturating_sub(offset).min(out.len() as u64);
        let (present, behind) = out.split_at_mut(present as usize);
        behind.fill(0);
        if self.file.read(offset, present).is_err() {
            present.fill(0);
        }
    }
}

/// The part of a byte range that is in one page.
struct PagePart {
    page: u64,
    /// The offset of the part within the page.
    start: usize,
    /// The bytes of the part, counted from the start of the byte range.
    bytes: std::ops::Range<usize>,
}

/// Splits a byte range at the page boundaries.
fn page_parts(offset: u64, length: usize) -> impl Iterator<Item = PagePart> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let position = offset + done as u64;
        let start = position % PAGE_BYTES;
        let size = (length - done).min((PAGE_BYTES - start) as usize);
        let bytes = done..done + size;
        done += size;
        (size > 0).then_some(PagePart {
            page: position / PAGE_BYTES,
            start: start as usize,
            bytes,
        })
    })
}

impl StorageBackend for ReadOnlyFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.written().length)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let file_length = self.written().file_length;
        self.read_file(file_length, offset, out);
        let written = self.written();
        if written.pages.is_empty() {
            return Ok(());
        }
        for PagePart { page, start, bytes } in page_parts(offset, out.len()) {
            let page = written.pages.get(&page);
            let page = page.and_then(|page| page.get(start..start + bytes.len()));
            if let (Some(page), Some(out)) = (page, out.get_mut(bytes)) {
                out.copy_from_slice(page);
            }
        }
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let mut written = self.written();
        written.length = length;
        // If the storage is extended again later, the truncated bytes must read as zeros.
        written.file_length = written.file_length.min(length);
        drop(written.pages.split_off(&length.div_ceil(PAGE_BYTES)));
        if let Some(page) = written.pages.get_mut(&(length / PAGE_BYTES))
            && let Some(behind) = page.get_mut((length % PAGE_BYTES) as usize..)
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
        let file_length = written.file_length;
        for PagePart { page, start, bytes } in page_parts(offset, data.len()) {
            let number = page;
            let page = written.pages.entry(number).or_insert_with(|| {
                let mut page = vec![0; PAGE_BYTES as usize];
                self.read_file(file_length, number * PAGE_BYTES, &mut page);
                page
            });
            let end = start + bytes.len();
            if let (Some(page), Some(data)) = (page.get_mut(start..end), data.get(bytes)) {
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

    /// redb asks two questions with this call. Before it has locked the header, it asks whether another process uses
    /// another locking protocol; the answer is no. After it has locked the header, it asks whether a process guarantees
    /// the last commit of a store that was not closed; the answer is yes, because the shared lock keeps every process
    /// from writing.
    fn query_lock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<bool, BackendError> {
        Ok(self.header_locked.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_read_and_the_file_is_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let bytes: Vec<u8> = (0..10_000u32).map(|n| n as u8 | 1).collect();
        std::fs::write(&path, &bytes).unwrap();
        let file = ReadOnlyFile::open(&path).unwrap();
        let mut expected = bytes.clone();
        for (at, length) in [(0, 3), (4090, 5000), (9990, 10), (4096, 4096)] {
            file.write(at, &vec![at as u8; length]).unwrap();
            expected[at as usize..at as usize + length].fill(at as u8);
        }
        file.set_len(12_000).unwrap();
        file.write(11_000, b"behind").unwrap();
        expected.resize(12_000, 0);
        expected[11_000..11_006].copy_from_slice(b"behind");
        let mut read = vec![0; expected.len()];
        file.read(0, &mut read).unwrap();
        assert!(read == expected);
        file.set_len(5000).unwrap();
        file.set_len(12_000).unwrap();
        expected[5000..].fill(0);
        file.read(0, &mut read).unwrap();
        assert!(read == expected);
        file.write(10_995, b"again").unwrap();
        expected[10_995..11_000].copy_from_slice(b"again");
        let mut part = [0; 20];
        file.read(10_990, &mut part).unwrap();
        assert_eq!(part, expected[10_990..11_010]);
        assert_eq!(
            (file.len().unwrap(), std::fs::read(&path).unwrap()),
            (12_000, bytes)
        );
    }

    #[test]
    fn readers_share_a_file_and_exclude_writers() {
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
