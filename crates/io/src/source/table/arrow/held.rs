//! Rows of Arrow tables that the calling program holds in memory.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;

use super::super::row::{Cell, text};
use super::field::{Column, integer_type};
use crate::source::error::SourceError;
use crate::source::memory::{MemoryBatch, MemoryBatches, MemoryRecord};
use crate::source::options::SourceOptions;
use crate::source::record::IntegerType;
use crate::source::reject::RejectReason;

/// The size of the texts of a batch, in bytes, beyond which it ends.
const BATCH_BYTES: usize = 512 << 10;
/// The largest number of rows in a batch.
const BATCH_ROWS: usize = 1 << 16;

/// The columns of a table in memory that contain the text, the id and the sort value of each row.
///
/// Texts may be strings or bytes, of any width of offsets, in dictionaries, lists and structs. The names of columns are
/// those of [`SourceOptions`].
#[derive(Debug, Clone)]
pub struct ArrowColumns {
    text: Column,
    id: Option<Column>,
    sort: Option<Column>,
    id_type: Option<IntegerType>,
    text_key: String,
}

impl ArrowColumns {
    /// Finds the columns in a schema.
    ///
    /// # Errors
    /// The column of the text is missing, or contains no texts.
    pub fn find(schema: &Schema, options: &SourceOptions) -> Result<Self, RejectReason> {
        let id_key = options.id_key.as_deref();
        Ok(Self {
            text: Column::text(schema, &options.text_key, false)?,
            id: Column::scalar(schema, id_key),
            sort: Column::scalar(schema, options.sort_key.as_deref()),
            id_type: id_key.and_then(|key| integer_type(schema, key)),
            text_key: options.text_key.clone(),
        })
    }

    /// True if the table has the column of the ids.
    pub fn has_id(&self) -> bool {
        self.id.is_some()
    }

    /// True if the table has the column of the sort values.
    pub fn has_sort(&self) -> bool {
        self.sort.is_some()
    }

    /// Divides batches of rows into smaller ones that can be analysed by one thread each. The rows are not copied.
    pub fn batches<E: std::fmt::Display>(
        self,
        tables: impl Iterator<Item = Result<RecordBatch, E>> + Send + 'static,
    ) -> MemoryBatches {
        let columns = Arc::new(self);
        Box::new(tables.flat_map(move |table| {
            let parts: Box<dyn Iterator<Item = _> + Send> = match table {
                Ok(table) => Box::new(Parts {
                    columns: Arc::clone(&columns),
                    table,
                    next: 0,
                }),
                Err(error) => Box::new(std::iter::once(Err(SourceError::Supply(error.to_string())))),
            };
            parts
        }))
    }
}

/// The parts of a table.
struct Parts {
    columns: Arc<ArrowColumns>,
    table: RecordBatch,
    /// The first row of the next part.
    next: usize,
}

impl Iterator for Parts {
    type Item = Result<Arc<dyn MemoryBatch>, SourceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (start, all) = (self.next, self.table.num_rows());
        let texts = self.table.columns().get(self.columns.text.root)?;
        let mut bytes = 0;
        while self.next < all && self.next - start < BATCH_ROWS && bytes < BATCH_BYTES {
            bytes += match self.columns.text.cell(texts, self.next) {
                Cell::Null => 0,
                Cell::One(text) => text.len(),
                Cell::List(parts) => parts.iter().map(|part| part.len()).sum(),
                Cell::Json(json) => json.len(),
            };
            self.next += 1;
        }
        let part = HeldRows {
            columns: Arc::clone(&self.columns),
            table: self.table.clone(),
            rows: start..self.next,
            bytes,
        };
        (start < self.next).then(|| Ok(Arc::new(part) as Arc<dyn MemoryBatch>))
    }
}

/// Consecutive rows of a table.
#[derive(Debug)]
struct HeldRows {
    columns: Arc<ArrowColumns>,
    table: RecordBatch,
    rows: Range<usize>,
    bytes: usize,
}

impl MemoryBatch for HeldRows {
    fn records(&self) -> u64 {
        self.rows.len() as u64
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn id_type(&self) -> Option<IntegerType> {
        self.columns.id_type
    }

    fn each(&self, f: &mut dyn FnMut(MemoryRecord<'_>)) {
        let array = |column: &Column| self.table.columns().get(column.root);
        let columns = &*self.columns;
        let Some(texts) = array(&columns.text) else { return };
        for row in self.rows.clone() {
            f(MemoryRecord {
                text: text(columns.text.cell(texts, row), &columns.text_key),
                id: columns.id.as_ref().and_then(|id| id.id(array(id)?, row)),
                sort_value: columns
                    .sort
                    .as_ref()
                    .and_then(|sort| sort.sort_value(array(sort)?, row)),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use arrow_array::{ArrayRef, Int32Array, LargeBinaryArray, StringViewArray};

    use super::*;
    use crate::source::{RecordKind, Sources};

    fn table(texts: ArrayRef) -> RecordBatch {
        let ids = (0..texts.len() as i32).map(|i| (i > 0).then_some(i));
        let ids: ArrayRef = Arc::new(ids.collect::<Int32Array>());
        RecordBatch::try_from_iter([("body", texts), ("id", ids)]).unwrap()
    }

    fn options() -> SourceOptions {
        SourceOptions {
            text_key: "body".to_owned(),
            ..SourceOptions::default()
        }
    }

    #[test]
    fn rows_of_large_tables_are_divided_and_read_in_order() {
        let long = "x".repeat(BATCH_BYTES / 2);
        let texts: Vec<Option<&str>> = (0..10).map(|i| (i != 4).then_some(long.as_str())).collect();
        let table = table(Arc::new(StringViewArray::from(texts)));
        let columns = ArrowColumns::find(&table.schema(), &options()).unwrap();
        assert!(columns.has_id() && !columns.has_sort());
        let rows = table.slice(1, 9);
        let batches = columns.batches(std::iter::once(Ok::<_, Infallible>(rows)));
        let sources = Sources::of_memory("rows", batches, &options(), Arc::default());
        let (mut seen, mut chunks) = (Vec::new(), 0);
        for batch in sources.read(8 << 20) {
            for chunk in &batch.unwrap().chunks {
                chunks += 1;
                assert_eq!(chunk.id_type(&options()).map(|id| id.bits), Some(32));
                chunk.documents(&options(), &mut |record| match record.kind {
                    RecordKind::Document { id, .. } => seen.push(id.unwrap().parse().unwrap()),
                    _ => seen.push(0),
                });
            }
        }
        assert!(chunks > 2, "{chunks}");
        assert_eq!(seen, [1, 2, 3, 0, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn bytes_that_are_not_text_are_rejected_and_missing_columns_are_named() {
        let bytes: Vec<Option<&[u8]>> = vec![Some(b"fine"), Some(b"no\xed\xa0\x80")];
        let table = table(Arc::new(LargeBinaryArray::from(bytes)));
        let columns = ArrowColumns::find(&table.schema(), &options()).unwrap();
        let batches = columns.batches(std::iter::once(Ok::<_, Infallible>(table.clone())));
        let mut texts = Vec::new();
        for batch in batches {
            batch
                .unwrap()
                .each(&mut |record| texts.push(record.text.map(std::borrow::Cow::into_owned)));
        }
        assert_eq!(texts[0], Ok("fine".to_owned()));
        assert_eq!(
            texts[1],
            Err(RejectReason::InvalidUtf8 {
                offset: 3,
                byte: 0xed
            })
        );
        let missing = ArrowColumns::find(&table.schema(), &SourceOptions::default()).unwrap_err();
        assert!(missing.to_string().contains("body"), "{missing}");
    }
}
