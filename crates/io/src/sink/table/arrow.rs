//! Copies rows of an Arrow table to an Arrow table, one record batch at a time.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};
use arrow_select::filter::filter_record_batch;

use super::TableJob;
use super::added::{AddedColumns, ColumnValues};
use crate::sink::edit::ColumnType;
use crate::sink::error::SinkError;
use crate::sink::file::OutputFile;
use crate::source::{ArrowTable, Format, guarded};

/// The output: an Arrow file if the input is one, or an Arrow stream if the input is one.
enum Output {
    File(Box<FileWriter<OutputFile>>),
    Stream(Box<StreamWriter<OutputFile>>),
}

/// Writes the rows with the action of `job`. Returns the size of the file in bytes.
pub(super) fn write(job: &TableJob<'_>, table: &ArrowTable, file: OutputFile) -> Result<u64, SinkError> {
    let path = file.path().to_owned();
    let failed = |error| write_failed(error, &path);
    let damaged = |reason| job.damaged(reason);
    let schema = job.added.map_or_else(
        || Arc::clone(table.schema()),
        |added| with_added(table.schema(), added),
    );
    let mut output = Output::new(table, &schema, file).map_err(failed)?;
    let open = || table.batches(job.input, 0, None);
    let mut batches = guarded(Format::Arrow, open).map_err(damaged)?;
    while let Some(rows) = batches.upcoming() {
        job.check_cancelled()?;
        let wanted: Vec<bool> = rows.clone().map(|row| job.wanted(row)).collect();
        if !wanted.contains(&true) {
            guarded(Format::Arrow, || batches.skip()).map_err(damaged)?;
            continue;
        }
        let next = guarded(Format::Arrow, || batches.next()).map_err(damaged)?;
        let (_, batch) = next.ok_or_else(|| job.fewer_rows())?;
        let batch = if wanted.contains(&false) {
            filter_record_batch(&batch, &BooleanArray::from(wanted)).map_err(|error| job.damaged(error))?
        } else {
            batch
        };
        let batch = match job.added {
            Some(added) => annotated(&batch, added, &rows.filter(|&row| job.wanted(row))).map_err(failed)?,
            None => batch,
        };
        output.write(&batch).map_err(failed)?;
    }
    output.finish().map_err(failed)?.finish()
}

/// Returns the schema extended by the added columns. The metadata of the schema is unchanged.
pub(super) fn with_added(schema: &Schema, added: &AddedColumns<'_>) -> SchemaRef {
    let mut fields: Vec<FieldRef> = schema.fields().iter().cloned().collect();
    fields.extend(added.columns().iter().map(|(name, kind)| {
        let data_type = match kind {
            ColumnType::Integer => DataType::Int64,
            ColumnType::Real => DataType::Float64,
            ColumnType::Boolean => DataType::Boolean,
            ColumnType::Text => DataType::Utf8,
        };
        Arc::new(Field::new(name, data_type, true))
    }));
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// Returns a record batch extended by the added columns.
fn annotated(
    batch: &RecordBatch,
    added: &AddedColumns<'_>,
    rows: &(impl Iterator<Item = u64> + Clone),
) -> Result<RecordBatch, ArrowError> {
    let mut arrays = batch.columns().to_vec();
    for (column, &(_, kind)) in added.columns().iter().enumerate() {
        let array: ArrayRef = match added.values(column, kind, rows.clone()) {
            ColumnValues::Integers(values) => Arc::new(Int64Array::from(values)),
            ColumnValues::Reals(values) => Arc::new(Float64Array::from(values)),
            ColumnValues::Booleans(values) => Arc::new(BooleanArray::from(values)),
            ColumnValues::Texts(values) => Arc::new(StringArray::from(values)),
        };
        arrays.push(array);
    }
    RecordBatch::try_new(with_added(&batch.schema(), added), arrays)
}

impl Output {
    fn new(table: &ArrowTable, schema: &Schema, file: OutputFile) -> Result<Self, ArrowError> {
        // The batches were read with strings as bytes, which are written unchanged. The written schema is that of the
        // input, with strings.
        let options = IpcWriteOptions::default().try_with_compression(table.compression())?;
        let Some(metadata) = table.file_metadata() else {
            let writer = StreamWriter::try_new_with_options(file, schema, options)?;
            return Ok(Self::Stream(Box::new(writer)));
        };
        let mut writer = FileWriter::try_new_with_options(file, schema, options)?;
        for (key, value) in metadata {
            writer.write_metadata(key, value);
        }
        Ok(Self::File(Box::new(writer)))
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        match self {
            Self::File(writer) => writer.write(batch),
            Self::Stream(writer) => writer.write(batch),
        }
    }

    fn finish(self) -> Result<OutputFile, ArrowError> {
        match self {
            Self::File(mut writer) => {
                writer.finish()?;
                writer.into_inner()
            }
            Self::Stream(mut writer) => {
                writer.finish()?;
                writer.into_inner()
            }
        }
    }
}

/// Extracts the error of the output file from an error of the Arrow writer.
fn write_failed(error: ArrowError, path: &Path) -> SinkError {
    let error = match error {
        ArrowError::IoError(_, io) => io,
        other => std::io::Error::other(other),
    };
    SinkError::from_io(error, path, "write its rows")
}
