//! Columns that a table gets beside its own.
//!
//! They come last, at the top level, and may be null, as other writers leave their columns.

use serde_json::Value;

use crate::sink::edit::{Edit, Kind};

/// The values of added columns, by row.
pub(super) struct Added<'a> {
    edit: &'a dyn Edit,
    /// First row and its ordinal of each stretch, in order of rows.
    stretches: Vec<(u64, u64)>,
}

/// Some values of one column.
pub(super) enum Values {
    Integers(Vec<Option<i64>>),
    Reals(Vec<Option<f64>>),
    Booleans(Vec<Option<bool>>),
    Texts(Vec<Option<String>>),
}

impl<'a> Added<'a> {
    pub(super) fn new(edit: &'a dyn Edit) -> Self {
        Self {
            edit,
            stretches: Vec::new(),
        }
    }

    /// Notes that the rows from `row` on have the ordinals from `ordinal` on.
    pub(super) fn note(&mut self, row: u64, ordinal: u64) {
        self.stretches.push((row, ordinal));
    }

    /// Names and kinds.
    pub(super) fn columns(&self) -> &'a [(String, Kind)] {
        self.edit.columns()
    }

    /// What a column holds in some rows that were noted. It computes what all columns hold there.
    pub(super) fn values(&self, column: usize, kind: Kind, rows: impl Iterator<Item = u64>) -> Values {
        let values = rows.map(|row| {
            let mut values = self.edit.values(self.ordinal(row));
            values.get_mut(column).map_or(Value::Null, Value::take)
        });
        match kind {
            Kind::Integer => Values::Integers(values.map(|value| value.as_i64()).collect()),
            Kind::Real => Values::Reals(values.map(|value| value.as_f64()).collect()),
            Kind::Boolean => Values::Booleans(values.map(|value| value.as_bool()).collect()),
            Kind::Text => Values::Texts(
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
        let after = self.stretches.partition_point(|&(first, _)| first <= row);
        let stretch = after.checked_sub(1).and_then(|at| self.stretches.get(at));
        stretch.map_or(u64::MAX, |&(first, ordinal)| ordinal + (row - first))
    }
}
