//! The tests of the crate's public functions, as one program: each further program would be linked with all libraries again.

mod corpus_files;
mod faulty;
mod sink_copy;
mod sink_faults;
mod sink_output;
#[cfg(feature = "tables")]
mod sink_tables;
mod source_damage;
#[cfg(feature = "tables")]
mod source_damaged_tables;
mod source_detection;
mod source_discover;
mod source_faults;
mod source_formats;
mod source_records;
mod source_streams;
#[cfg(feature = "html")]
mod warc_archives;
