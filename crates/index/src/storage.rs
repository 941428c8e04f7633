//! The file system operations that writers need, as a trait. Tests make each operation fail, and recreate the directory
//! as a kill or a power cut between any two operations leaves it.

#[cfg(test)]
pub(crate) mod unsynced;

use std::fmt::Debug;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

/// A file system to write to.
pub trait Storage: Debug + Send + Sync {
    /// Creates a directory and its parents. It is no error if the directory exists.
    ///
    /// # Errors
    /// The error of the file system.
    fn create_dir_all(&self, path: &Path) -> io::Result<()>;

    /// Creates a file for writing, or truncates it if it exists.
    ///
    /// # Errors
    /// The error of the file system.
    fn create(&self, path: &Path) -> io::Result<Box<dyn RawFile>>;

    /// Truncates an existing file to its first `length` bytes, and opens it for writing after them.
    ///
    /// # Errors
    /// The error of the file system.
    fn cut(&self, path: &Path, length: u64) -> io::Result<Box<dyn RawFile>>;

    /// Renames a file within its directory, atomically.
    ///
    /// # Errors
    /// The error of the file system.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Deletes a file.
    ///
    /// # Errors
    /// The error of the file system.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Makes creations, renames and removals of files in a directory durable.
    ///
    /// # Errors
    /// The error of the file system.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
}

/// Returns the folder that contains a file; `.` for a bare name.
pub fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A file being written.
pub trait RawFile: Write + Send {
    /// Makes all bytes written so far durable.
    ///
    /// # Errors
    /// The error of the file system.
    fn sync(&mut self) -> io::Result<()>;
}

/// The file system of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl Storage for Disk {
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path).map_err(|error| match error.kind() {
            // The path is a file, not a directory. The system's message (that it exists already) would mislead.
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
        // Directories are synced on Unix only. On other systems a directory cannot be opened as a file, and renames are
        // durable without a sync.
        if cfg!(unix) {
            File::open(path)?.sync_all()
        } else {
            Ok(())
        }
    }
}

impl Disk {
    /// Renames a finished file durably: syncs its content, renames it from `unfinished` to `path`, and syncs the
    /// directory.
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
