//! Tables: files whose rows are documents, read by column.
//!
//! A [`Table`] is a file whose metadata (footer, block list) has been read and checked. The reading thread plans it
//! into [`RowRange`]s. The thread that processes a range decodes the columns that it needs, some rows at a time, so
//! that no row group is held as a whole. Ranges come in row order with a fixed number of rows. A row that cannot be
//! decoded is rejected under its number.
//!
//! The files are untrusted. The claims of the metadata are checked against the size of the file before anything is
//! allocated for them, and third-party decoders run inside [`guarded`].

mod arrow;
mod parquet;
mod row;

use std::fmt::Display;
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use super::file::SourceFile;
use super::format::{Codec, Format};
use super::options::SourceOptions;
use super::record::{IntegerType, RecordKind};
use super::record_limits::RecordLimits;
use super::reject::RejectReason;

pub use self::arrow::ArrowTable;
pub use self::parquet::{IntegerColumn, IntegerReader, ParquetTable};
use self::row::RowDecoder;

/// The number of rows that a file of any size may claim, because runs of equal values take hardly any bytes.
const ROWS_ANY_FILE: u64 = 1 << 20;
/// The number of rows that a file may claim for each of its bytes.
const ROWS_A_BYTE: u64 = 1 << 12;

/// A table file whose frame has been read.
#[derive(Debug)]
pub enum Table {
    /// An Arrow IPC file or stream.
    Arrow(ArrowTable),
    /// A Parquet file.
    Parquet(ParquetTable),
}

/// Consecutive rows that are decoded together.
#[derive(Debug, Clone)]
pub struct RowRange {
    table: Arc<Table>,
    /// The row group, or the message with which it begins.
    group: usize,
    /// Rows before it in the row group.
    skip: u64,
    /// Its rows in the file, counted from 0.
    pub rows: Range<u64>,
    /// Bytes on disk of the text, about.
    pub bytes: usize,
}

/// A part of the plan of a table.
#[derive(Debug)]
pub enum TablePart {
    /// Rows to decode.
    Rows(RowRange),
    /// Rows that cannot be read, as one reject; the first lost row, counted from 0.
    Lost(u64, RejectReason),
}

impl Table {
    /// Reads the frame of `file`.
    ///
    /// # Errors
    /// The file cannot be read, is packed as a whole, or is not of its format.
    pub fn open(file: &SourceFile) -> Result<Self, RejectReason> {
        if file.codec != Codec::Plain {
            // Tables need random access, and compress their columns themselves.
            return Err(unreadable(
                file.format,
                format_args!(
                    "it is packed as a whole ({}); unpack it first",
                    file.codec.suffix()
                ),
            ));
        }
        guarded(file.format, || match file.format {
            Format::Arrow => ArrowTable::open(file).map(Self::Arrow),
            Format::Parquet => ParquetTable::open(file).map(Self::Parquet),
            other => Err(unreadable(other, "no table format")),
        })
    }

    /// Splits the table into ranges of a few MiB of text, up to `limit` rows.
    ///
    /// # Errors
    /// The file cannot be opened, or the text field is missing or has no text.
    pub fn plan(
        self: &Arc<Self>,
        file: &SourceFile,
        options: &SourceOptions,
        limit: u64,
    ) -> Result<Vec<TablePart>, RejectReason> {
        guarded(self.format(), || match &**self {
            Self::Arrow(table) => table.plan(self, options, limit),
            Self::Parquet(table) => table.plan(self, options, limit, file),
        })
    }

    /// The number of rows according to the table's metadata.
    pub fn rows(&self) -> u64 {
        match self {
            Self::Arrow(table) => table.row_count(),
            Self::Parquet(table) => table.row_count(),
        }
    }

    /// The names of the first columns, if none is named by `key`.
    pub fn lacks(&self, key: &str) -> Option<Vec<String>> {
        let missing = match self {
            Self::Arrow(table) => table.missing(key),
            Self::Parquet(table) => table.missing(key),
        };
        match missing {
            Some(RejectReason::ColumnMissing { present, .. }) => Some(present),
            _ => None,
        }
    }

    /// True if there is a top-level column of this name.
    pub fn has_column(&self, name: &str) -> bool {
        match self {
            Self::Arrow(table) => table.schema().fields().find(name).is_some(),
            Self::Parquet(table) => {
                let root = table.metadata().file_metadata().schema();
                root.get_fields().iter().any(|field| field.name() == name)
            }
        }
    }

    /// The type of the column of ids, if that is a column of integers.
    pub fn id_type(&self, options: &SourceOptions) -> Option<IntegerType> {
        let key = options.id_key.as_deref()?;
        match self {
            Self::Arrow(table) => table.integer_type(key),
            Self::Parquet(table) => table.integer_type(key),
        }
    }

    fn format(&self) -> Format {
        match self {
            Self::Arrow(_) => Format::Arrow,
            Self::Parquet(_) => Format::Parquet,
        }
    }
}

impl RowRange {
    /// An empty range: a table without rows is part of the output too.
    fn empty(table: &Arc<Table>) -> Self {
        Self {
            table: Arc::clone(table),
            group: 0,
            skip: 0,
            rows: 0..0,
            bytes: 0,
        }
    }

    /// The table it belongs to.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Yields each of its rows with its number from 1 and its length: text and id in bytes.
    pub(crate) fn each(
        &self,
        file: &SourceFile,
        options: &SourceOptions,
        record_limits: RecordLimits,
        f: &mut impl FnMut(u64, u64, RecordKind<'_>),
    ) {
        let format = file.format;
        let mut row = self.rows.start;
        if self.rows.is_empty() {
            return;
        }
        let lost = self.decode(file, options, |rows| {
            while row < self.rows.end {
                // Decoders may panic on damaged input; the processing of the rows stays outside the guard.
                if !guarded(format, || rows.next_batch((self.rows.end - row) as usize))? {
                    return Err(damaged(format, "it has fewer rows than it claims"));
                }
                rows.each(record_limits, &mut |raw_len, kind| {
                    row += 1;
                    f(row, raw_len, kind);
                });
            }
            Ok(())
        });
        if let Err(reason) = lost {
            for row in row..self.rows.end {
                let reason = reason.clone();
                f(row + 1, 0, RecordKind::Rejected { reason });
            }
        }
    }

    fn decode(
        &self,
        file: &SourceFile,
        options: &SourceOptions,
        f: impl FnOnce(&mut dyn RowDecoder) -> Result<(), RejectReason>,
    ) -> Result<(), RejectReason> {
        match &*self.table {
            Table::Arrow(table) => f(&mut guarded(file.format, || {
                table.rows(file, self.group, options)
            })?),
            Table::Parquet(table) => {
                let open = || table.rows(file, self.group, self.skip, options);
                f(&mut guarded(file.format, open)?)
            }
        }
    }
}

/// Checks that a file of `bytes` bytes can have that many rows.
fn check_rows(format: Format, rows: u64, bytes: u64) -> Result<(), RejectReason> {
    if rows <= ROWS_ANY_FILE.saturating_add(bytes.saturating_mul(ROWS_A_BYTE)) {
        return Ok(());
    }
    Err(unreadable(
        format,
        format_args!("it claims {rows} rows in {bytes} bytes"),
    ))
}

/// Runs a third-party decoder and turns a panic into an error. The decoders of Parquet and Arrow do not check
/// everything they read: slices and arithmetic on damaged pages can panic. A damaged file must not affect other files.
/// No value of the decoder is used after a panic.
///
/// # Errors
/// The error of `f`; [`RejectReason::DamagedTable`] if the decoder panics.
pub fn guarded<T>(format: Format, f: impl FnOnce() -> Result<T, RejectReason>) -> Result<T, RejectReason> {
    crate::guard::guarded(f).unwrap_or_else(|| Err(damaged(format, "the decoder gave up on it")))
}

/// Opens the file again, because the position of a handle is shared by its clones.
///
/// # Errors
/// The file cannot be opened.
pub fn open(file: &SourceFile) -> Result<File, RejectReason> {
    File::open(&file.path).map_err(|error| RejectReason::Unreadable {
        message: error.to_string(),
    })
}

/// The file as a whole cannot be read.
fn unreadable(format: Format, message: impl Display) -> RejectReason {
    RejectReason::NotATable {
        format: format.name(),
        message: message.to_string(),
    }
}

/// Rows cannot be read.
fn damaged(format: Format, message: impl Display) -> RejectReason {
    RejectReason::DamagedTable {
        format: format.name(),
        message: message.to_string(),
    }
}

/// The first column names, shortened, for a message.
fn shortened<'n>(names: impl Iterator<Item = &'n str>) -> Vec<String> {
    /// Names listed.
    const MAX_NAMES: usize = 16;
    let mut listed = Vec::new();
    for name in names {
        if listed.len() == MAX_NAMES {
            listed.push("…".to_owned());
            break;
        }
        listed.push(name.chars().take(40).collect());
    }
    listed
}
