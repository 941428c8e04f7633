//! Adds columns to a Parquet table while it is copied.

use std::io::Write;
use std::sync::Arc;

use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::root_as_message;
use arrow_ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteOptions};
use arrow_schema::Schema;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::{Type, TypePtr};

use super::BATCH_ROWS;
use crate::sink::edit::ColumnType;
use crate::sink::table::added::{AddedColumns, ColumnValues};
use crate::sink::table::arrow::with_added;
use crate::source::{Format, guarded};

/// The metadata key under which Arrow's writers store the Arrow schema of the table.
const ARROW_SCHEMA: &str = "ARROW:schema";
/// The four bytes before the length of an Arrow message.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// Returns the schema extended by the added columns.
pub(super) fn schema(root: &Type, added: &AddedColumns<'_>) -> Result<TypePtr> {
    let mut fields = root.get_fields().to_vec();
    for (name, kind) in added.columns() {
        let (physical, logical) = match kind {
            ColumnType::Integer => (Physical::INT64, None),
            ColumnType::Real => (Physical::DOUBLE, None),
            ColumnType::Boolean => (Physical::BOOLEAN, None),
            ColumnType::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let column = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical);
        fields.push(Arc::new(column.build()?));
    }
    let root = Type::group_type_builder(root.name()).with_fields(fields);
    Ok(Arc::new(root.build()?))
}

/// Writes the added columns of the row group that consists of `rows`.
pub(super) fn columns<W: Write + Send>(
    added: &AddedColumns<'_>,
    rows: &(impl Iterator<Item = u64> + Clone),
    out: &mut SerializedRowGroupWriter<'_, W>,
) -> Result<()> {
    for (number, &(_, kind)) in added.columns().iter().enumerate() {
        let mut column = out
            .next_column()?
            .ok_or_else(|| ParquetError::General("a column has no place".to_owned()))?;
        let mut rows = rows.clone().peekable();
        while rows.peek().is_some() {
            match added.values(number, kind, rows.by_ref().take(BATCH_ROWS)) {
                ColumnValues::Integers(values) => batch::<Int64Type>(column.typed(), values),
                ColumnValues::Reals(values) => batch::<DoubleType>(column.typed(), values),
                ColumnValues::Booleans(values) => batch::<BoolType>(column.typed(), values),
                ColumnValues::Texts(texts) => {
                    let texts = texts
                        .into_iter()
                        .map(|text| text.map(|text| ByteArray::from(text.into_bytes())));
                    batch::<ByteArrayType>(column.typed(), texts.collect())
                }
            }?;
        }
        column.close()?;
    }
    Ok(())
}

fn batch<T: DataType>(
    column: &mut parquet::column::writer::ColumnWriterImpl<'_, T>,
    values: Vec<Option<T::T>>,
) -> Result<()> {
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let present: Vec<T::T> = values.into_iter().flatten().collect();
    column.write_batch(&present, Some(&levels), None)?;
    Ok(())
}

/// Adds the columns to the Arrow schema in the metadata of the file, so that it has as many columns as the file. An
/// Arrow schema that cannot be read is left unchanged.
pub(super) fn entries(entries: &mut [KeyValue], added: &AddedColumns<'_>) {
    for entry in entries.iter_mut().filter(|entry| entry.key == ARROW_SCHEMA) {
        let schema = entry.value.as_deref().and_then(decoded);
        if let Some(schema) = schema {
            entry.value = Some(encoded(&with_added(&schema, added)));
        }
    }
}

fn decoded(value: &str) -> Option<Schema> {
    let message = BASE64_STANDARD.decode(value).ok()?;
    let start = if message.starts_with(&CONTINUATION) { 8 } else { 4 };
    // The conversion of the schema panics on unknown types.
    let schema = guarded(Format::Parquet, || {
        let message = message.get(start..).and_then(|flat| root_as_message(flat).ok());
        Ok(message.and_then(|message| message.header_as_schema().map(fb_to_schema)))
    });
    schema.ok().flatten()
}

fn encoded(schema: &Schema) -> String {
    let mut tracker = DictionaryTracker::new(true);
    let data = IpcDataGenerator::default().schema_to_bytes_with_dictionary_tracker(
        schema,
        &mut tracker,
        &IpcWriteOptions::default(),
    );
    let mut message = CONTINUATION.to_vec();
    message.extend_from_slice(&(data.ipc_message.len() as u32).to_le_bytes());
    message.extend_from_slice(&data.ipc_message);
    BASE64_STANDARD.encode(message)
}
