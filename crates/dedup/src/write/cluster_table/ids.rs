//! A column of ids: strings, or whole numbers of the type that the input has for them.

use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use twinprint_io::sink::ColumnValues;
use twinprint_io::source::IntegerType;

/// Ids of one row group, as Parquet stores them.
pub(super) enum Ids {
    Text(Vec<ByteArray>),
    /// Up to 32 bits; unsigned ones by their bits.
    Narrow(Vec<i32>),
    /// Signed ones of 64 bits.
    Wide(Vec<i64>),
    /// Unsigned ones of 64 bits, by their bits.
    WideUnsigned(Vec<i64>),
}

/// The column of a schema without its repetition; `None` for strings.
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
    /// No ids yet, of a type; `None` for strings.
    pub(super) fn new(id_type: Option<IntegerType>) -> Self {
        match id_type {
            None => Self::Text(Vec::new()),
            Some(id_type) if id_type.bits <= 32 => Self::Narrow(Vec::new()),
            Some(id_type) if id_type.signed => Self::Wide(Vec::new()),
            Some(_) => Self::WideUnsigned(Vec::new()),
        }
    }

    /// Adds an id as the corpus has it. Ids of a column of whole numbers are these as they are written.
    pub(super) fn push(&mut self, id: &str) -> Result<(), ParquetError> {
        let wrong =
            |_| ParquetError::General(format!("the id {id:?} is not an integer of its column's type"));
        match self {
            Self::Text(ids) => ids.push(id.into()),
            // The lowest 32 bits are the same for signed and unsigned numbers.
            Self::Narrow(ids) => ids.push(id.parse::<i64>().map_err(wrong)? as i32),
            Self::Wide(ids) => ids.push(id.parse().map_err(wrong)?),
            Self::WideUnsigned(ids) => ids.push(id.parse::<u64>().map_err(wrong)?.cast_signed()),
        }
        Ok(())
    }

    /// The ids, as a column is written from them.
    pub(super) fn values(&self) -> ColumnValues<'_> {
        match self {
            Self::Text(ids) => ColumnValues::Bytes(ids),
            Self::Narrow(ids) => ColumnValues::Int32(ids),
            Self::Wide(ids) | Self::WideUnsigned(ids) => ColumnValues::Int64(ids),
        }
    }
}
