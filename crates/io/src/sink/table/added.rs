//! Columns that are added to a table.
//!
//! They are the last columns, at the top level, and may be null, as most writers declare their columns.

use serde_json::Value;

use crate::sink::edit::{ColumnType, Edit};

/// The values of added columns, by row.
pub(super) struct AddedColumns<'a> {
    edit: &'a dyn Edit,
    /// The starts of the ranges of rows with consecutive ordinals, in order of rows.
    stretches: Vec<StretchStart>,
}

/// The start of a range of rows with consecutive ordinals.
struct StretchStart {
    row: u64,
    ordinal: u64,
}

/// Some values of one column.
pub(super) enum ColumnValues {
    Integers(Vec<Option<i64>>),
    Reals(Vec<Option<f64>>),
    Booleans(Vec<Option<bool>>),
    Texts(Vec<Option<String>>),
}

impl<'a> AddedColumns<'a> {
    pub(super) fn new(edit: &'a dyn Edit) -> Self {
        Self {
            edit,
            stretches: Vec::new(),
        }
    }

    /// Adds a range: the rows from `row` on have the ordinals from `ordinal` on.
    pub(super) fn note(&mut self, row: u64, ordinal: u64) {
        self.stretches.push(StretchStart { row, ordinal });
    }

    /// The names and types of the columns.
    pub(super) fn columns(&self) -> &'a [(String, ColumnType)] {
        self.edit.columns()
    }

    /// The values of a column in some rows. The values of all columns are computed for each row.
    pub(super) fn values(
        &self,
        column: usize,
        kind: ColumnType,
        rows: impl Iterator<Item = u64>,
    ) -> ColumnValues {
        let values = rows.map(|row| {
            let mut values = self.edit.values(self.ordinal(row));
            values.get_mut(column).map_or(Value::Null, Value::take)
        });
        match kind {
            ColumnType::Integer => ColumnValues::Integers(values.map(|value| value.as_i64()).collect()),
            ColumnType::Real => ColumnValues::Reals(values.map(|value| value.as_f64()).collect()),
            ColumnType::Boolean => ColumnValues::Booleans(values.map(|value| value.as_bool()).collect()),
            ColumnType::Text => ColumnValues::Texts(
                values
                    .map(|value| match value {
                        Value::String(text) => Some(text),
                        _ => None,
                    })
                    .collect(),
            ),
        }
    }

    fn ordinal(&self, row: u64) -> u64 {
        let after = self.stretches.partition_point(|start| start.row <= row);
        let stretch = after.checked_sub(1).and_then(|last| self.stretches.get(last));
        stretch.map_or(u64::MAX, |start| start.ordinal + (row - start.row))
    }
}
