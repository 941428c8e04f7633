//! A file read at positions by several threads.

use std::fs::File;
use std::io;

/// A file open for reading, whose reads carry their own positions.
pub(crate) struct PositionedFile(#[cfg(unix)] File, #[cfg(not(unix))] std::sync::Mutex<File>);

impl PositionedFile {
    #[cfg(unix)]
    pub(crate) fn new(file: File) -> Self {
        Self(file)
    }

    /// Fills `out` with the bytes from `offset` on.
    ///
    /// # Errors
    /// What the system says, and where the file has fewer bytes.
    #[cfg(unix)]
    pub(crate) fn read_exact_at(&self, out: &mut [u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.0, out, offset)
    }

    #[cfg(not(unix))]
    pub(crate) fn new(file: File) -> Self {
        Self(std::sync::Mutex::new(file))
    }

    /// Fills `out` with the bytes from `offset` on.
    ///
    /// # Errors
    /// What the system says, and where the file has fewer bytes.
    #[cfg(not(unix))]
    pub(crate) fn read_exact_at(&self, out: &mut [u8], offset: u64) -> io::Result<()> {
        use std::io::{Read, Seek, SeekFrom};
        let mut file = self.0.lock().map_err(|_| io::ErrorKind::Other)?;
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(out)
    }
}
