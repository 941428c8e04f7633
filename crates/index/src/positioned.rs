//! Files that several threads read and write at given offsets, and large numbers of such files of which few are open.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

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

/// The number of files that one [`OpenFiles`] keeps open.
const MAX_OPEN_FILES: usize = 64;

/// The files that are open at the moment, out of any number of [`ReopenedFile`]s. At most 64 of them are open, besides those
/// that threads are reading.
#[derive(Debug, Default)]
pub struct OpenFiles(Mutex<VecDeque<Arc<PositionedFile>>>);

impl OpenFiles {
    /// Keeps a file open, and closes the one that was opened first if there are too many.
    fn keep(&self, file: Arc<PositionedFile>) {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if files.len() >= MAX_OPEN_FILES {
            files.pop_front();
        }
        files.push_back(file);
    }
}

/// A file that is opened when it is read, and closed when too many others are open. So a process can read more files than it
/// may have open.
///
/// ```
/// use std::sync::Arc;
/// use twinprint_index::{OpenFiles, ReopenedFile};
///
/// let dir = tempfile::tempdir()?;
/// let open = Arc::new(OpenFiles::default());
/// let mut files = Vec::new();
/// for number in 0..200 {
///     let path = dir.path().join(number.to_string());
///     std::fs::write(&path, [number; 3])?;
///     files.push(ReopenedFile::new(&path, &open)?);
/// }
/// for (number, file) in (0..).zip(&files) {
///     let mut bytes = [0; 2];
///     file.read_exact_at(&mut bytes, 1)?;
///     assert_eq!((bytes, file.size()), ([number; 2], 3));
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct ReopenedFile {
    path: PathBuf,
    size: u64,
    file: Mutex<Weak<PositionedFile>>,
    open: Arc<OpenFiles>,
    /// The file, if it is never closed.
    kept: Option<Arc<PositionedFile>>,
}

impl ReopenedFile {
    /// Finds a file, which must not change while this value is used.
    ///
    /// # Errors
    /// The error of the system, for example because there is no such file.
    pub fn new(path: &Path, open: &Arc<OpenFiles>) -> io::Result<Self> {
        Ok(Self {
            size: fs::metadata(path)?.len(),
            path: path.to_owned(),
            file: Mutex::default(),
            open: Arc::clone(open),
            kept: None,
        })
    }

    /// Opens a file and keeps it open, so it may be deleted while this value is used.
    ///
    /// # Errors
    /// The error of the system, for example because there is no such file.
    pub fn kept_open(path: &Path) -> io::Result<Self> {
        let mut file = Self::new(path, &Arc::default())?;
        file.kept = Some(Arc::new(PositionedFile::new(File::open(path)?)));
        Ok(file)
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The size of the file in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Fills `out` with the bytes from `offset` on.
    ///
    /// # Errors
    /// The error of the system, which is `UnexpectedEof` if the file ends before `out` is full.
    pub fn read_exact_at(&self, out: &mut [u8], offset: u64) -> io::Result<()> {
        self.opened()?.read_exact_at(out, offset)
    }

    fn opened(&self) -> io::Result<Arc<PositionedFile>> {
        if let Some(kept) = &self.kept {
            return Ok(Arc::clone(kept));
        }
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = file.upgrade() {
            return Ok(open);
        }
        let opened = Arc::new(PositionedFile::new(File::open(&self.path)?));
        *file = Arc::downgrade(&opened);
        self.open.keep(Arc::clone(&opened));
        Ok(opened)
    }
}
