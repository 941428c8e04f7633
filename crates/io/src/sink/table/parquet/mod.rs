//! Copies rows of a Parquet table to a Parquet table, column by column. The copy reads and writes values with their
//! definition and repetition levels and converts no type, so every value is unchanged.

mod annotated;

use std::error::Error;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::column::writer::{ColumnWriter, ColumnWriterImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;

use super::TableJob;
use super::added::AddedColumns;
use crate::sink::error::SinkError;
use crate::sink::file::OutputFile;
use crate::source::{Format, ParquetTable, guarded, open_table as open};

/// The largest number of rows that are copied at a time.
const BATCH_ROWS: usize = 1024;
/// If at least this number of consecutive rows are not wanted, they are skipped together with their pages. Fewer rows
/// are read and dropped.
const MIN_SKIPPED_ROWS: usize = 64;

/// Writes the rows with the action of `job`. Returns the size of the file in bytes.
pub(super) fn write(job: &TableJob<'_>, table: &ParquetTable, file: OutputFile) -> Result<u64, SinkError> {
    let path = file.path().to_owned();
    let metadata = table.metadata();
    let schema = metadata.file_metadata().schema_descr();
    let failed = |error| write_failed(error, &path);
    let root = match job.added {
        Some(added) => annotated::schema(schema.root_schema(), added).map_err(failed)?,
        None => schema.root_schema_ptr(),
    };
    let properties = properties(table, job.added);
    let mut writer = SerializedFileWriter::new(file, root, Arc::new(properties)).map_err(failed)?;
    for groups in merged(job, table) {
        let mut out = writer.next_row_group().map_err(failed)?;
        for leaf in 0..schema.num_columns() {
            let mut column = out
                .next_column()
                .map_err(failed)?
                .ok_or_else(|| job.fewer_rows())?;
            for group in groups.clone() {
                let rows = table.rows_of(group);
                // The file is opened for each reader, because readers must not share a file position.
                let open = || table.column(&Arc::new(open(job.input)?), group, leaf);
                let mut reader = guarded(Format::Parquet, open).map_err(|reason| job.damaged(reason))?;
                pump(job, &mut reader, column.untyped(), rows, &path)?;
            }
            column.close().map_err(failed)?;
        }
        if let Some(added) = job.added {
            let rows = groups.clone().flat_map(|group| table.rows_of(group));
            let rows = rows.filter(|&row| job.wanted(row));
            annotated::columns(added, &rows, &mut out).map_err(failed)?;
        }
        out.close().map_err(failed)?;
    }
    writer.into_inner().map_err(failed)?.finish()
}

/// Returns the row groups of the output, each as a range of row groups of the input. Adjacent row groups are merged as
/// long as the result has no more rows than the largest row group of the input.
fn merged(job: &TableJob<'_>, table: &ParquetTable) -> Vec<Range<usize>> {
    let groups = 0..table.metadata().num_row_groups();
    let length = |rows: Range<u64>| rows.end - rows.start;
    let largest = groups
        .clone()
        .map(|group| length(table.rows_of(group)))
        .max()
        .unwrap_or(0);
    let mut merged: Vec<Range<usize>> = Vec::new();
    let mut filled = 0;
    for group in groups {
        let wanted = table.rows_of(group).filter(|&row| job.wanted(row)).count() as u64;
        if wanted == 0 {
            continue;
        }
        match merged.last_mut() {
            // The merged range may include row groups without a wanted row.
            Some(last) if filled + wanted <= largest => {
                last.end = group + 1;
                filled += wanted;
            }
            _ => {
                merged.push(group..group + 1);
                filled = wanted;
            }
        }
    }
    merged
}

/// Returns writer properties that reproduce those of the input, as far as its footer records them.
fn properties(table: &ParquetTable, added: Option<&AddedColumns<'_>>) -> WriterProperties {
    let file = table.metadata().file_metadata();
    let mut entries = file.key_value_metadata().cloned();
    if let Some((entries, added)) = entries.as_mut().zip(added) {
        annotated::entries(entries, added);
    }
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("twinprint version ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(entries);
    let Some(group) = table.metadata().row_groups().first() else {
        return properties.build();
    };
    properties = properties.set_sorting_columns(group.sorting_columns().cloned());
    if let Some(column) = group.columns().first() {
        // This is the compression of the added columns. Each existing column keeps its own, which is set below.
        properties = properties.set_compression(column.compression());
    }
    for column in group.columns() {
        let path = column.column_path().clone();
        properties = properties
            .set_column_compression(path.clone(), column.compression())
            .set_column_dictionary_enabled(path.clone(), column.dictionary_page_offset().is_some())
            .set_column_statistics_enabled(path.clone(), statistics(column))
            .set_column_bloom_filter_enabled(path, column.bloom_filter_offset().is_some());
    }
    properties.build()
}

fn statistics(column: &ColumnChunkMetaData) -> EnabledStatistics {
    match (column.column_index_offset(), column.statistics()) {
        (Some(_), _) => EnabledStatistics::Page,
        (None, Some(_)) => EnabledStatistics::Chunk,
        (None, None) => EnabledStatistics::None,
    }
}

/// Copies the wanted rows of one column chunk from `reader` to `writer`. `rows` are the rows of the chunk in the file.
fn pump(
    job: &TableJob<'_>,
    reader: &mut ColumnReader,
    writer: &mut ColumnWriter<'_>,
    rows: Range<u64>,
    path: &Path,
) -> Result<(), SinkError> {
    use {ColumnReader as R, ColumnWriter as W};
    let pump = ColumnCopy { job, rows, path };
    match (reader, writer) {
        (R::BoolColumnReader(r), W::BoolColumnWriter(w)) => pump.copy(r, w),
        (R::Int32ColumnReader(r), W::Int32ColumnWriter(w)) => pump.copy(r, w),
        (R::Int64ColumnReader(r), W::Int64ColumnWriter(w)) => pump.copy(r, w),
        (R::Int96ColumnReader(r), W::Int96ColumnWriter(w)) => pump.copy(r, w),
        (R::FloatColumnReader(r), W::FloatColumnWriter(w)) => pump.copy(r, w),
        (R::DoubleColumnReader(r), W::DoubleColumnWriter(w)) => pump.copy(r, w),
        (R::ByteArrayColumnReader(r), W::ByteArrayColumnWriter(w)) => pump.copy(r, w),
        (R::FixedLenByteArrayColumnReader(r), W::FixedLenByteArrayColumnWriter(w)) => pump.copy(r, w),
        _ => Err(job.damaged("a column changes its type")),
    }
}

struct ColumnCopy<'p> {
    job: &'p TableJob<'p>,
    /// The rows of the column chunk, as positions in the file.
    rows: Range<u64>,
    path: &'p Path,
}

/// The definition levels, repetition levels and values of one batch of rows.
struct Levels<T> {
    def: Vec<i16>,
    rep: Vec<i16>,
    values: Vec<T>,
}

impl ColumnCopy<'_> {
    fn copy<T: DataType>(
        &self,
        reader: &mut ColumnReaderImpl<T>,
        writer: &mut ColumnWriterImpl<'_, T>,
    ) -> Result<(), SinkError> {
        let damaged = |reason: String| self.job.damaged(reason);
        let descriptor = writer.get_descriptor();
        let (max_def, max_rep) = (descriptor.max_def_level(), descriptor.max_rep_level());
        let mut batch = Levels {
            def: Vec::new(),
            rep: Vec::new(),
            values: Vec::new(),
        };
        let mut at = self.rows.start;
        while at < self.rows.end {
            self.job.check_cancelled()?;
            let unwanted = (at..self.rows.end)
                .take_while(|&row| !self.job.wanted(row))
                .count();
            if at + unwanted as u64 == self.rows.end {
                break;
            }
            if unwanted >= MIN_SKIPPED_ROWS {
                let skipped = guarded(Format::Parquet, || Ok(reader.skip_records(unwanted)))
                    .map_err(|reason| damaged(reason.to_string()))?
                    .map_err(|error| damaged(error.to_string()))?;
                if skipped != unwanted {
                    return Err(self.job.fewer_rows());
                }
                at += unwanted as u64;
            }
            let rows = self.batch_from(at);
            batch.def.clear();
            batch.rep.clear();
            batch.values.clear();
            let read = guarded(Format::Parquet, || {
                let Levels { def, rep, values } = &mut batch;
                Ok(reader.read_records(rows, Some(def), Some(rep), values))
            });
            let (read, ..) = read
                .map_err(|reason| damaged(reason.to_string()))?
                .map_err(|error| damaged(error.to_string()))?;
            if read != rows {
                return Err(self.job.fewer_rows());
            }
            // The reader does not check that levels are within the range of the column, but the writer relies on it.
            let beyond = |levels: &[i16], most| levels.iter().any(|level| !(0..=most).contains(level));
            if beyond(&batch.def, max_def) || beyond(&batch.rep, max_rep) {
                return Err(damaged("a level is beyond those of its column".to_owned()));
            }
            self.filter(&mut batch, at, rows, max_def);
            writer
                .write_batch(
                    &batch.values,
                    (max_def > 0).then_some(batch.def.as_slice()),
                    (max_rep > 0).then_some(batch.rep.as_slice()),
                )
                .map_err(|error| write_failed(error, self.path))?;
            at += rows as u64;
        }
        Ok(())
    }

    /// Returns the number of rows to read at once, starting at row `first`: at most [`BATCH_ROWS`], and up to the next
    /// rows that can be skipped.
    fn batch_from(&self, first: u64) -> usize {
        let longest = (self.rows.end - first).min(BATCH_ROWS as u64) as usize;
        let mut unwanted = 0;
        for i in 0..longest {
            unwanted = if self.job.wanted(first + i as u64) {
                0
            } else {
                unwanted + 1
            };
            if unwanted == MIN_SKIPPED_ROWS {
                return i + 1 - MIN_SKIPPED_ROWS;
            }
        }
        longest
    }

    /// Removes the levels and values of unwanted rows from a batch.
    fn filter<T>(&self, batch: &mut Levels<T>, first: u64, rows: usize, max_def: i16) {
        if (first..first + rows as u64).all(|row| self.job.wanted(row)) {
            return;
        }
        // A column without definition levels has exactly one value per row.
        let levels = if max_def == 0 { rows } else { batch.def.len() };
        let mut keep_value = Vec::with_capacity(batch.values.len());
        let (mut row, mut kept) = (first, 0);
        for level in 0..levels {
            if level > 0 && batch.rep.get(level).is_none_or(|&rep| rep == 0) {
                row += 1;
            }
            let wanted = self.job.wanted(row);
            if batch.def.get(level).is_none_or(|&def| def == max_def) {
                keep_value.push(wanted);
            }
            if wanted {
                for levels in [&mut batch.def, &mut batch.rep] {
                    if level < levels.len() {
                        levels[kept] = levels[level];
                    }
                }
                kept += 1;
            }
        }
        batch.def.truncate(kept);
        batch.rep.truncate(kept);
        let mut keep = keep_value.into_iter();
        batch.values.retain(|_| keep.next().unwrap_or(false));
    }
}

/// Extracts the error of the output file from an error of the Parquet writer.
pub fn write_failed(error: ParquetError, path: &Path) -> SinkError {
    let error = match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(io) => *io,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(Box::<dyn Error + Send + Sync>::from(other)),
    };
    SinkError::from_io(error, path, "write its rows")
}
