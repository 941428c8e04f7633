//! Writes rows to a Parquet file.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{
    ByteArray, ByteArrayType, DataType, FixedLenByteArray, FixedLenByteArrayType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::{Column, ColumnKind, RowValue};

/// A row group is written once its longest column has about this number of values.
const GROUP_VALUES: usize = 1 << 18;

/// A Parquet file that is being written.
pub(super) struct Table<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    columns: Vec<ColumnBuffer>,
}

/// The values of one column in the current row group.
struct ColumnBuffer {
    kind: ColumnKind,
    numbers: Vec<i64>,
    small: Vec<i32>,
    wide: Vec<FixedLenByteArray>,
    names: Vec<ByteArray>,
    /// For a list column, the repetition level of each value: 0 for the first value of a list, 1 for the others.
    repetition: Vec<i16>,
    /// For a list column, the definition level of each value: 1 for an element, 0 for an empty list.
    definition: Vec<i16>,
}

impl<W: Write + Send> std::fmt::Debug for Table<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").finish_non_exhaustive()
    }
}

impl<W: Write + Send> Table<W> {
    pub(super) fn create(out: W, columns: &[Column], notes: &[(&str, &str)]) -> io::Result<Self> {
        let field = |&Column { name, kind }: &Column| match kind {
            ColumnKind::Id | ColumnKind::Fingerprint { bits: 33..=64 } => {
                format!("required int64 {name} (integer(64, false));")
            }
            ColumnKind::Distance | ColumnKind::Fingerprint { bits: ..=32 } => {
                format!("required int32 {name} (integer(32, false));")
            }
            ColumnKind::Fingerprint { .. } => format!("required fixed_len_byte_array(16) {name};"),
            ColumnKind::Name => format!("required binary {name} (string);"),
            ColumnKind::Names => format!(
                "required group {name} (list) {{ repeated group list {{ required binary element (string); }} }}"
            ),
            ColumnKind::Ids => format!(
                "required group {name} (list) {{ repeated group list {{ required int64 element (integer(64, false)); }} }}"
            ),
        };
        let fields: String = columns.iter().map(field).collect();
        let notes: Vec<KeyValue> = notes
            .iter()
            .map(|&(key, value)| KeyValue::new(key.to_owned(), value.to_owned()))
            .collect();
        let properties = WriterProperties::builder()
            .set_created_by(concat!("twinprint version ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_key_value_metadata((!notes.is_empty()).then_some(notes))
            .build();
        let writer = parse_message_type(&format!("message rows {{ {fields} }}"))
            .and_then(|schema| SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties)))
            .map_err(failed)?;
        let cells = |column: &Column| ColumnBuffer {
            kind: column.kind,
            numbers: Vec::new(),
            small: Vec::new(),
            wide: Vec::new(),
            names: Vec::new(),
            repetition: Vec::new(),
            definition: Vec::new(),
        };
        Ok(Self {
            writer,
            columns: columns.iter().map(cells).collect(),
        })
    }

    pub(super) fn row(&mut self, values: &[RowValue<'_>]) -> io::Result<()> {
        let mut longest = 0;
        for (cells, value) in self.columns.iter_mut().zip(values) {
            cells.push(value);
            longest = longest.max(cells.len());
        }
        if longest >= GROUP_VALUES {
            self.flush()
        } else {
            Ok(())
        }
    }

    pub(super) fn finish(mut self) -> io::Result<W> {
        self.flush()?;
        self.writer.into_inner().map_err(failed)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.columns.iter().all(|cells| cells.len() == 0) {
            return Ok(());
        }
        let mut group = self.writer.next_row_group().map_err(failed)?;
        for cells in &mut self.columns {
            cells.write(&mut group).map_err(failed)?;
        }
        group.close().map_err(failed)?;
        Ok(())
    }
}

impl ColumnBuffer {
    fn len(&self) -> usize {
        let lengths = [
            self.numbers.len(),
            self.small.len(),
            self.wide.len(),
            self.names.len(),
        ];
        lengths.into_iter().max().unwrap_or_default()
    }

    fn push(&mut self, value: &RowValue<'_>) {
        match value {
            &RowValue::Number(number) if self.kind == ColumnKind::Distance => self.small.push(number as i32),
            RowValue::Number(number) => self.numbers.push(number.cast_signed()),
            &RowValue::Fingerprint(fingerprint) => match self.kind {
                ColumnKind::Fingerprint { bits: ..=32 } => self.small.push(fingerprint as i32),
                ColumnKind::Fingerprint { bits: 33..=64 } => self.numbers.push(fingerprint as i64),
                _ => {
                    let bytes = fingerprint.to_be_bytes().to_vec();
                    self.wide.push(FixedLenByteArray::from(bytes));
                }
            },
            RowValue::Name(name) => self.names.push(ByteArray::from(*name)),
            RowValue::Numbers(numbers) => {
                self.numbers.extend(numbers.iter().map(|n| n.cast_signed()));
                self.list(numbers.len());
            }
            RowValue::Names(names) => {
                self.names.extend(names.iter().map(|name| ByteArray::from(*name)));
                self.list(names.len());
            }
        }
    }

    /// Appends the levels of a list of `length` values. An empty list is encoded as a level without a value.
    fn list(&mut self, length: usize) {
        let places = length.max(1);
        self.repetition
            .extend((0..places).map(|place| i16::from(place > 0)));
        self.definition
            .extend((0..places).map(|place| i16::from(place < length)));
    }

    fn write<W: Write + Send>(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        match self.kind {
            ColumnKind::Distance | ColumnKind::Fingerprint { bits: ..=32 } => {
                column::<_, Int32Type>(group, &self.small, None)?;
            }
            ColumnKind::Fingerprint { bits: 65.. } => {
                column::<_, FixedLenByteArrayType>(group, &self.wide, None)?;
            }
            ColumnKind::Name => column::<_, ByteArrayType>(group, &self.names, None)?,
            ColumnKind::Id | ColumnKind::Fingerprint { .. } => {
                column::<_, Int64Type>(group, &self.numbers, None)?;
            }
            ColumnKind::Names => {
                let levels = Some((&self.definition[..], &self.repetition[..]));
                column::<_, ByteArrayType>(group, &self.names, levels)?;
            }
            ColumnKind::Ids => {
                let levels = Some((&self.definition[..], &self.repetition[..]));
                column::<_, Int64Type>(group, &self.numbers, levels)?;
            }
        }
        self.small.clear();
        self.wide.clear();
        self.names.clear();
        self.numbers.clear();
        self.repetition.clear();
        self.definition.clear();
        Ok(())
    }
}

fn column<W: Write + Send, T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    levels: Option<(&[i16], &[i16])>,
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General("the schema has fewer columns".to_owned());
    let mut column = group.next_column()?.ok_or_else(missing)?;
    let (definition, repetition) = levels.unzip();
    column.typed::<T>().write_batch(values, definition, repetition)?;
    column.close()
}

/// Extracts the error of the system from an error of the Parquet writer.
fn failed(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(system) => *system,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}
