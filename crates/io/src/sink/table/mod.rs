//! Writes the rows of a table again, to one table of what is kept and one of what is removed.
//!
//! A table cannot be cut by bytes, so that it is written anew once the fates of all its rows are known: same schema, same
//! metadata, same codecs, the values as they were. The table of kept rows is always there, if only with the schema; that of
//! removed rows only if there are any. Of a run that annotates there is one table, which has further columns.

mod added;
mod arrow;
mod parquet;

use std::sync::Arc;

use self::added::Added;
use super::changed::{changed, unchanged};
use super::copy::{Fate, Written};
use super::dir::OutputDir;
use super::edit::Edit;
use super::error::SinkError;
use super::records::place;
use crate::source::{RowRange, SourceFile, Sources, Table};

pub use self::parquet::write_failed as parquet_failed;

/// The rows of one table, as their fates become known.
pub(super) struct TableCopy<'a> {
    table: Arc<Table>,
    /// By row. Rows that were lost have none and go nowhere, like those beyond the end.
    fates: Vec<Fate>,
    added: Option<Added<'a>>,
}

impl<'a> TableCopy<'a> {
    pub(super) fn new(table: &Arc<Table>, edit: Option<&'a dyn Edit>) -> Self {
        Self {
            table: Arc::clone(table),
            fates: Vec::new(),
            added: edit.map(Added::new),
        }
    }

    /// Notes the fates of a stretch's rows, the first of which has the ordinal `ordinal`.
    pub(super) fn note(&mut self, row_range: &RowRange, ordinal: u64, fate: &dyn Fn(u64) -> Fate) {
        self.fates.resize(row_range.rows.start as usize, Fate::Reject);
        let rows = row_range.rows.end - row_range.rows.start;
        self.fates.extend((ordinal..ordinal + rows).map(fate));
        if let Some(added) = &mut self.added {
            added.note(row_range.rows.start, ordinal);
        }
    }

    /// Writes both tables, at once where there are threads for it; rows that are not removed go where `main` says.
    pub(super) fn finish(
        &self,
        input: &SourceFile,
        sources: &Sources,
        out: &OutputDir,
        main: Fate,
    ) -> Result<Written, SinkError> {
        // What the table was planned from must be what is read now.
        unchanged(input)?;
        let rows = |fate| self.fates.iter().filter(|&&this| this == fate).count() as u64;
        let (kept, removed) = (rows(main), rows(Fate::Remove));
        let write = |fate| {
            let job = Job {
                input,
                fates: &self.fates,
                fate,
                sources,
                added: self.added.as_ref(),
            };
            job.write(&self.table, out)
        };
        let (kept_bytes, removed_bytes) = rayon::join(
            || write(main),
            || if removed == 0 { Ok(0) } else { write(Fate::Remove) },
        );
        let written = Written {
            kept_bytes: kept_bytes?,
            removed_bytes: removed_bytes?,
            kept_records: kept,
            removed_records: removed,
            ..Written::default()
        };
        unchanged(input)?;
        Ok(written)
    }
}

/// Writes the rows of one fate.
struct Job<'j> {
    input: &'j SourceFile,
    fates: &'j [Fate],
    fate: Fate,
    sources: &'j Sources,
    added: Option<&'j Added<'j>>,
}

impl Job<'_> {
    fn write(&self, table: &Table, out: &OutputDir) -> Result<u64, SinkError> {
        let mut columns = self.added.into_iter().flat_map(Added::columns);
        if let Some((name, _)) = columns.find(|(name, _)| table.has_column(name)) {
            return Err(SinkError::FieldClash {
                place: self.input.label.clone(),
                name: name.clone(),
            });
        }
        let file = out.file(place(self.input, self.fate))?;
        match table {
            Table::Arrow(table) => arrow::write(self, table, file),
            Table::Parquet(table) => parquet::write(self, table, file),
        }
    }

    /// Which of the rows are wanted. Rows beyond the last fate are not.
    fn wanted(&self, row: u64) -> bool {
        self.fates.get(row as usize) == Some(&self.fate)
    }

    fn check_cancelled(&self) -> Result<(), SinkError> {
        if self.sources.cancelled() {
            Err(SinkError::Cancelled)
        } else {
            Ok(())
        }
    }

    /// The error for rows that could be read for their text, but not as a whole.
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
