//! The file system operations that writers need, as a trait. Tests make each of them fail, and rebuild the directory as a kill or a power cut
//! between any two of them leaves it.

#[cfg(test)]
pub(crate) mod unsynced;

use std::fmt::Debug;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

/// A file system to write to.
pub trait Storage: Debug + Send + Sync {
    /// Creates a directory and its parents; no error if it exists.
    ///
    /// # Errors
    /// The error of the file system.
    fn create_dir_all(&self, path: &Path) -> io::Result<()>;

    /// Creates a file, truncated if it exists.
    ///
    /// # Errors
    /// The error of the file system.
    fn create(&self, path: &Path) -> io::Result<Box<dyn RawFile>>;

    /// Opens an existing file for writing after its first `length` bytes, and truncates it there.
    ///
    /// # Errors
    /// The error of the file system.
    fn cut(&self, path: &Path, length: u64) -> io::Result<Box<dyn RawFile>>;

    /// Renames a file within its directory, in one step.
    ///
    /// # Errors
    /// The error of the file system.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Deletes a file.
    ///
    /// # Errors
    /// The error of the file system.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Makes the renames within a directory durable.
    ///
    /// # Errors
    /// The error of the file system.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
}

/// The folder that a file is in.
pub fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A file being written.
pub trait RawFile: Write + Send {
    /// Makes what was written durable.
    ///
    /// # Errors
    /// The error of the file system.
    fn sync(&mut self) -> io::Result<()>;
}

/// The file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl Storage for Disk {
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path).map_err(|error| match error.kind() {
            // There is a file of this name. The system's message (it exists already) would mislead.
            io::ErrorKind::AlreadyExists => io::ErrorKind::NotADirectory.into(),
            _ => error,
        })
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn RawFile>> {
        Ok(Box::new(File::create(path)?))
    }

    fn cut(&self, path: &Path, length: u64) -> io::Result<Box<dyn RawFile>> {
        let mut file = OpenOptions::new().write(true).open(path)?;
        file.set_len(length)?;
        file.seek(SeekFrom::Start(length))?;
        Ok(Box::new(file))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        // On other systems a directory cannot be opened as a file, and renames are durable without it.
        if cfg!(unix) {
            File::open(path)?.sync_all()
        } else {
            Ok(())
        }
    }
}

impl Disk {
    /// Renames a finished file durably: content, name and directory are synced.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn publish(&self, unfinished: &Path, path: &Path) -> io::Result<()> {
        File::open(unfinished)?.sync_all()?;
        self.rename(unfinished, path)?;
        self.sync_dir(folder(path))
    }
}

impl RawFile for File {
    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}
