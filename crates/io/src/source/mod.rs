//! Reads documents from files, folders, globs and stdin.
//!
//! [`Sources::discover`] finds the files. [`Sources::read`] reads them in order on a separate thread.
//! [`Chunk::documents`] parses a part of them into records, on any thread. A record that cannot be a document is
//! yielded as a reject, with its position and the reason. Only a failure of an input as a whole is an error.
//!
//! Formats:
//!
//! * Text files (`.txt .md .markdown .rst .text`) are one document per file or, on request, one document per line. *
//!   HTML pages (`.html .htm .xhtml`) are one document per file. * `.jsonl` and `.ndjson` contain one JSON object per
//!   line, and `.json` contains an array of objects. * `.csv` and `.tsv` contain one record per row. The first row is
//!   the header unless the options say otherwise. * `.warc` and `.wet` are web archives, in which pages and texts are
//!   documents. The number of a record serves as its line. * `.parquet`, `.arrow` and `.feather` (feature `tables`)
//!   contain one document per row.
//!
//! All formats but the last group may be compressed as `.gz`, `.zst` (windows up to 2 GiB), `.bz2`, `.xz` or `.lz4`,
//! with any number of members. A byte order mark at the start of a file is dropped. Lines end with LF or CRLF. Lines of
//! white space and empty rows are not records.
//!
//! To add a format whose records are bytes, write a scanner in `scan`, which finds the bounds of records, and a parser
//! in `chunk`.
//!
//! Invariants: Records come in input order. A file yields the same records every time it is read. Documents and rejects
//! together are the records, and their ordinals are consecutive over all files. No record longer than `max_document` is
//! kept in memory. Parts of a file that yield no document are counted in the [`Loss`] of a reject, and in the
//! [`Intake`].

mod batch;
mod block;
mod byte_stream;
mod charset;
mod check_documents;
mod check_fields;
mod chunk;
mod codec_check;
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
mod memory;
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

pub use crate::remote::{RemoteFile, is_remote};
pub use batch::{Batch, BatchReader};
pub use block::{BOM, RecordBlock};
pub use byte_stream::ByteStream;
pub use charset::utf16::to_utf16;
pub use chunk::{Chunk, ChunkContent, OriginalText};
pub use codec_check::OtherCodec;
pub use decode::{GzipMember, ReadProgress, UnpackLimits, open as open_unpacked, reason as read_failure};
pub use delimited::{DelimitedFormat, Header};
pub use discover::{EARLIER_RESULT, EXCLUDED, EXCLUDED_FOLDER, NOT_INCLUDED};
pub use error::SourceError;
pub use field_role::FieldRole;
pub use file::SourceFile;
pub use format::{Codec, Format, NamedFormat, UnknownFormat, format_of_name};
pub use intake::{Damage, FileIntake, Intake, RecordPosition, RejectExample};
pub use json::invalid_json;
pub use loss::Loss;
pub use memory::{MemoryBatch, MemoryBatches, MemoryRecord};
pub use options::{SourceIdentity, SourceOptions};
pub use page::{PageExtractor, TracedPage};
pub use record::{IntegerType, Record, RecordKind, SortValue};
pub use reject::{RejectMessage, RejectReason, Setting};
pub use scan::{Span, SpanKind};
pub use sources::Sources;
pub use split::BLOCK_BYTES;
#[cfg(feature = "tables")]
pub use table::{
    ArrowColumns, ArrowTable, IntegerColumn, IntegerReader, ParquetTable, RowRange, Table, TextColumn,
    TextReader, guarded, open as open_table,
};
pub use twinprint_text::charset::Charset;
pub use walk::input_root;
