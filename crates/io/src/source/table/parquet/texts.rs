//! Reads top-level columns of strings. The names of fingerprints are stored in such columns.

use std::fs::File;
use std::sync::Arc;

use parquet::column::reader::ColumnReader;
use parquet::data_type::ByteArray;

use super::field::{Field, Scalar};
use super::integers::all;
use super::{ParquetTable, broken};
use crate::source::reject::RejectReason;

/// A column of strings at the top level of the schema, with one string per row.
#[derive(Debug)]
pub struct TextColumn {
    leaf: usize,
    max_def: i16,
}

/// Reads the strings of a column in one row group.
pub struct TextReader {
    reader: ColumnReader,
    max_def: i16,
    levels: Vec<i16>,
    values: Vec<ByteArray>,
}

impl ParquetTable {
    /// Finds the column of strings of a name; `None` if there is no such column or its values are not strings.
    pub fn texts(&self, name: &str) -> Option<TextColumn> {
        let schema = self.metadata().file_metadata().schema_descr();
        let field = Field::find(schema, name)?.ok()?;
        let is_text = field.descriptor.max_rep_level() == 0 && field.meaning() == Scalar::Text;
        is_text.then(|| TextColumn {
            leaf: field.leaf,
            max_def: field.descriptor.max_def_level(),
        })
    }

    /// Opens a column of strings of a row group. No other thread may use `input` meanwhile, because it has one file
    /// position.
    ///
    /// # Errors
    /// The column is missing, or its pages are damaged.
    pub fn read_texts(
        &self,
        texts: &TextColumn,
        group: usize,
        input: &Arc<File>,
    ) -> Result<TextReader, RejectReason> {
        Ok(TextReader {
            reader: self.column(input, group, texts.leaf)?,
            max_def: texts.max_def,
            levels: Vec::new(),
            values: Vec::new(),
        })
    }
}

impl TextReader {
    /// Appends the next `rows` strings to `out`. If one of them is null, nothing is appended, and the index of the first
    /// null among them is returned.
    ///
    /// # Errors
    /// The column is damaged, has too few rows, or has a value that is not UTF-8.
    pub fn fill(&mut self, rows: usize, out: &mut Vec<String>) -> Result<Option<usize>, RejectReason> {
        self.levels.clear();
        self.values.clear();
        let ColumnReader::ByteArrayColumnReader(reader) = &mut self.reader else {
            return Err(broken("a column changes its type"));
        };
        let read = all(reader, rows, &mut self.levels, self.max_def > 0, &mut self.values)?;
        if read != rows {
            return Err(broken("a column has fewer rows than the row group"));
        }
        if let Some(null) = self.levels.iter().position(|&level| level < self.max_def) {
            return Ok(Some(null));
        }
        for value in self.values.drain(..) {
            let text = str::from_utf8(value.data()).map_err(|_| broken("a string is not UTF-8"))?;
            out.push(text.to_owned());
        }
        Ok(None)
    }
}
