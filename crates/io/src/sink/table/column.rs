//! Writes a column of a Parquet table from values in memory.
//!
//! The writer of the crate `parquet` is generic over the type of the column. It is instantiated here once for each
//! type, so that other crates that write tables need not compile it again.

use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
    Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedRowGroupWriter;

use crate::sink::OutputFile;

/// The non-null values of a column, by the physical Parquet type of the column.
#[derive(Clone, Copy, Debug)]
pub enum ColumnValues<'v> {
    /// The values of a column of type `boolean`.
    Boolean(&'v [bool]),
    /// The values of a column of type `int32`.
    Int32(&'v [i32]),
    /// The values of a column of type `int64`.
    Int64(&'v [i64]),
    /// The values of a column of type `double`.
    Double(&'v [f64]),
    /// The values of a column of type `binary`.
    Bytes(&'v [ByteArray]),
    /// The values of a column of type `fixed_len_byte_array`.
    FixedBytes(&'v [FixedLenByteArray]),
}

/// Writes the next column of a row group.
///
/// `levels` contains the definition level of each row of an optional column: 1 for a value, 0 for null. It is `None`
/// for a required column.
///
/// # Errors
///
/// The row group has no further column, the column has another type, or the file cannot be written.
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
