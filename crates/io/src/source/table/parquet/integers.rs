//! Reads top-level integer columns. Fingerprints and their ids are stored in such columns.
//!
//! Parquet has no integers of 128 bits. Such integers are stored as 16 bytes of fixed length, the most significant byte
//! first, so that they sort as numbers.

use std::fs::File;
use std::sync::Arc;

use parquet::basic::{ConvertedType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{DataType, FixedLenByteArray};
use twinprint_fingerprint::Width;

use super::field::{Field, names};
use super::{ParquetTable, broken};
use crate::source::record::IntegerType;
use crate::source::reject::RejectReason;

/// The length in bytes of an integer of 128 bits.
const WIDE_BYTES: usize = 16;

/// An integer column at the top level of the schema, with one number per row.
#[derive(Debug)]
pub struct IntegerColumn {
    leaf: usize,
    max_def: i16,
    /// The width in bits: 32, 64 or 128. Narrower integers are stored in 32 bits.
    pub bits: u32,
    /// The width in bits that the type of the column states, at most [`bits`](Self::bits).
    pub stated_bits: u32,
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
    bytes: Vec<FixedLenByteArray>,
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
        match field.integer_type() {
            Some(stated) => integer_column(&field, bits, stated).map(Some),
            None => Err(field.describe()),
        }
    }

    /// Finds the column of a name like [`integers`](Self::integers), and also accepts integers of 128 bits.
    ///
    /// # Errors
    /// The same as for [`integers`](Self::integers).
    pub fn wide_integers(&self, name: &str) -> Result<Option<IntegerColumn>, String> {
        let schema = self.metadata().file_metadata().schema_descr();
        let wide = Field::find(schema, name).and_then(Result::ok).filter(|field| {
            field.descriptor.physical_type() == Physical::FIXED_LEN_BYTE_ARRAY
                && usize::try_from(field.descriptor.type_length()) == Ok(WIDE_BYTES)
                && field.descriptor.logical_type_ref().is_none()
                && field.descriptor.converted_type() == ConvertedType::NONE
        });
        let stated = IntegerType {
            bits: u128::BITS as u8,
            signed: false,
        };
        match wide {
            Some(field) => integer_column(&field, u128::BITS, stated).map(Some),
            None => self.integers(name),
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
            bytes: Vec::new(),
        })
    }
}

impl IntegerReader {
    /// Appends the next `rows` numbers to `out`. Negative numbers are appended as two's complement of the width `W`, and
    /// numbers wider than `W` are cut to their low bits. If one of the numbers is null, nothing is appended, and the
    /// index of the first null among them is returned.
    ///
    /// # Errors
    /// The column is damaged or has too few rows.
    pub fn fill<W: Width>(&mut self, rows: usize, out: &mut Vec<W>) -> Result<Option<usize>, RejectReason> {
        self.levels.clear();
        let (levels, optional) = (&mut self.levels, self.max_def > 0);
        let read = match &mut self.reader {
            ColumnReader::Int32ColumnReader(reader) => all(reader, rows, levels, optional, &mut self.narrow)?,
            ColumnReader::Int64ColumnReader(reader) => all(reader, rows, levels, optional, &mut self.wide)?,
            ColumnReader::FixedLenByteArrayColumnReader(reader) => {
                all(reader, rows, levels, optional, &mut self.bytes)?
            }
            _ => return Err(broken("a column changes its type")),
        };
        if read != rows {
            return Err(broken("a column has fewer rows than the row group"));
        }
        if let Some(null) = self.levels.iter().position(|&level| level < self.max_def) {
            return Ok(Some(null));
        }
        let signed = self.signed;
        let widen = |number: i64, unsigned: u64| {
            let number = if signed {
                i128::from(number).cast_unsigned()
            } else {
                u128::from(unsigned)
            };
            W::truncate(number)
        };
        let narrow = self.narrow.drain(..);
        out.extend(narrow.map(|number| widen(number.into(), number.cast_unsigned().into())));
        let wide = self.wide.drain(..);
        out.extend(wide.map(|number| widen(number, number.cast_unsigned())));
        for bytes in self.bytes.drain(..) {
            let bytes = bytes.data().try_into();
            let bytes = bytes.map_err(|_| broken("a value has another length than its column"))?;
            out.push(W::truncate(u128::from_be_bytes(bytes)));
        }
        Ok(None)
    }
}

/// Returns the column of a field, unless it contains lists.
fn integer_column(field: &Field, bits: u32, stated: IntegerType) -> Result<IntegerColumn, String> {
    if field.descriptor.max_rep_level() > 0 {
        return Err("lists".to_owned());
    }
    Ok(IntegerColumn {
        leaf: field.leaf,
        max_def: field.descriptor.max_def_level(),
        bits,
        stated_bits: stated.bits.into(),
        signed: stated.signed,
    })
}

/// Reads up to `rows` rows of a column. Returns the number of rows read.
pub(super) fn all<T: DataType>(
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
