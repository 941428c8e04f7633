//! Ids that are names: strings in the column of ids of a Parquet file.
//!
//! The index numbers its names from 0 on and stores the number of each fingerprint. Results have the names.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::bail;
use twinprint::raw::{Column, ColumnKind, NameRows, RawFiles, RowValue};
use twinprint::segment::SegmentError;
use twinprint::sort::Sorter;
use twinprint::store::{Committed, NameWriter, Names};
use twinprint::{HashKey, hash_one};

use super::memory::within_memory;
use crate::usage::UsageError;

/// The number of names that are read at a time.
const BATCH: usize = 1 << 16;
/// The approximate memory of a name in a map, in bytes, without its text.
const NAME_BYTES: u64 = 96;

/// The value of an id in a row of results.
pub(super) fn id_value<W>(committed: &Committed<W>, id: u64) -> RowValue<'_> {
    match &committed.names {
        None => RowValue::Number(id),
        Some(names) => RowValue::Name(names.get(id).unwrap_or_default()),
    }
}

/// Columns of the rows of `index query`.
const fn query_columns(query: ColumnKind, id: ColumnKind) -> [Column; 3] {
    [
        Column::new("query", query),
        Column::new("id", id),
        Column::new("hamming", ColumnKind::Distance),
    ]
}

/// The columns of the rows of `index query`: queries and ids are numbers or names.
pub(super) fn columns_of_queries(query_names: bool, id_names: bool) -> &'static [Column] {
    use ColumnKind::{Id, Name};
    match (query_names, id_names) {
        (false, false) => const { &query_columns(Id, Id) },
        (false, true) => const { &query_columns(Id, Name) },
        (true, false) => const { &query_columns(Name, Id) },
        (true, true) => const { &query_columns(Name, Name) },
    }
}

/// The ids of a batch of queries: numbers, or names if the files have names.
pub(super) struct QueryIds<'f> {
    numbers: Vec<u64>,
    rows: Option<NameRows<'f>>,
    names: Vec<String>,
}

impl<'f> QueryIds<'f> {
    pub(super) fn of(files: &'f RawFiles) -> Self {
        Self {
            numbers: Vec::new(),
            rows: files.has_names().then(|| files.names()),
            names: Vec::new(),
        }
    }

    /// Appends the ids of the next queries, whose numbers are given.
    pub(super) fn extend(&mut self, numbers: &[u64]) -> anyhow::Result<()> {
        self.numbers.extend_from_slice(numbers);
        if let Some(rows) = &mut self.rows {
            rows.fill(numbers.len(), &mut self.names)?;
        }
        Ok(())
    }

    /// The value of the query at a position of the batch.
    pub(super) fn value(&self, query: usize) -> RowValue<'_> {
        match &self.rows {
            None => RowValue::Number(self.numbers.get(query).copied().unwrap_or_default()),
            Some(_) => RowValue::Name(self.names.get(query).map_or("", String::as_str)),
        }
    }

    pub(super) fn clear(&mut self) {
        self.numbers.clear();
        self.names.clear();
    }
}

/// The names of one side of a join.
pub(super) enum SideNames {
    Index(Arc<Names>),
    Files(NameList),
}

impl SideNames {
    /// Reads the names of files into `memory`, of which `held` bytes are in use; `None` if they have none.
    pub(super) fn of_files(files: &RawFiles, memory: u64, held: u64) -> anyhow::Result<Option<Self>> {
        if !files.has_names() {
            return Ok(None);
        }
        Ok(Some(Self::Files(NameList::read(files, memory, held)?)))
    }

    /// The memory of the names in bytes. Those of an index are mapped from its file and take none.
    pub(super) fn memory(&self) -> u64 {
        match self {
            Self::Index(_) => 0,
            Self::Files(names) => names.memory(),
        }
    }

    /// The name of an id.
    pub(super) fn get(&self, id: u64) -> &str {
        let name = match self {
            Self::Index(names) => names.get(id),
            Self::Files(names) => names.get(id),
        };
        name.unwrap_or_default()
    }
}

/// Names in memory, numbered from 0 on.
pub(super) struct NameList {
    /// All names, one after the other.
    text: String,
    /// The end of each name in the text.
    ends: Vec<usize>,
}

impl NameList {
    /// Reads the names of files. An error if they do not fit into `memory`, of which `held` bytes are in use.
    fn read(files: &RawFiles, memory: u64, held: u64) -> anyhow::Result<Self> {
        // The names are read twice, so that their exact memory is reserved.
        let (mut bytes, mut count) = (0, 0);
        each_batch(files, |batch| {
            bytes += batch.iter().map(String::len).sum::<usize>();
            count += batch.len();
            Ok(())
        })?;
        let needed = (bytes + count * size_of::<usize>()) as u64;
        SegmentError::check_memory(needed + held, memory).map_err(|error| within_memory(error.into()))?;
        let mut names = Self {
            text: String::with_capacity(bytes),
            ends: Vec::with_capacity(count),
        };
        each_batch(files, |batch| {
            for name in batch {
                names.text.push_str(name);
                names.ends.push(names.text.len());
            }
            Ok(())
        })?;
        Ok(names)
    }

    fn memory(&self) -> u64 {
        (self.text.capacity() + self.ends.capacity() * size_of::<usize>()) as u64
    }

    fn get(&self, id: u64) -> Option<&str> {
        let id = usize::try_from(id).ok()?;
        let end = *self.ends.get(id)?;
        let start = id.checked_sub(1).and_then(|before| self.ends.get(before));
        self.text.get(start.copied().unwrap_or(0)..end)
    }
}

/// Calls a function with the names of files, some at a time.
fn each_batch(files: &RawFiles, mut each: impl FnMut(&[String]) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let mut rows = files.names();
    let mut batch = Vec::new();
    loop {
        batch.clear();
        rows.fill(BATCH, &mut batch)?;
        if batch.is_empty() {
            return Ok(());
        }
        each(&batch)?;
    }
}

fn occurs_twice(name: &str) -> anyhow::Error {
    anyhow::anyhow!("the id {name:?} occurs twice; make ids unique, or use positions as ids with --positions")
}

/// Writes the names of files as those of a new index. An error if a name occurs twice. `directory` is for temporary data.
/// `check` is called often, and its error ends the work.
pub(super) fn write(
    files: &RawFiles,
    directory: &Path,
    memory: u64,
    writer: &mut NameWriter<'_>,
    mut check: impl FnMut() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    // Equal names are found by their hashes, which are sorted on disk if necessary.
    let hash = |name: &str| hash_one(&HashKey::PUBLIC, name.as_bytes());
    let mut sorter = Sorter::new(directory, u128::MAX, memory);
    each_batch(files, |names| {
        check()?;
        for name in names {
            writer.push(name)?;
            sorter.push(hash(name))?;
        }
        Ok(())
    })?;
    let (mut before, mut twice) = (None, None);
    sorter.finish(|hashes: &[u128]| {
        check()?;
        for &next in hashes {
            if before.replace(next) == Some(next) {
                twice.get_or_insert(next);
            }
        }
        anyhow::Ok(())
    })?;
    let Some(twice) = twice else { return Ok(()) };
    each_batch(files, |names| {
        match names.iter().find(|name| hash(name) == twice) {
            Some(name) => Err(occurs_twice(name)),
            None => Ok(()),
        }
    })
}

/// The ids of the names of files that are added to an index.
pub(super) struct AddedNames {
    /// The id of each fingerprint, in the order of the files.
    pub(super) ids: Vec<u64>,
    /// The names that the index does not have, in the order of their ids.
    pub(super) new: Vec<String>,
}

impl AddedNames {
    /// Finds the ids of names that the index has, and numbers the others after them. An error if a name occurs twice.
    /// The names of the files are in memory meanwhile.
    pub(super) fn find(files: &RawFiles, stored: &Names, memory: u64) -> anyhow::Result<Self> {
        let mut names = Vec::new();
        let mut needed = 0;
        each_batch(files, |batch| {
            needed += batch
                .iter()
                .map(|name| name.len() as u64 + NAME_BYTES)
                .sum::<u64>();
            SegmentError::check_memory(needed, memory).map_err(|error| within_memory(error.into()))?;
            names.extend_from_slice(batch);
            Ok(())
        })?;
        let mut rows = HashMap::with_capacity(names.len());
        for (row, name) in names.iter().enumerate() {
            if rows.insert(name.as_str(), row).is_some() {
                bail!(occurs_twice(name));
            }
        }
        let mut ids = vec![None; names.len()];
        for (id, name) in (0..).zip(stored.iter()) {
            if let Some(slot) = rows.get(name).and_then(|&row| ids.get_mut(row)) {
                *slot = Some(id);
            }
        }
        let mut next = stored.len();
        let mut new = Vec::new();
        let ids = ids.into_iter().zip(names).map(|(id, name)| {
            id.unwrap_or_else(|| {
                new.push(name);
                next += 1;
                next - 1
            })
        });
        Ok(Self {
            ids: ids.collect(),
            new,
        })
    }
}

/// Finds the ids of names. Names that the index does not have are left out.
pub(super) fn ids_of(stored: &Names, wanted: &[String]) -> Vec<u64> {
    let wanted: std::collections::HashSet<&str> = wanted.iter().map(String::as_str).collect();
    let ids = (0..).zip(stored.iter());
    ids.filter(|(_, name)| wanted.contains(name))
        .map(|(id, _)| id)
        .collect()
}

/// Refuses files whose ids are of another kind than those of an index.
pub(super) fn check_kind(index: &Path, stored: Option<&Names>, files: &RawFiles) -> Result<(), UsageError> {
    let index = index.display();
    match (stored.is_some(), files.has_names()) {
        (true, false) => Err(UsageError(format!(
            "the ids of {index} are names; add Parquet files with a column \"id\" of strings"
        ))),
        (false, true) => Err(UsageError(format!(
            "the ids of {index} are numbers, but those of the files are names; use positions as ids with --positions"
        ))),
        _ => Ok(()),
    }
}
