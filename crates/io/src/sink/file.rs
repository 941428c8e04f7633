//! One file of the output.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use twinprint_index::storage::{RawFile, folder};

use super::dir::Shared;
use super::error::SinkError;

/// Bytes gathered before they are written.
const BUFFER: usize = 128 << 10;

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
    pub(super) fn new(
        shared: Arc<Shared>,
        path: PathBuf,
        temporary: PathBuf,
        file: Box<dyn RawFile>,
    ) -> Self {
        Self {
            shared,
            path,
            temporary,
            file: Some(file),
            buffer: Vec::new(),
            bytes: 0,
        }
    }

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
        let synced = self.shared.storage.sync_dir(folder(&self.path));
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
