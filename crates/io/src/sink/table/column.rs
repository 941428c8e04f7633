//! A column of a Parquet table that is written from values in memory.
//!
//! The writer of `parquet` is generic over the type of a column. It is compiled here once for every type, and not once more in
//! each crate that writes a table.

use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
    Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedRowGroupWriter;

use crate::sink::OutputFile;

/// The values of a column that are not null, by the physical type of the column.
#[derive(Clone, Copy, Debug)]
pub enum ColumnValues<'v> {
    /// Of `boolean`.
    Boolean(&'v [bool]),
    /// Of `int32`.
    Int32(&'v [i32]),
    /// Of `int64`.
    Int64(&'v [i64]),
    /// Of `double`.
    Double(&'v [f64]),
    /// Of `binary`.
    Bytes(&'v [ByteArray]),
    /// Of `fixed_len_byte_array`.
    FixedBytes(&'v [FixedLenByteArray]),
}

/// Writes the next column of a row group.
///
/// `levels` has a definition level for each row of an optional column: 1 for a value, 0 for null. It is `None` for a required column.
///
/// # Errors
///
/// The group has no further column, the column has another type, or the file could not be written.
pub fn write_column(
    group: &mut SerializedRowGroupWriter<'_, OutputFile>,
    values: ColumnValues<'_>,
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    match values {
        ColumnValues::Boolean(values) => write::<BoolType>(group, values, levels),
        ColumnValues::Int32(values) => write::<Int32Type>(group, values, levels),
        ColumnValues::Int64(values) => write::<Int64Type>(group, values, levels),
        ColumnValues::Double(values) => write::<DoubleType>(group, values, levels),
        ColumnValues::Bytes(values) => write::<ByteArrayType>(group, values, levels),
        ColumnValues::FixedBytes(values) => write::<FixedLenByteArrayType>(group, values, levels),
    }
}

fn write<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, OutputFile>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General("the schema has fewer columns".to_owned());
    let mut column = group.next_column()?.ok_or_else(missing)?;
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}
