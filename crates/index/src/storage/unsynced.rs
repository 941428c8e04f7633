//! The file system without syncs, for tests that do not simulate a power cut: a sync takes longer than everything else
//! they do.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use super::{Disk, RawFile, Storage};

/// A file system that ignores syncs and passes on everything else.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unsynced;

impl Storage for Unsynced {
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        Disk.create_dir_all(path)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn RawFile>> {
        Ok(Box::new(UnsyncedFile(fs::File::create(path)?)))
    }

    fn cut(&self, path: &Path, length: u64) -> io::Result<Box<dyn RawFile>> {
        Disk.cut(path, length)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        Disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        Disk.remove(path)
    }

    fn sync_dir(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }
}

struct UnsyncedFile(fs::File);

impl Write for UnsyncedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl RawFile for UnsyncedFile {
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}
