//! Writes output directories whose files are either complete or absent, and copies the records of the inputs to `kept/`
//! and `removed/` in a second pass over the inputs.

mod action;
mod arrange;
mod changed;
mod claim;
mod copy;
mod dir;
mod dir_state;
mod edit;
mod encode;
mod error;
mod file;
mod members;
mod objects;
mod packed_input;
mod records;
mod run_files;
mod streams;
#[cfg(feature = "tables")]
mod table;
mod unfinished;

pub use action::{CopyCounts, RecordAction};
pub use arrange::{RecordOrder, ZstdSizes};
pub use changed::{changed, unchanged};
pub use claim::{OpenClaim, RunClaim};
pub use copy::{CopyOptions, copy_all, copy_records, copy_records_to};
pub use dir::{Existing, OutputDir, RunStart};
pub use edit::{ColumnType, Edit, RecordContext};
pub use error::SinkError;
pub use file::OutputFile;
pub use objects::{ObjectCopy, ObjectFolder};
#[cfg(feature = "tables")]
pub use table::{ColumnValues, parquet_failed, write_column};
pub use twinprint_index::storage::{Disk, RawFile, Storage};
