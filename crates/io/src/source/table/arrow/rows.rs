//! Decodes the text, the id and the sort value of each row, one record batch at a time.

use arrow_array::RecordBatch;

use super::super::row::{RowDecoder, record};
use super::field::Column;
use super::{ArrowTable, Batches};
use crate::source::file::SourceFile;
use crate::source::options::SourceOptions;
use crate::source::record::RecordKind;
use crate::source::record_limits::RecordLimits;
use crate::source::reject::RejectReason;

/// Decodes the text, the id and the sort value of each row.
pub(crate) struct ArrowRows {
    batches: Batches,
    batch: Option<RecordBatch>,
    /// The column of the text, and the index of its top-level column among the columns that are read.
    text: (Column, usize),
    /// The column of the id, if there is one, and the index of its top-level column.
    id: Option<(Column, usize)>,
    /// The column of the sort value, if there is one, and the index of its top-level column.
    sort: Option<(Column, usize)>,
    text_key: String,
}

impl ArrowRows {
    pub(super) fn new(
        table: &ArrowTable,
        file: &SourceFile,
        first: usize,
        options: &SourceOptions,
    ) -> Result<Self, RejectReason> {
        let schema = table.schema();
        let mut roots = Vec::new();
        let mut numbered = |column: Column| {
            let number = roots.iter().position(|&root| root == column.root);
            let number = number.unwrap_or_else(|| {
                roots.push(column.root);
                roots.len() - 1
            });
            (column, number)
        };
        let text = numbered(Column::text(schema, &options.text_key, options.raw)?);
        let id = Column::scalar(schema, options.id_key.as_deref()).map(&mut numbered);
        let sort = Column::scalar(schema, options.sort_key.as_deref()).map(&mut numbered);
        Ok(Self {
            batches: table.batches(file, first, Some(roots))?,
            batch: None,
            text,
            id,
            sort,
            text_key: options.text_key.clone(),
        })
    }
}

impl RowDecoder for ArrowRows {
    fn next_batch(&mut self, most: usize) -> Result<bool, RejectReason> {
        while let Some((_, batch)) = self.batches.next()? {
            if batch.num_rows() > 0 {
                self.batch = Some(batch.slice(0, most.min(batch.num_rows())));
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn each(&self, record_limits: RecordLimits, f: &mut dyn FnMut(u64, RecordKind<'_>)) {
        let Some(batch) = &self.batch else { return };
        let array = |number: usize| batch.columns().get(number);
        for row in 0..batch.num_rows() {
            let Some(text) = array(self.text.1) else { return };
            let cell = self.text.0.cell(text, row);
            let id = self
                .id
                .as_ref()
                .and_then(|(column, i)| column.id(array(*i)?, row));
            let sort = self
                .sort
                .as_ref()
                .and_then(|(column, i)| column.sort_value(array(*i)?, row));
            let (length, kind) = record(cell, id, sort, &self.text_key, record_limits);
            f(length, kind);
        }
    }
}
