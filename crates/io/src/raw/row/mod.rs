//! Rows about fingerprints and ids, in four forms.
//!
//! * JSON lines: an object a row. A fingerprint is 16 hexadecimal digits, several ids an array.
//! * CSV: a header and a line a row. A fingerprint is 16 hexadecimal digits, several ids are parted by blanks.
//! * Parquet: a fingerprint and an id are unsigned numbers of 64 bits, a distance one of 32, several ids a list.
//! * bin: numbers of 64 bits, little-endian, in the order of the columns; before several ids stands how many they are.

#[cfg(feature = "tables")]
mod table;

use std::io::{self, BufWriter, Write};

#[cfg(feature = "tables")]
use self::table::Table;

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowForm {
    /// JSON lines.
    Jsonl,
    /// Comma-separated values with a header.
    Csv,
    /// Parquet.
    #[cfg(feature = "tables")]
    Parquet,
    /// Numbers of 64 bits, little-endian.
    Bin,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An id or a position.
    Id,
    /// Several ids.
    Ids,
    /// A fingerprint.
    Fingerprint,
    /// A Hamming distance.
    Distance,
    /// A name; there is no binary form of it.
    Name,
}

/// A column of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column(pub &'static str, pub Kind);

/// What stands in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'v> {
    /// Of an id, a fingerprint or a distance.
    Number(u64),
    /// Of several ids.
    Numbers(&'v [u64]),
    /// Of a name.
    Name(&'v str),
}

/// Why rows cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RowError {
    /// The system refused.
    #[error("the rows cannot be written")]
    Io(#[from] io::Error),
    /// A binary form of names does not exist.
    #[error("the column \"{0}\" holds names, for which there is no binary form; take another --format")]
    NoBinary(&'static str),
    /// A row has values of other kinds than the columns.
    #[error("a row does not fit the column \"{0}\"")]
    Unfit(&'static str),
}

/// Writes rows of the same columns.
#[derive(Debug)]
pub struct RowWriter<W: Write + Send> {
    columns: &'static [Column],
    out: Out<W>,
    /// The row being written, used again.
    row: Vec<u8>,
    rows: u64,
}

#[derive(Debug)]
enum Out<W: Write + Send> {
    Jsonl(BufWriter<W>),
    Csv(BufWriter<W>),
    Bin(BufWriter<W>),
    #[cfg(feature = "tables")]
    Parquet(Box<Table<BufWriter<W>>>),
}

impl<W: Write + Send> RowWriter<W> {
    /// Begins: a CSV file has its header at once. `notes` are kept in a Parquet file's metadata; other forms have no place for them.
    ///
    /// # Errors
    /// A name in binary form; what the system says.
    pub fn new(
        out: W,
        form: RowForm,
        columns: &'static [Column],
        #[cfg_attr(
            not(feature = "tables"),
            expect(unused_variables, reason = "other forms have none")
        )]
        notes: &[(&str, &str)],
    ) -> Result<Self, RowError> {
        let mut out = BufWriter::with_capacity(1 << 16, out);
        let out = match form {
            RowForm::Jsonl => Out::Jsonl(out),
            RowForm::Csv => {
                let names: Vec<&str> = columns.iter().map(|column| column.0).collect();
                writeln!(out, "{}", names.join(","))?;
                Out::Csv(out)
            }
            RowForm::Bin => match columns.iter().find(|column| column.1 == Kind::Name) {
                Some(column) => return Err(RowError::NoBinary(column.0)),
                None => Out::Bin(out),
            },
            #[cfg(feature = "tables")]
            RowForm::Parquet => Out::Parquet(Box::new(Table::create(out, columns, notes)?)),
        };
        Ok(Self {
            columns,
            out,
            row: Vec::new(),
            rows: 0,
        })
    }

    /// Writes a row, a value for each column.
    ///
    /// # Errors
    /// What the system says; values that are not those of the columns.
    pub fn row(&mut self, values: &[Value<'_>]) -> Result<(), RowError> {
        let cells = || self.columns.iter().zip(values);
        if let Some((column, _)) = cells().find(|(column, value)| !fits(column.1, value)) {
            return Err(RowError::Unfit(column.0));
        }
        self.rows += 1;
        self.row.clear();
        match &mut self.out {
            Out::Jsonl(out) => {
                for (i, (&Column(name, kind), value)) in cells().enumerate() {
                    let before = if i == 0 { '{' } else { ',' };
                    write!(self.row, "{before}\"{name}\":")?;
                    json(&mut self.row, kind, value)?;
                }
                self.row.extend(b"}\n");
                out.write_all(&self.row)?;
            }
            Out::Csv(out) => {
                for (i, (&Column(_, kind), value)) in cells().enumerate() {
                    if i > 0 {
                        self.row.push(b',');
                    }
                    csv(&mut self.row, kind, value)?;
                }
                self.row.push(b'\n');
                out.write_all(&self.row)?;
            }
            Out::Bin(out) => {
                for value in values {
                    match value {
                        Value::Number(number) => self.row.extend(number.to_le_bytes()),
                        Value::Numbers(numbers) => {
                            self.row.extend((numbers.len() as u64).to_le_bytes());
                            self.row.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
                        }
                        Value::Name(_) => {}
                    }
                }
                out.write_all(&self.row)?;
            }
            #[cfg(feature = "tables")]
            Out::Parquet(table) => table.row(values)?,
        }
        Ok(())
    }

    /// Rows written.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Writes what is left and gives back where it was written to.
    ///
    /// # Errors
    /// What the system says.
    pub fn finish(self) -> Result<W, RowError> {
        let out = match self.out {
            Out::Jsonl(out) | Out::Csv(out) | Out::Bin(out) => out,
            #[cfg(feature = "tables")]
            Out::Parquet(table) => table.finish()?,
        };
        let mut inner = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        inner.flush()?;
        Ok(inner)
    }
}

fn fits(kind: Kind, value: &Value<'_>) -> bool {
    match value {
        Value::Number(_) => matches!(kind, Kind::Id | Kind::Fingerprint | Kind::Distance),
        Value::Numbers(_) => kind == Kind::Ids,
        Value::Name(_) => kind == Kind::Name,
    }
}

fn json(to: &mut Vec<u8>, kind: Kind, value: &Value<'_>) -> io::Result<()> {
    match value {
        Value::Number(number) if kind == Kind::Fingerprint => write!(to, "\"{number:016x}\""),
        Value::Number(number) => write!(to, "{number}"),
        Value::Numbers(numbers) => {
            to.push(b'[');
            joined(to, numbers, ',')?;
            to.push(b']');
            Ok(())
        }
        Value::Name(name) => Ok(serde_json::to_writer(to, name)?),
    }
}

fn csv(to: &mut Vec<u8>, kind: Kind, value: &Value<'_>) -> io::Result<()> {
    match value {
        Value::Number(number) if kind == Kind::Fingerprint => write!(to, "{number:016x}"),
        Value::Number(number) => write!(to, "{number}"),
        Value::Numbers(numbers) => joined(to, numbers, ' '),
        Value::Name(name) if name.contains([',', '"', '\n', '\r']) => {
            write!(to, "\"{}\"", name.replace('"', "\"\""))
        }
        Value::Name(name) => write!(to, "{name}"),
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
