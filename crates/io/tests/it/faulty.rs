//! A storage that fails at a chosen byte or operation.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use twinprint_io::sink::{Disk, RawFile, Storage};

/// A storage that fails after a number of bytes or operations, with an error of a kind.
#[derive(Debug, Clone)]
pub(crate) struct Faulty {
    /// The number of further bytes that can be written.
    bytes_left: Arc<AtomicU64>,
    /// The number of further operations, other than writes, that succeed.
    operations_left: Arc<AtomicU64>,
    kind: io::ErrorKind,
}

impl Faulty {
    pub(crate) fn after_bytes(bytes: u64, kind: io::ErrorKind) -> Self {
        Self {
            bytes_left: Arc::new(bytes.into()),
            operations_left: Arc::new(u64::MAX.into()),
            kind,
        }
    }

    pub(crate) fn after_operations(operations: u64, kind: io::ErrorKind) -> Self {
        Self {
            bytes_left: Arc::new(u64::MAX.into()),
            operations_left: Arc::new(operations.into()),
            kind,
        }
    }

    fn operation(&self) -> io::Result<()> {
        let less = |left: u64| left.checked_sub(1);
        let left = self
            .operations_left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        left.map(|_| ()).map_err(|_| self.kind.into())
    }
}

impl Storage for Faulty {
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.operation()?;
        Disk.create_dir_all(path)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn RawFile>> {
        self.operation()?;
        Ok(Box::new(FaultyFile {
            file: Disk.create(path)?,
            storage: self.clone(),
        }))
    }

    fn cut(&self, path: &Path, length: u64) -> io::Result<Box<dyn RawFile>> {
        self.operation()?;
        Ok(Box::new(FaultyFile {
            file: Disk.cut(path, length)?,
            storage: self.clone(),
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.operation()?;
        Disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        Disk.remove(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.operation()?;
        Disk.sync_dir(path)
    }
}

struct FaultyFile {
    file: Box<dyn RawFile>,
    storage: Faulty,
}

impl Write for FaultyFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Like a disk: the bytes that fit are written, and the next write fails.
        let bytes_left = self.storage.bytes_left.load(Ordering::Relaxed);
        let fits = bytes.len().min(usize::try_from(bytes_left).unwrap_or(usize::MAX));
        if fits == 0 && !bytes.is_empty() {
            return Err(self.storage.kind.into());
        }
        let written = self.file.write(&bytes[..fits])?;
        self.storage
            .bytes_left
            .fetch_sub(written as u64, Ordering::Relaxed);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl RawFile for FaultyFile {
    fn sync(&mut self) -> io::Result<()> {
        self.storage.operation()?;
        self.file.sync()
    }
}
