//! A full check of an index, which verifies every byte of every file that the manifest names.

use std::path::{Path, PathBuf};

use twinprint_fingerprint::Width;

use super::files::Files;
use super::open::{required, view};
use super::{Options, StoreError};

/// The result of a successful check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckReport {
    /// The number of commits and compactions so far.
    pub generation: u64,
    /// The number of segments.
    pub segments: usize,
    /// The number of stored ids, including deleted ones.
    pub rows: u64,
    /// The number of ids that lookups find.
    pub living: u64,
    /// The number of segments for which the manifest has no digest, because an earlier version wrote it. The next
    /// commit of a change or the next [compaction](super::Index::compact) adds the digests.
    pub unbound: usize,
    /// Files that an interrupted writer left. The next writer removes them.
    pub left_over: Vec<PathBuf>,
}

/// Reads and verifies the whole last commit of an index. Needs no writer. O(rows) time.
///
/// # Errors
/// The first mismatch, with the file in which it was found.
pub fn check<W: Width>(directory: &Path) -> Result<CheckReport, StoreError> {
    let files = Files::new(directory, &Options::default().storage);
    let manifest = required(&files)?;
    let view = view::<W>(&files, &manifest)?;
    let names = files.read_names(&manifest)?;
    // The range of a segment without ids is empty.
    let ids = manifest.segments.iter().map(|entry| &entry.ids);
    let last = ids.filter(|ids| !ids.is_empty()).map(|ids| *ids.end()).max();
    if names.is_some_and(|names| last.is_some_and(|last| last >= names.len())) {
        return Err(StoreError::Damaged {
            path: files.manifest(),
            what: "it states ids that have no name",
        });
    }
    let mut living = 0;
    for live in &view.segments {
        live.segment.check()?;
        for row in &live.segment {
            let (_, id) = row?;
            if !live.entry.ids.contains(&id) {
                return Err(StoreError::Damaged {
                    path: files.manifest(),
                    what: "a segment has ids outside the range that the manifest states for it",
                });
            }
            living += u64::from(!live.tombstones.holds(id, 0));
        }
    }
    Ok(CheckReport {
        generation: manifest.generation,
        segments: view.segments.len(),
        rows: manifest.segments.iter().map(|e| e.rows).sum(),
        living,
        unbound: manifest.segments.iter().filter(|e| !e.is_bound()).count(),
        left_over: files.left_over(Some(&manifest))?,
    })
}
