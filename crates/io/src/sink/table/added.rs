//! Columns that are added to a table while it is copied.
//!
//! The added columns come last, at the top level of the schema. They are nullable, like the columns of most writers.

use serde_json::Value;

use crate::sink::edit::{ColumnType, Edit};

/// Computes the values of the added columns in each row.
pub(super) struct AddedColumns<'a> {
    edit: &'a dyn Edit,
    /// The starts of the ranges of rows whose ordinals are consecutive, in the order of the rows.
    stretches: Vec<StretchStart>,
}

/// The first row of a range of rows with consecutive ordinals, and its ordinal.
struct StretchStart {
    row: u64,
    ordinal: u64,
}

/// The values of one added column in some rows.
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

    /// Adds a range of rows: row `row` has the ordinal `ordinal`, and the rows after it have the ordinals that follow.
    pub(super) fn note(&mut self, row: u64, ordinal: u64) {
        self.stretches.push(StretchStart { row, ordinal });
    }

    /// The names and types of the added columns.
    pub(super) fn columns(&self) -> &'a [(String, ColumnType)] {
        self.edit.columns()
    }

    /// Returns the values of an added column in the given rows. For each row the values of all added columns are
    /// computed.
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
