//! Writing the output: a directory whose files appear whole or not at all, and the second pass over the inputs that
//! copies their records to `kept/` and `removed/`.

mod arrange;
mod changed;
mod copy;
mod dir;
mod encode;
mod error;
mod file;
mod members;
mod records;
mod storage;
#[cfg(feature = "tables")]
mod table;
mod unfinished;

pub(crate) use arrange::Order;
pub use arrange::Zstd;
pub(crate) use copy::{Copying, Edit, copy_all};
pub use copy::{Fate, Written, copy_records, copy_records_to};
pub use dir::OutputDir;
pub use error::SinkError;
pub use file::OutputFile;
pub use storage::{Disk, RawFile, Storage};
#[cfg(feature = "tables")]
pub(crate) use table::parquet_failed;
pub(crate) use unfinished::WORK_DIR;
