//! The temporary files of a run: its work directory, and the spool of canonical texts in it.

mod dir;
mod disk_space;
mod error;
mod made_dirs;
mod spool;

pub use dir::WorkDir;
pub use disk_space::{DiskSpace, disk_space};
pub use error::WorkError;
pub use made_dirs::MadeDirs;
pub use spool::{BlockBuffer, Spool, SpoolWriter, TextRef};
