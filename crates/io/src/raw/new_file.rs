//! Writes a file that gets its final name only once it is complete.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use twinprint_index::storage::Disk;

/// A file that is written as `NAME.tmp` and renamed to `NAME` when it is complete. If it is dropped before
/// [`NewFile::finish`], the temporary file is deleted.
#[derive(Debug)]
pub struct NewFile {
    path: PathBuf,
    temporary: PathBuf,
    /// The open temporary file, or `None` once the file is finished.
    file: Option<File>,
}

impl NewFile {
    /// Creates the temporary file for `path`. An existing file at `path` is replaced by [`finish`](Self::finish).
    ///
    /// # Errors
    /// The error of the system.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".tmp");
        let temporary = path.with_file_name(name);
        Ok(Self {
            path: path.to_owned(),
            file: Some(File::create(&temporary)?),
            temporary,
        })
    }

    /// Gives the file its final name, and makes its content and name durable.
    ///
    /// # Errors
    /// The error of the system. The temporary file is then deleted.
    pub fn finish(mut self) -> io::Result<()> {
        Disk.publish(&self.temporary, &self.path)?;
        self.file = None;
        Ok(())
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.as_mut().map_or(Ok(0), |file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            let _left_over = fs::remove_file(&self.temporary);
        }
    }
}
