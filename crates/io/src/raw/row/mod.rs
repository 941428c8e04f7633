//! Writes rows about fingerprints and ids, in one of four formats.
//!
//! * JSON lines: an object for each row. A fingerprint is hexadecimal digits, one for each 4 bits of its width, and
//!   several ids are an array.
//! * CSV: a header, and a line for each row. A fingerprint is hexadecimal digits as in JSON lines, and several ids are
//!   separated by spaces. Several names are an array as in JSON lines.
//! * Parquet: ids are unsigned 64-bit integers, distances are unsigned 32-bit integers, and several ids are a list.
//!   Fingerprints are unsigned integers of 32 or 64 bits. A fingerprint of 128 bits is 16 bytes of fixed length, the
//!   most significant byte first.
//! * bin: 64-bit little-endian integers, in the order of the columns. A fingerprint of 128 bits is two of them, the low
//!   one first. A column of several ids is preceded by their number.

#[cfg(feature = "tables")]
mod table;

use std::io::{self, BufWriter, Write};

#[cfg(feature = "tables")]
use self::table::Table;

/// The format in which rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFormat {
    /// JSON lines.
    Jsonl,
    /// CSV with a header.
    Csv,
    /// Parquet.
    #[cfg(feature = "tables")]
    Parquet,
    /// 64-bit little-endian integers.
    Bin,
}

/// The kind of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// An id.
    Id,
    /// Several ids.
    Ids,
    /// A fingerprint.
    Fingerprint {
        /// The width of the fingerprints, in bits: at most 128.
        bits: u32,
    },
    /// A Hamming distance.
    Distance,
    /// A name. The binary format has no representation of names.
    Name,
    /// Several names.
    Names,
}

/// A column of the rows that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The name of the column.
    pub name: &'static str,
    /// The kind of its values.
    pub kind: ColumnKind,
}

impl Column {
    /// Creates a column of this name and kind.
    pub const fn new(name: &'static str, kind: ColumnKind) -> Self {
        Self { name, kind }
    }
}

/// A value in one column of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowValue<'v> {
    /// An id or a distance.
    Number(u64),
    /// A fingerprint in the low bits, with zeros above its width.
    Fingerprint(u128),
    /// Several ids.
    Numbers(&'v [u64]),
    /// A name.
    Name(&'v str),
    /// Several names.
    Names(&'v [&'v str]),
}

/// The rows cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RowError {
    /// The system reported an error while the rows were written.
    #[error("the rows cannot be written")]
    Io(#[from] io::Error),
    /// The binary format was chosen for rows that have a column of names, which it cannot represent.
    #[error(
        "the column \"{0}\" contains names, which the binary format cannot represent; choose another format"
    )]
    NoBinary(&'static str),
    /// A value of a row is not of the type of its column, such as a name in a column of ids.
    #[error(
        "a row cannot be written, because its value for the column \"{0}\" is of another type than the column"
    )]
    Unfit(&'static str),
}

/// Writes rows that all have the same columns.
///
/// ```
/// use twinprint_io::raw::{Column, ColumnKind, RowFormat, RowValue, RowWriter};
///
/// const COLUMNS: &[Column] = &[
///     Column::new("id", ColumnKind::Id),
///     Column::new("fingerprint", ColumnKind::Fingerprint { bits: 64 }),
/// ];
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut writer = RowWriter::new(Vec::new(), RowFormat::Csv, COLUMNS, &[])?;
/// writer.row(&[RowValue::Number(17), RowValue::Fingerprint(0xff)])?;
/// assert_eq!(writer.finish()?, b"id,fingerprint\n17,00000000000000ff\n");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct RowWriter<W: Write + Send> {
    columns: &'static [Column],
    out: RowSink<W>,
    /// The buffer in which the current row is encoded.
    row: Vec<u8>,
    rows: u64,
}

#[derive(Debug)]
enum RowSink<W: Write + Send> {
    Jsonl(BufWriter<W>),
    Csv(BufWriter<W>),
    Bin(BufWriter<W>),
    #[cfg(feature = "tables")]
    Parquet(Box<Table<BufWriter<W>>>),
}

impl<W: Write + Send> RowWriter<W> {
    /// Starts the output. A CSV header is written at once. `notes` are keys and values for the metadata of a Parquet
    /// file; other formats ignore them.
    ///
    /// # Errors
    /// [`RowError::NoBinary`]; [`RowError::Io`].
    pub fn new(
        out: W,
        form: RowFormat,
        columns: &'static [Column],
        #[cfg_attr(
            not(feature = "tables"),
            expect(unused_variables, reason = "other forms have none")
        )]
        notes: &[(&str, &str)],
    ) -> Result<Self, RowError> {
        let mut out = BufWriter::with_capacity(1 << 16, out);
        let out = match form {
            RowFormat::Jsonl => RowSink::Jsonl(out),
            RowFormat::Csv => {
                let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
                writeln!(out, "{}", names.join(","))?;
                RowSink::Csv(out)
            }
            RowFormat::Bin => {
                let has_names =
                    |column: &&Column| matches!(column.kind, ColumnKind::Name | ColumnKind::Names);
                match columns.iter().find(has_names) {
                    Some(column) => return Err(RowError::NoBinary(column.name)),
                    None => RowSink::Bin(out),
                }
            }
            #[cfg(feature = "tables")]
            RowFormat::Parquet => RowSink::Parquet(Box::new(Table::create(out, columns, notes)?)),
        };
        Ok(Self {
            columns,
            out,
            row: Vec::new(),
            rows: 0,
        })
    }

    /// Writes a row. `values` has one value for each column, in the order of the columns.
    ///
    /// # Errors
    /// [`RowError::Unfit`]; [`RowError::Io`].
    pub fn row(&mut self, values: &[RowValue<'_>]) -> Result<(), RowError> {
        let cells = || self.columns.iter().zip(values);
        if let Some((column, _)) = cells().find(|(column, value)| !fits(column.kind, value)) {
            return Err(RowError::Unfit(column.name));
        }
        self.rows += 1;
        self.row.clear();
        match &mut self.out {
            RowSink::Jsonl(out) => {
                for (i, (&Column { name, kind }, value)) in cells().enumerate() {
                    let before = if i == 0 { '{' } else { ',' };
                    write!(self.row, "{before}\"{name}\":")?;
                    json(&mut self.row, kind, value)?;
                }
                self.row.extend(b"}\n");
                out.write_all(&self.row)?;
            }
            RowSink::Csv(out) => {
                for (i, (&Column { kind, .. }, value)) in cells().enumerate() {
                    if i > 0 {
                        self.row.push(b',');
                    }
                    csv(&mut self.row, kind, value)?;
                }
                self.row.push(b'\n');
                out.write_all(&self.row)?;
            }
            RowSink::Bin(out) => {
                for (&Column { kind, .. }, value) in cells() {
                    match value {
                        RowValue::Number(number) => self.row.extend(number.to_le_bytes()),
                        RowValue::Fingerprint(fingerprint) => {
                            let bytes = if is_wide(kind) { 16 } else { 8 };
                            self.row.extend(&fingerprint.to_le_bytes()[..bytes]);
                        }
                        RowValue::Numbers(numbers) => {
                            self.row.extend((numbers.len() as u64).to_le_bytes());
                            self.row.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
                        }
                        RowValue::Name(_) | RowValue::Names(_) => {}
                    }
                }
                out.write_all(&self.row)?;
            }
            #[cfg(feature = "tables")]
            RowSink::Parquet(table) => table.row(values)?,
        }
        Ok(())
    }

    /// The number of rows written so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Writes the rows that are still buffered and returns the underlying writer.
    ///
    /// # Errors
    /// [`RowError::Io`].
    pub fn finish(self) -> Result<W, RowError> {
        let out = match self.out {
            RowSink::Jsonl(out) | RowSink::Csv(out) | RowSink::Bin(out) => out,
            #[cfg(feature = "tables")]
            RowSink::Parquet(table) => table.finish()?,
        };
        let mut inner = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        inner.flush()?;
        Ok(inner)
    }
}

fn fits(kind: ColumnKind, value: &RowValue<'_>) -> bool {
    match value {
        RowValue::Number(_) => matches!(kind, ColumnKind::Id | ColumnKind::Distance),
        RowValue::Fingerprint(_) => matches!(kind, ColumnKind::Fingerprint { .. }),
        RowValue::Numbers(_) => kind == ColumnKind::Ids,
        RowValue::Name(_) => kind == ColumnKind::Name,
        RowValue::Names(_) => kind == ColumnKind::Names,
    }
}

/// Returns true for a column of fingerprints of more than 64 bits.
fn is_wide(kind: ColumnKind) -> bool {
    matches!(kind, ColumnKind::Fingerprint { bits } if bits > u64::BITS)
}

/// The number of hexadecimal digits of a fingerprint in a column of this kind.
fn digits(kind: ColumnKind) -> usize {
    match kind {
        ColumnKind::Fingerprint { bits } => bits.div_ceil(4) as usize,
        _ => 0,
    }
}

fn json(to: &mut Vec<u8>, kind: ColumnKind, value: &RowValue<'_>) -> io::Result<()> {
    match value {
        RowValue::Number(number) => write!(to, "{number}"),
        RowValue::Fingerprint(fingerprint) => {
            write!(to, "\"{fingerprint:0digits$x}\"", digits = digits(kind))
        }
        RowValue::Numbers(numbers) => {
            to.push(b'[');
            joined(to, numbers, ',')?;
            to.push(b']');
            Ok(())
        }
        RowValue::Name(name) => Ok(serde_json::to_writer(to, name)?),
        RowValue::Names(names) => Ok(serde_json::to_writer(to, names)?),
    }
}

fn csv(to: &mut Vec<u8>, kind: ColumnKind, value: &RowValue<'_>) -> io::Result<()> {
    match value {
        RowValue::Number(number) => write!(to, "{number}"),
        RowValue::Fingerprint(fingerprint) => write!(to, "{fingerprint:0digits$x}", digits = digits(kind)),
        RowValue::Numbers(numbers) => joined(to, numbers, ' '),
        RowValue::Name(name) => csv_text(to, name),
        RowValue::Names(names) => csv_text(to, &serde_json::to_string(names)?),
    }
}

fn csv_text(to: &mut Vec<u8>, text: &str) -> io::Result<()> {
    if text.contains([',', '"', '\n', '\r']) {
        write!(to, "\"{}\"", text.replace('"', "\"\""))
    } else {
        write!(to, "{text}")
    }
}

fn joined(to: &mut Vec<u8>, numbers: &[u64], between: char) -> io::Result<()> {
    for (i, number) in numbers.iter().enumerate() {
        if i > 0 {
            write!(to, "{between}")?;
        }
        write!(to, "{number}")?;
    }
    Ok(())
}
