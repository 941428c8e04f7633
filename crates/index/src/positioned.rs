//! A file that several threads read and write at given offsets.

use std::fs::File;
use std::io;

/// An open file that several threads can read and write, each at offsets of its own.
#[derive(Debug)]
pub struct PositionedFile(#[cfg(unix)] File, #[cfg(not(unix))] std::sync::Mutex<File>);

#[cfg(unix)]
impl PositionedFile {
    /// Wraps an open file. The file's own position is not used any more.
    pub fn new(file: File) -> Self {
        Self(file)
    }

    /// Fills `out` with the bytes from `offset` on.
    ///
    /// # Errors
    /// The error of the system, which is `UnexpectedEof` if the file ends before `out` is full.
    pub fn read_exact_at(&self, out: &mut [u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.0, out, offset)
    }

    /// Writes all of `bytes` to the file, from `offset` on.
    ///
    /// # Errors
    /// The error of the system.
    pub fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(&self.0, bytes, offset)
    }
}

#[cfg(not(unix))]
impl PositionedFile {
    /// Wraps an open file. The file's own position is not used any more.
    pub fn new(file: File) -> Self {
        Self(std::sync::Mutex::new(file))
    }

    /// Fills `out` with the bytes from `offset` on.
    ///
    /// # Errors
    /// The error of the system, which is `UnexpectedEof` if the file ends before `out` is full.
    pub fn read_exact_at(&self, out: &mut [u8], offset: u64) -> io::Result<()> {
        io::Read::read_exact(&mut *self.at(offset)?, out)
    }

    /// Writes all of `bytes` to the file, from `offset` on.
    ///
    /// # Errors
    /// The error of the system.
    pub fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        io::Write::write_all(&mut *self.at(offset)?, bytes)
    }

    fn at(&self, offset: u64) -> io::Result<std::sync::MutexGuard<'_, File>> {
        let mut file = self.0.lock().map_err(|_| io::ErrorKind::Other)?;
        io::Seek::seek(&mut *file, io::SeekFrom::Start(offset))?;
        Ok(file)
    }
}
