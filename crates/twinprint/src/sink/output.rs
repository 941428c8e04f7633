//! The output directory and the files in it.
//!
//! Invariant: a file stands under its final name only once it is whole. Until [`OutputFile::finish`] it has a
//! temporary name in the same directory; dropped before that, or after a failed write, it is deleted.

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::error::SinkError;
use super::storage::{Disk, RawFile, Storage};

/// Bytes gathered before they are written.
const BUFFER: usize = 128 << 10;

/// A directory for the output of one job. Clones share its counters.
#[derive(Debug, Clone)]
pub struct OutputDir {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    root: PathBuf,
    storage: Box<dyn Storage>,
    /// Numbers the temporary names.
    files: AtomicU64,
    written: AtomicU64,
    expected: AtomicU64,
}

impl OutputDir {
    /// Makes the directory, which must be new or empty.
    ///
    /// # Errors
    /// [`SinkError::NotEmpty`], [`SinkError::NotADirectory`], or what the system says.
    pub fn create(path: &Path) -> Result<Self, SinkError> {
        Self::create_on(path, Disk)
    }

    /// As [`create`](Self::create), on a storage of the caller's.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn create_on(path: &Path, storage: impl Storage + 'static) -> Result<Self, SinkError> {
        let first = fs::read_dir(path).map(|mut entries| entries.next());
        match first {
            Ok(Some(_)) => {
                return Err(SinkError::NotEmpty {
                    path: path.to_owned(),
                });
            }
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(SinkError::NotADirectory {
                    path: path.to_owned(),
                });
            }
            // A directory that is not there is made below; for others that fails and says why.
            _ => {}
        }
        let dir = Self::on(path, Box::new(storage));
        dir.create_dir(path)?;
        Ok(dir)
    }

    /// Takes a directory as it is, making it if need be; files of the same names are replaced.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(path: &Path) -> Result<Self, SinkError> {
        let dir = Self::on(path, Box::new(Disk));
        dir.create_dir(path)?;
        Ok(dir)
    }

    fn on(path: &Path, storage: Box<dyn Storage>) -> Self {
        let (files, written, expected) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        Self {
            shared: Arc::new(Shared {
                root: path.to_owned(),
                storage,
                files,
                written,
                expected,
            }),
        }
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.shared.root
    }

    /// Bytes written to its files so far.
    pub fn written(&self) -> u64 {
        self.shared.written.load(Ordering::Relaxed)
    }

    /// Adds to the bytes that the whole output may need, which the error of a full disk names.
    pub fn expect_bytes(&self, bytes: u64) {
        self.shared.expected.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Begins a file at `relative`, making the folders above it.
    ///
    /// # Errors
    /// [`SinkError::Outside`] unless `relative` is a plain path below the directory; what the system says.
    pub fn file(&self, relative: impl AsRef<Path>) -> Result<OutputFile, SinkError> {
        let relative = relative.as_ref();
        let plain = relative.components().all(|c| matches!(c, Component::Normal(_)));
        let path = self.shared.root.join(relative);
        let (true, Some(folder), Some(_)) = (plain, path.parent(), relative.file_name()) else {
            return Err(SinkError::Outside {
                path: relative.to_owned(),
            });
        };
        let number = self.shared.files.fetch_add(1, Ordering::Relaxed);
        // Short, since the final name may be as long as the file system allows.
        let temporary = folder.join(format!(".twinprint-{number}.partial"));
        // Most files go where others have gone before, so that their folder is there already.
        let created = self.shared.storage.create(&temporary).or_else(|error| {
            if error.kind() != io::ErrorKind::NotFound {
                return Err(error);
            }
            self.shared.storage.create_dir_all(folder)?;
            self.shared.storage.create(&temporary)
        });
        let file = created.map_err(|e| self.shared.failed(e, &path, "create it"))?;
        let shared = Arc::clone(&self.shared);
        Ok(OutputFile {
            shared,
            path,
            temporary,
            file: Some(file),
            buffer: Vec::new(),
            bytes: 0,
        })
    }

    fn create_dir(&self, path: &Path) -> Result<(), SinkError> {
        let made = self.shared.storage.create_dir_all(path);
        made.map_err(|error| self.shared.failed(error, path, "create the directory"))
    }
}

impl Shared {
    fn failed(&self, error: io::Error, path: &Path, action: &'static str) -> SinkError {
        let path = path.to_owned();
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                let expected = Some(self.expected.load(Ordering::Relaxed)).filter(|&bytes| bytes > 0);
                SinkError::NoSpace {
                    path,
                    written: self.written.load(Ordering::Relaxed),
                    expected,
                }
            }
            _ => SinkError::Io {
                path,
                action,
                source: error,
            },
        }
    }
}

/// A file of the output, buffered. After a failed write it refuses everything.
pub struct OutputFile {
    shared: Arc<Shared>,
    /// Its final name.
    path: PathBuf,
    temporary: PathBuf,
    /// `None` once it was finished or given up.
    file: Option<Box<dyn RawFile>>,
    buffer: Vec<u8>,
    bytes: u64,
}

impl fmt::Debug for OutputFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutputFile")
            .field("path", &self.path)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl OutputFile {
    /// Its final name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes taken so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends `bytes`.
    ///
    /// # Errors
    /// [`SinkError::NoSpace`] on a full disk, else what the system says; after that [`SinkError::GivenUp`].
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), SinkError> {
        if self.buffer.len() + bytes.len() > BUFFER {
            self.flush_buffer()?;
        }
        if bytes.len() >= BUFFER {
            self.write_through(|file| file.write_all(bytes), bytes.len())?;
        } else {
            self.buffer.extend_from_slice(bytes);
        }
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Writes what is buffered and gives the file its final name. Returns its bytes.
    ///
    /// # Errors
    /// As [`append`](Self::append); the file is deleted then.
    pub fn finish(mut self) -> Result<u64, SinkError> {
        self.flush_buffer()?;
        self.rename()
    }

    /// As [`finish`](Self::finish), and makes both content and name survive a power cut.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn finish_durable(mut self) -> Result<u64, SinkError> {
        self.flush_buffer()?;
        self.write_through(|file| file.sync(), 0)?;
        let bytes = self.rename()?;
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let synced = self.shared.storage.sync_dir(folder);
        synced.map_err(|error| self.shared.failed(error, &self.path, "sync its directory"))?;
        Ok(bytes)
    }

    fn rename(&mut self) -> Result<u64, SinkError> {
        let file = self.file.take();
        if file.is_none() {
            return Err(SinkError::GivenUp {
                path: self.path.clone(),
            });
        }
        // Closed first: some systems do not rename an open file.
        drop(file);
        self.shared
            .storage
            .rename(&self.temporary, &self.path)
            .map_err(|error| {
                self.discard();
                self.shared
                    .failed(error, &self.path, "rename it to its final name")
            })?;
        Ok(self.bytes)
    }

    fn flush_buffer(&mut self) -> Result<(), SinkError> {
        let buffer = std::mem::take(&mut self.buffer);
        self.write_through(|file| file.write_all(&buffer), buffer.len())?;
        self.buffer = buffer;
        self.buffer.clear();
        Ok(())
    }

    /// Does something to the file; gives it up if that fails.
    fn write_through(
        &mut self,
        act: impl FnOnce(&mut dyn RawFile) -> io::Result<()>,
        bytes: usize,
    ) -> Result<(), SinkError> {
        let Some(file) = &mut self.file else {
            return Err(SinkError::GivenUp {
                path: self.path.clone(),
            });
        };
        if let Err(error) = act(file.as_mut()) {
            self.give_up();
            return Err(self.shared.failed(error, &self.path, "write it"));
        }
        self.shared.written.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(())
    }

    fn give_up(&mut self) {
        if self.file.take().is_some() {
            self.discard();
        }
    }

    fn discard(&self) {
        // What cannot be deleted stays under its temporary name, which nobody takes for a result.
        let _ = self.shared.storage.remove(&self.temporary);
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.append(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(self.flush_buffer()?)
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        self.give_up();
    }
}
