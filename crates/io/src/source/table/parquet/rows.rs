//! Decodes the text, the id and the sort value of each row, some rows at a time.

use std::borrow::Cow;
use std::fs::File;
use std::sync::Arc;

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType, Int96};

use super::super::row::{Cell, RowDecoder, moment, numbers, real, record};
use super::field::{Field, Scalar};
use super::{ParquetTable, broken};
use crate::source::options::SourceOptions;
use crate::source::record::{RecordKind, SortValue};
use crate::source::record_limits::RecordLimits;
use crate::source::reject::RejectReason;

/// The number of rows that are decoded at a time. Values are slices of their pages, so a batch allocates little more
/// than levels and slices.
const BATCH_ROWS: usize = 1024;

/// Decodes the text, the id and the sort value of the rows of one row group.
pub(crate) struct ParquetRows {
    text: Column,
    id: Option<Column>,
    sort: Option<Column>,
    /// If the text is inside a list, the smallest definition level at which the list has an element.
    element_level: i16,
    text_key: String,
}

/// A column that is being read, with the cells of the current batch.
struct Column {
    reader: ColumnReader,
    meaning: Scalar,
    max_def: i16,
    cells: ColumnCells,
}

#[derive(Default)]
struct ColumnCells {
    /// The definition levels of the batch. Empty if the column has no such levels.
    def: Vec<i16>,
    /// The repetition levels of the batch. Empty if the column has no such levels.
    rep: Vec<i16>,
    values: Values,
    /// For each row of the batch, the index of its first level and of its first value. One more pair marks the end.
    starts: Vec<(usize, usize)>,
}

#[derive(Default)]
enum Values {
    #[default]
    None,
    Bytes(Vec<ByteArray>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    I96(Vec<Int96>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl ParquetRows {
    pub(super) fn new(
        table: &ParquetTable,
        input: &Arc<File>,
        group: usize,
        options: &SourceOptions,
    ) -> Result<Self, RejectReason> {
        let schema = table.metadata().file_metadata().schema_descr();
        let column = |field: &Field| Column::new(field, table.column(input, group, field.leaf)?);
        let text = Field::text(schema, &options.text_key, options.raw)?;
        let scalar = |key: Option<&str>| Field::scalar(schema, key).map(|field| column(&field)).transpose();
        Ok(Self {
            text: column(&text)?,
            id: scalar(options.id_key.as_deref())?,
            sort: scalar(options.sort_key.as_deref())?,
            element_level: text.element_level(schema),
            text_key: options.text_key.clone(),
        })
    }

    fn columns(&mut self) -> impl Iterator<Item = &mut Column> {
        [Some(&mut self.text), self.id.as_mut(), self.sort.as_mut()]
            .into_iter()
            .flatten()
    }

    pub(super) fn skip(&mut self, rows: usize) -> Result<(), RejectReason> {
        for column in self.columns() {
            if column.skip(rows)? != rows {
                return Err(broken("a column has fewer rows than the row group"));
            }
        }
        Ok(())
    }

    fn text_of(&self, row: usize) -> Cell<'_> {
        let cells = &self.text.cells;
        let (levels, values) = cells.range(row);
        let list = !cells.rep.is_empty();
        match &cells.values {
            Values::Bytes(bytes) => {
                let mut parts = bytes.get(values).unwrap_or_default().iter().map(ByteArray::data);
                if list {
                    let parts: Vec<_> = parts.collect();
                    let missing = cells
                        .def
                        .get(levels.start)
                        .is_some_and(|&def| def + 1 < self.element_level);
                    return if parts.is_empty() && missing {
                        Cell::Null
                    } else {
                        Cell::List(parts)
                    };
                }
                parts.next().map_or(Cell::Null, Cell::One)
            }
            Values::F32(list) => json(list.get(values)),
            Values::F64(list) => json(list.get(values)),
            _ => Cell::Null,
        }
    }
}

fn json<N: ToString>(list: Option<&[N]>) -> Cell<'static> {
    numbers(list.unwrap_or_default().iter().map(N::to_string))
}

impl RowDecoder for ParquetRows {
    fn next_batch(&mut self, most: usize) -> Result<bool, RejectReason> {
        let wanted = most.min(BATCH_ROWS);
        let read = self.text.read(wanted)?;
        for column in [self.id.as_mut(), self.sort.as_mut()].into_iter().flatten() {
            if column.read(read)? != read {
                return Err(broken("a column has fewer rows than the row group"));
            }
        }
        Ok(read > 0)
    }

    fn each(&self, record_limits: RecordLimits, f: &mut dyn FnMut(u64, RecordKind<'_>)) {
        for row in 0..self.text.cells.starts.len().saturating_sub(1) {
            let id = self.id.as_ref().and_then(|column| column.id(row));
            let sort = self.sort.as_ref().and_then(|column| column.sort_value(row));
            let (length, kind) = record(self.text_of(row), id, sort, &self.text_key, record_limits);
            f(length, kind);
        }
    }
}

impl Column {
    fn new(field: &Field, reader: ColumnReader) -> Result<Self, RejectReason> {
        let values = match &reader {
            ColumnReader::ByteArrayColumnReader(_) => Values::Bytes(Vec::new()),
            ColumnReader::Int32ColumnReader(_) => Values::I32(Vec::new()),
            ColumnReader::Int64ColumnReader(_) => Values::I64(Vec::new()),
            ColumnReader::Int96ColumnReader(_) => Values::I96(Vec::new()),
            ColumnReader::FloatColumnReader(_) => Values::F32(Vec::new()),
            ColumnReader::DoubleColumnReader(_) => Values::F64(Vec::new()),
            _ => return Err(broken("a column changes its type")),
        };
        Ok(Self {
            reader,
            meaning: field.meaning(),
            max_def: field.descriptor.max_def_level(),
            cells: ColumnCells {
                values,
                ..ColumnCells::default()
            },
        })
    }

    /// Reads up to `rows` rows. Returns the number of rows read.
    fn read(&mut self, rows: usize) -> Result<usize, RejectReason> {
        let cells = &mut self.cells;
        cells.def.clear();
        cells.rep.clear();
        let ColumnCells { def, rep, values, .. } = cells;
        let read = match (&mut self.reader, values) {
            (ColumnReader::ByteArrayColumnReader(r), Values::Bytes(v)) => fill(r, rows, def, rep, v),
            (ColumnReader::Int32ColumnReader(r), Values::I32(v)) => fill(r, rows, def, rep, v),
            (ColumnReader::Int64ColumnReader(r), Values::I64(v)) => fill(r, rows, def, rep, v),
            (ColumnReader::Int96ColumnReader(r), Values::I96(v)) => fill(r, rows, def, rep, v),
            (ColumnReader::FloatColumnReader(r), Values::F32(v)) => fill(r, rows, def, rep, v),
            (ColumnReader::DoubleColumnReader(r), Values::F64(v)) => fill(r, rows, def, rep, v),
            _ => Err(broken("a column changes its type")),
        }?;
        cells.find_starts(read, self.max_def);
        Ok(read)
    }

    fn skip(&mut self, rows: usize) -> Result<usize, RejectReason> {
        match &mut self.reader {
            ColumnReader::ByteArrayColumnReader(r) => r.skip_records(rows),
            ColumnReader::Int32ColumnReader(r) => r.skip_records(rows),
            ColumnReader::Int64ColumnReader(r) => r.skip_records(rows),
            ColumnReader::Int96ColumnReader(r) => r.skip_records(rows),
            ColumnReader::FloatColumnReader(r) => r.skip_records(rows),
            ColumnReader::DoubleColumnReader(r) => r.skip_records(rows),
            _ => return Err(broken("a column changes its type")),
        }
        .map_err(broken)
    }

    /// Returns the id in a row: a string, or an integer in decimal.
    fn id(&self, row: usize) -> Option<Cow<'_, str>> {
        let at = self.cells.range(row).1.next()?;
        match (&self.cells.values, self.meaning) {
            (Values::Bytes(v), Scalar::Text) => {
                std::str::from_utf8(v.get(at)?.data()).ok().map(Cow::Borrowed)
            }
            (_, Scalar::Integer { .. }) => self.integer(at).map(|number| Cow::Owned(number.to_string())),
            _ => None,
        }
    }

    fn sort_value(&self, row: usize) -> Option<SortValue> {
        let at = self.cells.range(row).1.next()?;
        match (&self.cells.values, self.meaning) {
            (Values::Bytes(v), Scalar::Text) => {
                let text = std::str::from_utf8(v.get(at)?.data()).ok()?;
                Some(SortValue::Text(text.into()))
            }
            (Values::I32(v), Scalar::Moment(unit)) => Some(moment(i64::from(*v.get(at)?), unit)),
            (Values::I64(v), Scalar::Moment(unit)) => Some(moment(*v.get(at)?, unit)),
            (Values::I96(v), Scalar::Moment(unit)) => Some(moment(v.get(at)?.to_nanos(), unit)),
            (Values::F32(v), Scalar::Real) => real(f64::from(*v.get(at)?)),
            (Values::F64(v), Scalar::Real) => real(*v.get(at)?),
            (_, Scalar::Integer { .. }) => SortValue::number(&self.integer(at)?.to_string()),
            _ => None,
        }
    }

    fn integer(&self, at: usize) -> Option<i128> {
        let signed = self.meaning == Scalar::Integer { signed: true };
        Some(match &self.cells.values {
            Values::I32(v) if signed => i128::from(*v.get(at)?),
            Values::I32(v) => i128::from(v.get(at)?.cast_unsigned()),
            Values::I64(v) if signed => i128::from(*v.get(at)?),
            Values::I64(v) => i128::from(v.get(at)?.cast_unsigned()),
            _ => return None,
        })
    }
}

impl ColumnCells {
    /// Returns the ranges of the levels and of the values of a row.
    fn range(&self, row: usize) -> (std::ops::Range<usize>, std::ops::Range<usize>) {
        match self.starts.get(row..row + 2) {
            Some(&[from, to]) => (from.0..to.0, from.1..to.1),
            _ => (0..0, 0..0),
        }
    }

    fn find_starts(&mut self, rows: usize, max_def: i16) {
        self.starts.clear();
        let levels = if max_def == 0 { rows } else { self.def.len() };
        let mut values = 0;
        for level in 0..levels {
            if self.rep.get(level).is_none_or(|&rep| rep == 0) {
                self.starts.push((level, values));
            }
            values += usize::from(self.def.get(level).is_none_or(|&def| def == max_def));
        }
        self.starts.push((levels, values));
    }
}

fn fill<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    def: &mut Vec<i16>,
    rep: &mut Vec<i16>,
    values: &mut Vec<T::T>,
) -> Result<usize, RejectReason> {
    values.clear();
    let (records, ..) = reader
        .read_records(rows, Some(def), Some(rep), values)
        .map_err(broken)?;
    Ok(records)
}
