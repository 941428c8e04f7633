//! Reads documents from files, folders, globs and stdin.
//!
//! [`Sources::discover`] finds the files, [`Sources::read`] reads them in order on a separate thread, and
//! [`Chunk::documents`] turns a part of them into records on any thread. A record that cannot be a document is
//! yielded as rejected, with its position and the reason. Only faults of an input as a whole are errors.
//!
//! Text files (`.txt .md .markdown .rst .text`) are one document per file, or one per line; HTML pages (`.html .htm
//! .xhtml`) are one document per file; `.jsonl` and `.ndjson` hold one JSON object per line, `.json` an array of them,
//! `.csv` and `.tsv` rows, the first of which is the header unless the options say otherwise; `.warc` and `.wet` hold
//! records, of which pages and texts are documents, and a record's number is used as its line; all of them plain,
//! `.gz`, `.zst` (windows up to 2 GiB), `.bz2`, `.xz` or `.lz4`, of any number of members. `.parquet`, `.arrow` and
//! `.feather` (feature `tables`) hold one document per row. A byte order mark at the start of a file is dropped; lines
//! end with LF or CRLF; lines of white space alone, and empty rows, are not records.
//!
//! A new format whose records are bytes needs a scanner in `scan`, which finds the bounds of records, and a parser in `chunk`.
//!
//! Invariants: records come in input order; each file yields the same records every time it is read; documents and
//! rejects together are the records, whose ordinals run without gaps over all files; nothing longer than
//! `max_document` is held; the parts of a file that yield no document are counted in the [`Loss`] of a reject, and in the [`Intake`].

mod batch;
mod block;
mod charset;
mod check_documents;
mod check_fields;
mod chunk;
mod decode;
mod delimited;
mod discover;
mod error;
mod field_role;
mod file;
mod filter;
mod format;
mod intake;
mod json;
mod loss;
mod lost_bytes;
mod options;
mod output_layout;
mod page;
mod probe;
mod record;
mod record_limits;
mod reject;
mod scan;
mod shared;
mod sniff;
mod sources;
mod split;
mod spool;
#[cfg(feature = "tables")]
mod table;
#[cfg(test)]
mod tests;
mod walk;
mod warc;

pub use batch::{Batch, BatchReader};
pub use block::{BOM, RecordBlock};
pub use charset::utf16::to_utf16;
pub use chunk::{Chunk, ChunkContent, OriginalText};
pub use decode::{GzipMember, ReadProgress, UnpackLimits, open as open_unpacked, reason as read_failure};
pub use delimited::{DelimitedFormat, Header};
pub use discover::{EARLIER_RESULT, EXCLUDED, EXCLUDED_FOLDER, NOT_INCLUDED};
pub use error::SourceError;
pub use field_role::FieldRole;
pub use file::SourceFile;
pub use format::{Codec, Format, NamedFormat, UnknownFormat, format_of_name};
pub use intake::{Damage, FileIntake, Intake, RecordPosition, RejectExample};
pub use loss::Loss;
pub use options::{SourceIdentity, SourceOptions};
pub use page::{PageExtractor, TracedPage};
pub use record::{IntegerType, Record, RecordKind, SortValue};
pub use reject::{RejectMessage, RejectReason, Setting};
pub use scan::{Span, SpanKind};
pub use sources::Sources;
#[cfg(feature = "tables")]
pub use table::{
    ArrowTable, IntegerColumn, IntegerReader, ParquetTable, RowRange, Table, guarded, open as open_table,
};
pub use twinprint_text::charset::Charset;
pub use walk::input_root;
