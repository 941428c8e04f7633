//! Reads Parquet files by column, page and level, without converting them to Arrow.
//!
//! At this level a value is a slice of its page. An invalid string rejects only its row, and the second pass can copy
//! values of every type unchanged. Before the rows are divided into ranges, the row counts in the footer are checked
//! against the page headers of the text column.

mod claims;
mod field;
mod integers;
mod pages;
mod rows;
mod texts;

use std::fmt::Display;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::Arc;

use parquet::column::page::PageReader;
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::file::metadata::{
    ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData,
};
use parquet::file::serialized_reader::SerializedPageReader;

use self::field::Field;
pub use self::integers::{IntegerColumn, IntegerReader};
use self::pages::Checked;
use self::rows::ParquetRows;
pub use self::texts::{TextColumn, TextReader};
use super::{Format, RowRange, Table, TablePart, check_rows, damaged, open, unreadable};
use crate::source::file::SourceFile;
use crate::source::loss::Loss;
use crate::source::options::SourceOptions;
use crate::source::record::IntegerType;
use crate::source::reject::RejectReason;

/// The minimum decompressed size of the text in a range of rows, in bytes. A range consists of whole pages if possible.
const MIN_RANGE_BYTES: u64 = 2 << 20;
/// The size of the end of a Parquet file: the length of the footer and a magic number.
const TAIL_BYTES: u64 = 8;

/// A Parquet file whose footer was read and checked.
#[derive(Debug)]
pub struct ParquetTable {
    metadata: ParquetMetaData,
    /// The position of the first row of each row group, followed by the total number of rows.
    starts: Vec<u64>,
    file_bytes: u64,
}

impl ParquetTable {
    /// Reads the footer and checks it against the size of the file.
    ///
    /// # Errors
    /// The file cannot be read, or it is not Parquet.
    pub fn open(file: &SourceFile) -> Result<Self, RejectReason> {
        let mut input = open(file)?;
        let file_bytes = input.metadata().map_err(io)?.len();
        let footer = footer(&mut input, file_bytes)?;
        claims::check(&footer).map_err(not_parquet)?;
        drop(footer);
        let mut reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Skip);
        reader.try_parse_sized(&input, file_bytes).map_err(not_parquet)?;
        let metadata = reader.finish().map_err(not_parquet)?;
        let mut starts = vec![0];
        let mut rows = 0u64;
        for group in metadata.row_groups() {
            let claimed = u64::try_from(group.num_rows()).map_err(not_parquet)?;
            rows = rows.saturating_add(claimed);
            check_rows(Format::Parquet, rows, file_bytes)?;
            starts.push(rows);
        }
        Ok(Self {
            metadata,
            starts,
            file_bytes,
        })
    }

    /// Returns the type of the column that `key` names, if it contains integers.
    pub fn integer_type(&self, key: &str) -> Option<IntegerType> {
        let schema = self.metadata().file_metadata().schema_descr();
        Field::scalar(schema, Some(key))?.integer_type()
    }

    /// The metadata in the footer of the file.
    pub fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }

    /// Returns the reason why the column that `key` names cannot contain texts, or `None` if it can.
    pub(super) fn missing(&self, key: &str) -> Option<RejectReason> {
        Field::text(self.metadata.file_metadata().schema_descr(), key, true).err()
    }

    /// The number of rows that the footer states.
    pub(super) fn row_count(&self) -> u64 {
        self.starts.last().copied().unwrap_or_default()
    }

    /// The positions in the file, from 0, of the rows of a row group.
    pub fn rows_of(&self, group: usize) -> Range<u64> {
        match self.starts.get(group..group + 2) {
            Some(&[start, end]) => start..end,
            _ => 0..0,
        }
    }

    pub(super) fn plan(
        &self,
        table: &Arc<Table>,
        options: &SourceOptions,
        limit: u64,
        file: &SourceFile,
    ) -> Result<Vec<TablePart>, RejectReason> {
        let schema = self.metadata.file_metadata().schema_descr();
        let text = Field::text(schema, &options.text_key, options.raw)?;
        let input = Arc::new(open(file)?);
        let mut planned = Vec::new();
        let mut left = limit;
        for (group, (metadata, &start)) in self.metadata.row_groups().iter().zip(&self.starts).enumerate() {
            if left == 0 {
                break;
            }
            // The guard is set up for each row group, so that a panic of the decoder loses only that row group.
            let cuts = super::guarded(Format::Parquet, || self.cuts(&input, metadata, group, &text));
            let cuts = match cuts {
                Ok(cuts) => cuts,
                Err(reason) => {
                    let loss = Loss {
                        rows: u64::try_from(metadata.num_rows()).unwrap_or_default(),
                        ..Loss::unread(u64::try_from(metadata.compressed_size()).unwrap_or_default())
                    };
                    planned.push(TablePart::Lost(start, reason.losing(loss)));
                    left -= 1;
                    continue;
                }
            };
            let rows = u64::try_from(metadata.num_rows()).unwrap_or_default().max(1);
            let packed = metadata
                .columns()
                .get(text.leaf)
                .map_or(0, ColumnChunkMetaData::compressed_size);
            let mut from = 0;
            for to in cuts {
                let to = to.min(from + left);
                planned.push(TablePart::Rows(RowRange {
                    table: Arc::clone(table),
                    group,
                    skip: from,
                    rows: start + from..start + to,
                    bytes: (packed as f64 * ((to - from) as f64 / rows as f64)) as usize,
                }));
                left -= to - from;
                from = to;
                if left == 0 {
                    break;
                }
            }
        }
        if planned.is_empty() {
            planned.push(TablePart::Rows(RowRange::empty(table)));
        }
        Ok(planned)
    }

    /// Returns the row offsets at which the ranges of a row group end. If the page bounds are known without
    /// decompressing pages, ranges end there, so that no page is decompressed twice.
    fn cuts(
        &self,
        input: &Arc<File>,
        group: &RowGroupMetaData,
        number: usize,
        text: &Field,
    ) -> Result<Vec<u64>, RejectReason> {
        let rows = group.num_rows() as u64;
        let unpacked = group
            .columns()
            .get(text.leaf)
            .map_or(0, ColumnChunkMetaData::uncompressed_size);
        let a_part = (u64::try_from(unpacked).map_err(broken)?.max(1) / MIN_RANGE_BYTES).max(1);
        let a_part = rows.div_ceil(a_part).max(1);
        let mut pages = self.pages(input, number, text.leaf)?;
        let flat = text.descriptor.max_rep_level() == 0;
        let mut cuts = Vec::new();
        let (mut last, mut seen) = (0, Some(0u64));
        while let Some(page) = pages.peek_next_page().map_err(broken)? {
            pages.skip_next_page().map_err(broken)?;
            if page.is_dict {
                continue;
            }
            let page_rows = page.num_rows.or(page.num_levels.filter(|_| flat));
            seen = seen.zip(page_rows).map(|(seen, rows)| seen + rows as u64);
            if let Some(seen) = seen.filter(|&seen| seen - last >= a_part && seen <= rows) {
                cuts.push(seen);
                last = seen;
            }
        }
        if let Some(seen) = seen.filter(|&seen| seen != rows) {
            return Err(broken(format_args!(
                "row group {number} states {rows} rows, but its pages contain {seen}"
            )));
        }
        if last < rows {
            cuts.push(rows);
        }
        Ok(cuts)
    }

    fn pages(
        &self,
        input: &Arc<File>,
        group: usize,
        leaf: usize,
    ) -> Result<Checked<SerializedPageReader<File>>, RejectReason> {
        let column = self
            .metadata
            .row_groups()
            .get(group)
            .and_then(|group| Some((group, group.columns().get(leaf)?)));
        let Some((metadata, column)) = column else {
            return Err(broken("a column is missing from a row group"));
        };
        let start = column
            .dictionary_page_offset()
            .unwrap_or(column.data_page_offset());
        let end = start.checked_add(column.compressed_size());
        let inside = start >= 0
            && column.compressed_size() >= 0
            && column.data_page_offset() >= 0
            && end.is_some_and(|end| end as u64 <= self.file_bytes);
        if !inside {
            return Err(broken(format_args!(
                "the position of column {} of row group {group} is outside the file",
                column.column_path()
            )));
        }
        let rows = metadata.num_rows() as usize;
        let (input, column) = (Arc::clone(input), column.clone());
        let open = move || SerializedPageReader::new(Arc::clone(&input), &column, rows, None);
        Checked::new(Box::new(open)).map_err(broken)
    }

    /// Opens a leaf column of a row group. No other thread may use `input` meanwhile, because it has one file position.
    ///
    /// # Errors
    /// The column is missing, or its pages are damaged.
    pub fn column(&self, input: &Arc<File>, group: usize, leaf: usize) -> Result<ColumnReader, RejectReason> {
        let pages = self.pages(input, group, leaf)?;
        let schema = self.metadata.file_metadata().schema_descr();
        let descriptor = schema
            .columns()
            .get(leaf)
            .ok_or_else(|| broken("a column is missing"))?;
        Ok(get_column_reader(Arc::clone(descriptor), Box::new(pages)))
    }

    pub(super) fn rows(
        &self,
        file: &SourceFile,
        group: usize,
        skip: u64,
        options: &SourceOptions,
    ) -> Result<ParquetRows, RejectReason> {
        let mut rows = ParquetRows::new(self, &Arc::new(open(file)?), group, options)?;
        rows.skip(skip as usize)?;
        Ok(rows)
    }
}

/// Reads the bytes of the footer.
fn footer(input: &mut File, file_bytes: u64) -> Result<Vec<u8>, RejectReason> {
    let mut tail = [0; TAIL_BYTES as usize];
    let start = file_bytes
        .checked_sub(TAIL_BYTES)
        .ok_or_else(|| not_parquet("it is too short"))?;
    input.seek(SeekFrom::Start(start)).map_err(io)?;
    input.read_exact(&mut tail).map_err(io)?;
    match &tail[4..] {
        b"PAR1" => {}
        b"PARE" => return Err(not_parquet("it is encrypted; decrypt it first")),
        _ => {
            return Err(not_parquet(
                "the file does not end like a Parquet file; it is truncated or of another format",
            ));
        }
    }
    let length = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    let start = start.checked_sub(length).ok_or_else(|| {
        not_parquet(format_args!(
            "the footer states a length of {length} bytes, but the file has {file_bytes}"
        ))
    })?;
    input.seek(SeekFrom::Start(start)).map_err(io)?;
    let mut footer = vec![0; length as usize];
    input.read_exact(&mut footer).map_err(io)?;
    Ok(footer)
}

fn io(error: impl Display) -> RejectReason {
    RejectReason::Unreadable {
        message: error.to_string(),
    }
}

fn not_parquet(message: impl Display) -> RejectReason {
    unreadable(Format::Parquet, message)
}

fn broken(message: impl Display) -> RejectReason {
    damaged(Format::Parquet, message)
}
