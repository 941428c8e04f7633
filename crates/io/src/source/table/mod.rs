//! Tables: Parquet and Arrow files, whose rows are documents and which are read by column.
//!
//! A [`Table`] is a file whose metadata (footer or message list) was read and checked. The reading thread divides the
//! table into [`RowRange`]s. The thread that processes a range decodes the necessary columns, some rows at a time, so
//! that no complete row group is in memory. The ranges are in the order of the rows, and the number of rows in each is
//! known in advance. A row that cannot be decoded is rejected under its row number.
//!
//! The files are untrusted. The counts and lengths in the metadata are checked against the size of the file before
//! memory is allocated for them. Third-party decoders run inside [`guarded`], which catches their panics.

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

pub use self::arrow::{ArrowColumns, ArrowTable};
pub use self::parquet::{IntegerColumn, IntegerReader, ParquetTable, TextColumn, TextReader};
use self::row::RowDecoder;

/// The number of rows that a file of any size may claim. Even a small file can have many rows, because runs of equal
/// values take hardly any bytes.
const ROWS_ANY_FILE: u64 = 1 << 20;
/// The number of further rows that a file may claim for each of its bytes.
const ROWS_A_BYTE: u64 = 1 << 12;

/// A table file whose metadata was read and checked.
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
    /// The index of the row group in a Parquet file, or of the first message in an Arrow file.
    group: usize,
    /// The number of rows of the row group that come before the range.
    skip: u64,
    /// The rows of the range, as positions in the file, from 0.
    pub rows: Range<u64>,
    /// The approximate size of the texts of these rows on disk, in bytes.
    pub bytes: usize,
}

/// A range of rows to decode, or a part of a table that cannot be read.
#[derive(Debug)]
pub enum TablePart {
    /// Rows to decode.
    Rows(RowRange),
    /// Rows that cannot be read. They count as one reject. The number is the position of the first of them, from 0.
    Lost(u64, RejectReason),
}

impl Table {
    /// Reads and checks the metadata of `file`.
    ///
    /// # Errors
    /// The file cannot be read, is compressed as a whole, or does not have the format that its name states.
    pub fn open(file: &SourceFile) -> Result<Self, RejectReason> {
        if file.codec != Codec::Plain {
            // A table must be read at random positions, which a compressed file does not allow. Tables compress their
            // columns themselves.
            return Err(unreadable(
                file.format,
                format_args!(
                    "the file is compressed as a whole ({}); decompress it first",
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

    /// Divides the first `limit` rows of the table into ranges with a few MiB of text each.
    ///
    /// # Errors
    /// The file cannot be opened, or the column that the options name for the text is missing or does not contain
    /// texts.
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

    /// The number of rows that the metadata of the table states.
    pub fn rows(&self) -> u64 {
        match self {
            Self::Arrow(table) => table.row_count(),
            Self::Parquet(table) => table.row_count(),
        }
    }

    /// Returns the names of the first columns if `key` names none of the columns. Returns `None` if the column exists.
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

    /// Returns true if there is a top-level column of this name.
    pub fn has_column(&self, name: &str) -> bool {
        match self {
            Self::Arrow(table) => table.schema().fields().find(name).is_some(),
            Self::Parquet(table) => {
                let root = table.metadata().file_metadata().schema();
                root.get_fields().iter().any(|field| field.name() == name)
            }
        }
    }

    /// Returns the type of the id column, if it contains integers.
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
    /// Creates an empty range. It represents a table without rows, which is copied to the output as well.
    fn empty(table: &Arc<Table>) -> Self {
        Self {
            table: Arc::clone(table),
            group: 0,
            skip: 0,
            rows: 0..0,
            bytes: 0,
        }
    }

    /// The table that contains the rows.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Calls `f` for each row of the range: with the number of the row from 1, the total length of its text and id in
    /// bytes, and the record.
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
                // Only the decoder runs inside the guard, because it may panic on damaged input. The callback runs
                // outside of it.
                if !guarded(format, || rows.next_batch((self.rows.end - row) as usize))? {
                    return Err(damaged(
                        format,
                        "the file has fewer rows than its metadata states",
                    ));
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

/// Checks that a file of `bytes` bytes can contain `rows` rows.
fn check_rows(format: Format, rows: u64, bytes: u64) -> Result<(), RejectReason> {
    if rows <= ROWS_ANY_FILE.saturating_add(bytes.saturating_mul(ROWS_A_BYTE)) {
        return Ok(());
    }
    Err(unreadable(
        format,
        format_args!("its metadata states {rows} rows, too many for a file of {bytes} bytes"),
    ))
}

/// Runs a third-party decoder and converts a panic to an error. The decoders of Parquet and Arrow do not check
/// everything that they read, so they can panic on damaged files. A damaged file must not end the run. After a panic no
/// value of the decoder is used.
///
/// # Errors
/// The error of `f`; [`RejectReason::DamagedTable`] if the decoder panics.
pub fn guarded<T>(format: Format, f: impl FnOnce() -> Result<T, RejectReason>) -> Result<T, RejectReason> {
    crate::guard::guarded(f).unwrap_or_else(|| Err(damaged(format, "the decoder failed")))
}

/// Opens the file again for another reader, because cloned handles share one file position.
///
/// # Errors
/// The file cannot be opened.
pub fn open(file: &SourceFile) -> Result<File, RejectReason> {
    file.open().map_err(|error| RejectReason::Unreadable {
        message: error.to_string(),
    })
}

/// Returns the reason to reject a table that cannot be read at all.
fn unreadable(format: Format, message: impl Display) -> RejectReason {
    RejectReason::NotATable {
        format: format.name(),
        message: message.to_string(),
    }
}

/// Returns the reason to reject rows that cannot be decoded.
fn damaged(format: Format, message: impl Display) -> RejectReason {
    RejectReason::DamagedTable {
        format: format.name(),
        message: message.to_string(),
    }
}

/// Returns the names of the first columns, shortened for a message.
fn shortened<'n>(names: impl Iterator<Item = &'n str>) -> Vec<String> {
    /// The largest number of names that are listed.
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
