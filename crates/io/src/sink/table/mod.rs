//! Copies the rows of a table to two tables: one with the kept rows and one with the removed rows.
//!
//! A table cannot be split by bytes. It is rewritten once the actions on all its rows are known, with the same schema,
//! metadata, codecs and values. The table of kept rows is always written, even if it has no rows. The table of removed
//! rows is written only if it has rows. A run that annotates writes a single table, with added columns.

mod added;
mod arrow;
mod column;
mod parquet;

use std::sync::Arc;

use self::added::AddedColumns;
use super::action::{CopyCounts, RecordAction, output_path};
use super::changed::{changed, unchanged};
use super::dir::OutputDir;
use super::edit::Edit;
use super::error::SinkError;
use crate::source::{RowRange, SourceFile, Sources, Table};

pub use self::column::{ColumnValues, write_column};
pub use self::parquet::write_failed as parquet_failed;

/// Collects the actions on the rows of one table while the table is read.
pub(super) struct TableCopy<'a> {
    table: Arc<Table>,
    /// The action on each row. A row that could not be read has the action [`RecordAction::Reject`] and is not written.
    /// The same holds for rows beyond the end of this list.
    actions: Vec<RecordAction>,
    added: Option<AddedColumns<'a>>,
}

impl<'a> TableCopy<'a> {
    pub(super) fn new(table: &Arc<Table>, edit: Option<&'a dyn Edit>) -> Self {
        Self {
            table: Arc::clone(table),
            actions: Vec::new(),
            added: edit.map(AddedColumns::new),
        }
    }

    /// Adds the actions on a range of rows. `ordinal` is the ordinal of the first row.
    pub(super) fn note(&mut self, row_range: &RowRange, ordinal: u64, action: &dyn Fn(u64) -> RecordAction) {
        self.actions
            .resize(row_range.rows.start as usize, RecordAction::Reject);
        let rows = row_range.rows.end - row_range.rows.start;
        self.actions.extend((ordinal..ordinal + rows).map(action));
        if let Some(added) = &mut self.added {
            added.note(row_range.rows.start, ordinal);
        }
    }

    /// Writes both tables, in parallel if threads are free. `main` is the action of the rows that are not removed.
    pub(super) fn finish(
        &self,
        input: &SourceFile,
        sources: &Sources,
        out: &OutputDir,
        main: RecordAction,
    ) -> Result<CopyCounts, SinkError> {
        // The rows that are read now must be the rows for which the actions were decided.
        unchanged(input)?;
        let rows = |action| self.actions.iter().filter(|&&this| this == action).count() as u64;
        let (kept, removed) = (rows(main), rows(RecordAction::Remove));
        let write = |action| {
            let job = TableJob {
                input,
                actions: &self.actions,
                action,
                sources,
                added: self.added.as_ref(),
            };
            job.write(&self.table, out)
        };
        let (kept_bytes, removed_bytes) = rayon::join(
            || write(main),
            || {
                if removed == 0 {
                    Ok(0)
                } else {
                    write(RecordAction::Remove)
                }
            },
        );
        let written = CopyCounts {
            kept_bytes: kept_bytes?,
            removed_bytes: removed_bytes?,
            kept_records: kept,
            removed_records: removed,
            ..CopyCounts::default()
        };
        unchanged(input)?;
        Ok(written)
    }
}

/// Writes the rows of a table that have a certain action.
struct TableJob<'j> {
    input: &'j SourceFile,
    actions: &'j [RecordAction],
    action: RecordAction,
    sources: &'j Sources,
    added: Option<&'j AddedColumns<'j>>,
}

impl TableJob<'_> {
    fn write(&self, table: &Table, out: &OutputDir) -> Result<u64, SinkError> {
        let mut columns = self.added.into_iter().flat_map(AddedColumns::columns);
        if let Some((name, _)) = columns.find(|(name, _)| table.has_column(name)) {
            return Err(SinkError::FieldClash {
                place: self.input.label.clone(),
                name: name.clone(),
            });
        }
        let file = out.file(output_path(self.input, self.action))?;
        match table {
            Table::Arrow(table) => arrow::write(self, table, file),
            Table::Parquet(table) => parquet::write(self, table, file),
        }
    }

    /// Returns true if a row has the action of this job, so that it is written. Rows without an action are not written.
    fn wanted(&self, row: u64) -> bool {
        self.actions.get(row as usize) == Some(&self.action)
    }

    fn check_cancelled(&self) -> Result<(), SinkError> {
        if self.sources.cancelled() {
            Err(SinkError::Cancelled)
        } else {
            Ok(())
        }
    }

    /// Returns the error for a table whose texts could be read, but which has a damaged column.
    fn damaged(&self, what: impl std::fmt::Display) -> SinkError {
        SinkError::Damaged {
            label: self.input.label.clone(),
            what: what.to_string(),
        }
    }

    fn fewer_rows(&self) -> SinkError {
        changed(self.input, "it has fewer rows than before".to_owned())
    }
}
