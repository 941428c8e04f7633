//! Writing the output: a directory whose files appear whole or not at all, and the second pass over the inputs that
//! copies their records to `kept/` and `removed/`.

mod copy;
mod encode;
mod error;
mod output;
mod storage;

pub use copy::{Fate, Written, copy_records, copy_records_to};
pub use error::SinkError;
pub use output::{OutputDir, OutputFile};
pub use storage::{Disk, RawFile, Storage};
