//! An output file, which gets its final name only once it is complete.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use twinprint_index::storage::{RawFile, folder};

use super::dir_state::DirState;
use super::error::SinkError;

/// The size of the write buffer, in bytes.
const BUFFER_BYTES: usize = 128 << 10;

/// A buffered output file. After a failed write every further operation fails.
pub struct OutputFile {
    state: Arc<DirState>,
    /// The final path of the file.
    path: PathBuf,
    temporary: PathBuf,
    /// The open file, or `None` once it is finished or was deleted after a failed write.
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
        state: Arc<DirState>,
        path: PathBuf,
        temporary: PathBuf,
        file: Box<dyn RawFile>,
    ) -> Self {
        Self {
            state,
            path,
            temporary,
            file: Some(file),
            buffer: Vec::new(),
            bytes: 0,
        }
    }

    /// The final path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of bytes appended so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends `bytes` to the file.
    ///
    /// # Errors
    /// [`SinkError::NoSpace`] on a full disk, else [`SinkError::Io`]; [`SinkError::GivenUp`] after an earlier error.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), SinkError> {
        if self.buffer.len() + bytes.len() > BUFFER_BYTES {
            self.flush_buffer()?;
        }
        if bytes.len() >= BUFFER_BYTES {
            self.operate(bytes.len(), |file| file.write_all(bytes))?;
        } else {
            self.buffer.extend_from_slice(bytes);
        }
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Writes the buffered bytes and gives the file its final name. Returns its size in bytes.
    ///
    /// # Errors
    /// The same as for [`append`](Self::append). After an error the file is deleted.
    pub fn finish(mut self) -> Result<u64, SinkError> {
        self.flush_buffer()?;
        self.rename()
    }

    /// Like [`finish`](Self::finish), but also makes the content and the name of the file durable.
    ///
    /// # Errors
    /// The same as for [`finish`](Self::finish).
    pub fn finish_durable(mut self) -> Result<u64, SinkError> {
        self.flush_buffer()?;
        self.operate(0, |file| file.sync())?;
        let bytes = self.rename()?;
        let synced = self.state.storage.sync_dir(folder(&self.path));
        synced.map_err(|error| self.state.failed(error, &self.path, "sync its directory"))?;
        Ok(bytes)
    }

    fn rename(&mut self) -> Result<u64, SinkError> {
        let file = self.file.take();
        if file.is_none() {
            return Err(SinkError::GivenUp {
                path: self.path.clone(),
            });
        }
        // The file is closed before it is renamed, because some systems cannot rename an open file.
        drop(file);
        self.state
            .storage
            .rename(&self.temporary, &self.path)
            .map_err(|error| {
                self.discard();
                self.state
                    .failed(error, &self.path, "rename it to its final name")
            })?;
        Ok(self.bytes)
    }

    fn flush_buffer(&mut self) -> Result<(), SinkError> {
        let buffer = std::mem::take(&mut self.buffer);
        self.operate(buffer.len(), |file| file.write_all(&buffer))?;
        self.buffer = buffer;
        self.buffer.clear();
        Ok(())
    }

    /// Calls `operation`, which writes `bytes` bytes to the file. If it fails, the file is deleted.
    fn operate(
        &mut self,
        bytes: usize,
        operation: impl FnOnce(&mut dyn RawFile) -> io::Result<()>,
    ) -> Result<(), SinkError> {
        let Some(file) = &mut self.file else {
            return Err(SinkError::GivenUp {
                path: self.path.clone(),
            });
        };
        if let Err(error) = operation(file.as_mut()) {
            self.give_up();
            return Err(self.state.failed(error, &self.path, "write it"));
        }
        self.state.written.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(())
    }

    fn give_up(&mut self) {
        if self.file.take().is_some() {
            self.discard();
        }
    }

    fn discard(&self) {
        // If the file cannot be deleted, it keeps its temporary name. A file with such a name is not mistaken for
        // output.
        let _ = self.state.storage.remove(&self.temporary);
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
