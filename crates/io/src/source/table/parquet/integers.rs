//! Reads top-level integer columns. Fingerprints and their ids are stored in such columns.

use std::fs::File;
use std::sync::Arc;

use parquet::basic::Type as Physical;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;

use super::field::{Field, Scalar, names};
use super::{ParquetTable, broken};
use crate::source::reject::RejectReason;

/// An integer column at the top level of the schema, with one number per row.
#[derive(Debug)]
pub struct IntegerColumn {
    leaf: usize,
    max_def: i16,
    /// The width in bits: 32 or 64.
    pub bits: u32,
    /// True for signed integers.
    pub signed: bool,
}

/// Reads the numbers of an integer column in one row group.
pub struct IntegerReader {
    reader: ColumnReader,
    max_def: i16,
    signed: bool,
    levels: Vec<i16>,
    narrow: Vec<i32>,
    wide: Vec<i64>,
}

impl ParquetTable {
    /// Finds the integer column of a name. Returns `None` if there is no column of that name.
    ///
    /// # Errors
    /// The type of the column, as a text, if it does not contain integers.
    pub fn integers(&self, name: &str) -> Result<Option<IntegerColumn>, String> {
        let schema = self.metadata().file_metadata().schema_descr();
        let Some(field) = Field::find(schema, name) else {
            return Ok(None);
        };
        let field = field?;
        let bits = match field.descriptor.physical_type() {
            Physical::INT32 => 32,
            Physical::INT64 => 64,
            _ => return Err(field.describe()),
        };
        match field.meaning() {
            Scalar::Integer { signed } if field.descriptor.max_rep_level() == 0 => Ok(Some(IntegerColumn {
                leaf: field.leaf,
                max_def: field.descriptor.max_def_level(),
                bits,
                signed,
            })),
            Scalar::Integer { .. } => Err("lists".to_owned()),
            _ => Err(field.describe()),
        }
    }

    /// Returns the names of the first columns, for a message.
    pub fn column_names(&self) -> Vec<String> {
        names(self.metadata().file_metadata().schema())
    }

    /// Returns true if the file has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of rows in the file.
    pub fn len(&self) -> u64 {
        self.starts.last().copied().unwrap_or_default()
    }

    /// The number of row groups in the file.
    pub fn groups(&self) -> usize {
        self.metadata().num_row_groups()
    }

    /// Opens an integer column of a row group. No other thread may use `input` meanwhile, because it has one file
    /// position.
    ///
    /// # Errors
    /// The column is missing, or its pages are damaged.
    pub fn read_integers(
        &self,
        integers: &IntegerColumn,
        group: usize,
        input: &Arc<File>,
    ) -> Result<IntegerReader, RejectReason> {
        Ok(IntegerReader {
            reader: self.column(input, group, integers.leaf)?,
            max_def: integers.max_def,
            signed: integers.signed,
            levels: Vec::new(),
            narrow: Vec::new(),
            wide: Vec::new(),
        })
    }
}

impl IntegerReader {
    /// Appends the next `rows` numbers to `out`. Negative numbers are appended as 64-bit two's complement. If one of
    /// the numbers is null, nothing is appended, and the index of the first null among them is returned.
    ///
    /// # Errors
    /// The column is damaged or has too few rows.
    pub fn fill(&mut self, rows: usize, out: &mut Vec<u64>) -> Result<Option<usize>, RejectReason> {
        self.levels.clear();
        let (levels, optional) = (&mut self.levels, self.max_def > 0);
        let read = match &mut self.reader {
            ColumnReader::Int32ColumnReader(reader) => all(reader, rows, levels, optional, &mut self.narrow)?,
            ColumnReader::Int64ColumnReader(reader) => all(reader, rows, levels, optional, &mut self.wide)?,
            _ => return Err(broken("a column changes its type")),
        };
        if read != rows {
            return Err(broken("a column has fewer rows than the row group"));
        }
        if let Some(null) = self.levels.iter().position(|&level| level < self.max_def) {
            return Ok(Some(null));
        }
        let signed = self.signed;
        let widen = |number: i32| {
            if signed {
                i64::from(number).cast_unsigned()
            } else {
                u64::from(number.cast_unsigned())
            }
        };
        out.extend(self.narrow.drain(..).map(widen));
        out.extend(self.wide.drain(..).map(i64::cast_unsigned));
        Ok(None)
    }
}

/// Reads up to `rows` rows of a column. Returns the number of rows read.
fn all<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    levels: &mut Vec<i16>,
    optional: bool,
    values: &mut Vec<T::T>,
) -> Result<usize, RejectReason> {
    let mut read = 0;
    while read < rows {
        let levels = optional.then_some(&mut *levels);
        let (records, ..) = reader
            .read_records(rows - read, levels, None, values)
            .map_err(broken)?;
        if records == 0 {
            break;
        }
        read += records;
    }
    Ok(read)
}
