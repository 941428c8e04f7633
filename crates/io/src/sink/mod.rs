//! Writing the output: a directory whose files appear whole or not at all, and the second pass over the inputs that
//! copies their records to `kept/` and `removed/`.

mod arrange;
mod changed;
mod claim;
mod copy;
mod dir;
mod edit;
mod encode;
mod error;
mod file;
mod left;
mod members;
mod packed_input;
mod records;
#[cfg(feature = "tables")]
mod table;
mod unfinished;

pub use arrange::Order;
pub use arrange::Zstd;
pub use changed::changed;
pub use changed::unchanged;
pub use claim::Claim;
pub use claim::OpenClaim;
pub use copy::{Copying, copy_all};
pub use copy::{Fate, Written, copy_records, copy_records_to};
pub use dir::Begun;
pub use dir::{Existing, OutputDir};
pub use edit::{Edit, Kind, Under};
pub use error::SinkError;
pub use file::OutputFile;
#[cfg(feature = "tables")]
pub use table::parquet_failed;
pub use twinprint_index::storage::{Disk, RawFile, Storage};
