//! Reads Parquet files with a column of fingerprints and optionally a column of ids.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use twinprint_fingerprint::Width;

use super::{RawError, STRETCH_LENGTH};
use crate::source::{
    Codec, Format, IntegerColumn, IntegerReader, ParquetTable, RejectReason, SourceFile, TextColumn,
    TextReader, guarded, open_table,
};

/// The name of the column of fingerprints.
const FINGERPRINT: &str = "fingerprint";
/// The name of the column of ids.
const ID: &str = "id";

/// A Parquet file whose columns have been checked.
#[derive(Debug)]
pub(super) struct TableFile {
    file: SourceFile,
    table: ParquetTable,
    fingerprint: IntegerColumn,
    id: Option<IntegerColumn>,
    /// The column of ids, if it contains strings.
    name: Option<TextColumn>,
}

impl TableFile {
    /// Reads the footer and checks the columns. The column of ids is read only if `ids` is true.
    pub(super) fn open(path: &Path, ids: bool) -> Result<Self, RawError> {
        let file = SourceFile {
            path: path.to_owned(),
            label: path.display().to_string(),
            relative: PathBuf::new(),
            format: Format::Parquet,
            codec: Codec::Plain,
            bytes: path.metadata().map_err(RawError::io(path))?.len(),
            as_text: None,
            unreadable: None,
            modified: None,
            remote: None,
        };
        let table = guarded(Format::Parquet, || ParquetTable::open(&file)).map_err(damaged(path))?;
        let column = |what| RawError::Column {
            path: path.to_owned(),
            what,
        };
        let fingerprint = match table.wide_integers(FINGERPRINT) {
            // The sign of a narrower integer would become several bits of the fingerprint.
            Ok(Some(integers)) if integers.stated_bits == integers.bits => integers,
            Ok(None) => {
                let present = table.column_names().join(", ");
                return Err(column(format!(
                    "there is no column \"{FINGERPRINT}\"; the columns are {present}; rename the column of fingerprints to \"{FINGERPRINT}\""
                )));
            }
            found => {
                let narrow = |integers: Option<IntegerColumn>| {
                    let bits = integers.map_or(0, |integers| integers.stated_bits);
                    format!("{bits}-bit integers")
                };
                let found = found.map_or_else(|found| found, narrow);
                return Err(column(format!(
                    "the column \"{FINGERPRINT}\" contains {found} and not fingerprints; write fingerprints as 32-bit or 64-bit integers, signed or unsigned, or as FIXED_LEN_BYTE_ARRAY(16), the most significant byte first"
                )));
            }
        };
        let name = table.texts(ID).filter(|_| ids);
        let id = if ids && name.is_none() {
            table.integers(ID)
        } else {
            Ok(None)
        };
        let id = id.map_err(|found| RawError::IdColumn {
            path: path.to_owned(),
            column: ID,
            found,
        })?;
        Ok(Self {
            file,
            table,
            fingerprint,
            id,
            name,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.file.path
    }

    /// The width of the fingerprints, in bits.
    pub(super) fn bits(&self) -> u32 {
        self.fingerprint.bits
    }

    /// The number of rows.
    pub(super) fn len(&self) -> u64 {
        self.table.len()
    }

    pub(super) fn has_ids(&self) -> bool {
        self.id.is_some()
    }

    pub(super) fn has_names(&self) -> bool {
        self.name.is_some()
    }

    /// Opens a reader at the name of the first row.
    pub(super) fn names(&self) -> TableNames<'_> {
        TableNames {
            file: self,
            group: 0,
            row: 0,
            open: None,
        }
    }

    /// Returns the value of a key in the metadata of the file.
    pub(super) fn note(&self, key: &str) -> Option<&str> {
        let notes = self.table.metadata().file_metadata().key_value_metadata()?;
        notes.iter().find(|note| note.key == key)?.value.as_deref()
    }

    /// Opens a reader at the first row.
    pub(super) fn rows(&self) -> TableRows<'_> {
        TableRows {
            file: self,
            group: 0,
            row: 0,
            columns: None,
        }
    }
}

/// Reads the rows of a file, one row group after the other.
pub(super) struct TableRows<'f> {
    file: &'f TableFile,
    /// The index of the next row group.
    group: usize,
    /// The index of the next row in the file, from 0.
    row: u64,
    columns: Option<OpenGroup>,
}

/// Readers of the columns of one row group.
struct OpenGroup {
    fingerprint: IntegerReader,
    id: Option<IntegerReader>,
    left: u64,
}

impl TableRows<'_> {
    /// Appends the fingerprints and ids of the next rows. Appends nothing at the end of the file.
    pub(super) fn fill<W: Width>(
        &mut self,
        fingerprints: &mut Vec<W>,
        ids: &mut Vec<u64>,
    ) -> Result<(), RawError> {
        while fingerprints.is_empty() {
            let mut open = match self.columns.take() {
                Some(open) => open,
                None if self.group < self.file.table.groups() => self.next_group()?,
                None => return Ok(()),
            };
            let count = open.left.min(STRETCH_LENGTH as u64) as usize;
            self.column(FINGERPRINT, &mut open.fingerprint, count, fingerprints)?;
            if let Some(id) = &mut open.id {
                self.column(ID, id, count, ids)?;
                let below = ids.iter().position(|&id| id.cast_signed() < 0);
                let signed = self.file.id.as_ref().is_some_and(|wholes| wholes.signed);
                if let (Some(at), true) = (below, signed) {
                    return Err(RawError::NegativeId {
                        path: self.file.path().to_owned(),
                        row: self.row + at as u64 + 1,
                        id: ids.get(at).copied().unwrap_or_default().cast_signed(),
                    });
                }
            }
            self.row += count as u64;
            open.left -= count as u64;
            self.columns = (open.left > 0).then_some(open);
        }
        Ok(())
    }

    fn next_group(&mut self) -> Result<OpenGroup, RawError> {
        let table = &self.file.table;
        let group = self.group;
        self.group += 1;
        let rows = table.rows_of(group);
        let reader = |wholes: &IntegerColumn| {
            // The file is opened for each reader, because readers must not share a file position.
            guarded(Format::Parquet, || {
                table.read_integers(wholes, group, &Arc::new(open_table(&self.file.file)?))
            })
            .map_err(damaged(self.file.path()))
        };
        Ok(OpenGroup {
            fingerprint: reader(&self.file.fingerprint)?,
            id: self.file.id.as_ref().map(reader).transpose()?,
            left: rows.end - rows.start,
        })
    }

    fn column<W: Width>(
        &self,
        name: &'static str,
        reader: &mut IntegerReader,
        count: usize,
        out: &mut Vec<W>,
    ) -> Result<(), RawError> {
        let null = guarded(Format::Parquet, || reader.fill(count, out)).map_err(damaged(self.file.path()))?;
        null.map_or(Ok(()), |at| {
            Err(RawError::Null {
                path: self.file.path().to_owned(),
                row: self.row + at as u64 + 1,
                column: name,
            })
        })
    }
}

/// Reads the names of the rows of a file, one row group after the other.
pub(super) struct TableNames<'f> {
    file: &'f TableFile,
    /// The index of the next row group.
    group: usize,
    /// The index of the next row in the file, from 0.
    row: u64,
    /// The reader of the current row group, and the number of rows left in it.
    open: Option<(TextReader, u64)>,
}

impl TableNames<'_> {
    /// Appends the names of the next rows, at most `count`. Appends nothing at the end of the file.
    pub(super) fn fill(&mut self, count: usize, out: &mut Vec<String>) -> Result<(), RawError> {
        let TableFile {
            file, table, name, ..
        } = self.file;
        let Some(column) = name else { return Ok(()) };
        if count == 0 {
            return Ok(());
        }
        loop {
            let (mut reader, left) = match self.open.take() {
                Some(open) => open,
                None if self.group < table.groups() => {
                    let group = self.group;
                    self.group += 1;
                    let rows = table.rows_of(group);
                    let opened = guarded(Format::Parquet, || {
                        table.read_texts(column, group, &Arc::new(open_table(file)?))
                    });
                    (opened.map_err(damaged(&file.path))?, rows.end - rows.start)
                }
                None => return Ok(()),
            };
            if left == 0 {
                continue;
            }
            let some = left.min(count as u64) as usize;
            let null = guarded(Format::Parquet, || reader.fill(some, out)).map_err(damaged(&file.path))?;
            if let Some(at) = null {
                return Err(RawError::Null {
                    path: file.path.clone(),
                    row: self.row + at as u64 + 1,
                    column: ID,
                });
            }
            self.row += some as u64;
            self.open = Some((reader, left - some as u64));
            return Ok(());
        }
    }
}

fn damaged(path: &Path) -> impl FnOnce(RejectReason) -> RawError {
    let path = path.to_owned();
    |reason| RawError::Damaged { path, reason }
}
