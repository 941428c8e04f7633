//! A column of ids in a Parquet table: strings, or whole numbers of the type that the ids have in the input.

use super::texts::Texts;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use twinprint_io::sink::ColumnValues;
use twinprint_io::source::IntegerType;

/// The ids of one row group, in the form in which Parquet stores them.
pub(super) enum Ids {
    Text(Texts),
    /// Integer ids of up to 32 bits. Unsigned ids are stored by their bits.
    Narrow(Vec<i32>),
    /// Signed ids of 64 bits.
    Wide(Vec<i64>),
    /// Unsigned ids of 64 bits, stored by their bits.
    WideUnsigned(Vec<i64>),
}

/// The values of a column of ids.
pub(super) enum IdValues {
    Text(Vec<ByteArray>),
    Narrow(Vec<i32>),
    Wide(Vec<i64>),
}

impl IdValues {
    /// The values for the writer of the table.
    pub(super) fn column(&self) -> ColumnValues<'_> {
        match self {
            Self::Text(ids) => ColumnValues::Bytes(ids),
            Self::Narrow(ids) => ColumnValues::Int32(ids),
            Self::Wide(ids) => ColumnValues::Int64(ids),
        }
    }
}

/// Formats a column of ids for a Parquet schema, without `required` or `optional`. `id_type` is `None` for strings.
pub(super) fn field(id_type: Option<IntegerType>, name: &str) -> String {
    match id_type {
        None => format!("binary {name} (string)"),
        Some(IntegerType { bits, signed }) => {
            let physical = if bits <= 32 { "int32" } else { "int64" };
            format!("{physical} {name} (integer({bits}, {signed}))")
        }
    }
}

impl Ids {
    /// An empty column of ids; `id_type` is `None` for strings.
    pub(super) fn new(id_type: Option<IntegerType>) -> Self {
        match id_type {
            None => Self::Text(Texts::default()),
            Some(id_type) if id_type.bits <= 32 => Self::Narrow(Vec::new()),
            Some(id_type) if id_type.signed => Self::Wide(Vec::new()),
            Some(_) => Self::WideUnsigned(Vec::new()),
        }
    }

    /// Adds an id, given as a string. An id from a column of whole numbers is that number in decimal.
    pub(super) fn push(&mut self, id: &str) -> Result<(), ParquetError> {
        let wrong =
            |_| ParquetError::General(format!("the id {id:?} is not an integer of its column's type"));
        match self {
            Self::Text(ids) => ids.push(id.as_bytes()),
            // The lowest 32 bits of a number are the same whether it is signed or unsigned.
            Self::Narrow(ids) => ids.push(id.parse::<i64>().map_err(wrong)? as i32),
            Self::Wide(ids) => ids.push(id.parse().map_err(wrong)?),
            Self::WideUnsigned(ids) => ids.push(id.parse::<u64>().map_err(wrong)?.cast_signed()),
        }
        Ok(())
    }

    /// The values of the column.
    pub(super) fn into_values(self) -> IdValues {
        match self {
            Self::Text(ids) => IdValues::Text(ids.into_values()),
            Self::Narrow(ids) => IdValues::Narrow(ids),
            Self::Wide(ids) | Self::WideUnsigned(ids) => IdValues::Wide(ids),
        }
    }
}
