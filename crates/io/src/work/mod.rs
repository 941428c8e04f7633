//! The temporary files of a run: its work directory, and the spool of canonical texts in it.

mod dir;
mod disk_space;
mod error;
mod made_dirs;
mod spool;
mod spool_file;
mod spool_writer;

pub use dir::WorkDir;
pub use disk_space::{DiskSpace, disk_space};
pub use error::WorkError;
pub use made_dirs::MadeDirs;
pub use spool::{BlockBuffer, Spool, TextRef};
pub use spool_writer::{AddedTexts, SpoolWriter};

use std::io;
use std::path::Path;

/// Marks a directory as the files of an unfinished run, so that no run reads it as input.
///
/// # Errors
/// The error of the system.
///
/// ```
/// let dir = tempfile::tempdir()?;
/// twinprint_io::work::mark_unfinished(dir.path())?;
/// assert_eq!(dir.path().read_dir()?.count(), 1);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn mark_unfinished(dir: &Path) -> io::Result<()> {
    std::fs::write(dir.join(crate::markers::UNFINISHED), "")
}
