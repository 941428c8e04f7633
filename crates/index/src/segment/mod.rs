//! Segments: immutable files of fingerprints and ids, searched in place.
//!
//! A segment contains the permuted tables of one plan, which is exact unless the file says that it is not. Each table has the same distinct fingerprints, ordered by
//! its address bits and stored in one of several formats (`codec`): packed, with a directory (`directory`), or in
//! pages. Ids are stored once, in the order of the first table; a match in another table is a fingerprint, which is
//! looked up in the first.
//!
//! Invariants: the rows of a table are distinct and ascend by their permuted form; all tables have the same rows; no
//! byte is used before its checksum was verified (`sectors`); a file gets its name only when it is complete (`write`).
//!
//! `FORMAT.md` in this crate's folder specifies every byte.

mod bits;
mod build;
mod codec;
mod codec_kind;
mod directory;
mod error;
mod iterate;
mod journal;
mod layout;
mod lookup;
mod mapping;
mod open;
mod order;
mod read_ahead;
mod sectors;
mod span;
mod table;
#[cfg(test)]
mod tests;
mod write;

use std::path::{Path, PathBuf};

use self::layout::Footer;
use self::sectors::Sectors;
use self::table::StoredTable;

pub use build::{Builder, Interrupted, Options, ProgressCallback, Resumable};
pub use codec_kind::Codec;
pub use directory::DirectoryForm;
pub use error::SegmentError;
pub use iterate::SegmentRows;
pub(crate) use journal::with_ending;
pub(crate) use lookup::bounds_bytes;
pub use lookup::{IdMatch, Scratch, Search, Stats};
pub(crate) use mapping::Mapping;
pub(crate) use open::digest_of;

/// The maximum width of an address of a stored table, in bits. A directory has 2^bits entries.
pub const MAX_ADDRESS_BITS: u32 = 30;

/// The maximum number of tables of a segment that is built. Each table is written and synced by itself, and takes as
/// much space as the others, so more of them cost more than any lookup can save.
pub const MAX_TABLES: usize = 256;

/// The maximum number of keys that are probed for one query.
pub const MAX_KEYS: u64 = 1 << 27;

/// Returns the paths of the files that an interrupted build of the segment `path` may leave: the incomplete file, and
/// the journal from which the next build resumes.
pub fn unfinished(path: &Path) -> [PathBuf; 2] {
    [write::temporary(path), journal::place(path)]
}

/// A segment file of fingerprints and ids, open for reading.
///
/// All methods take `&self` and may be called from several threads at once, each with a [`Scratch`] of its own.
///
/// ```
/// use twinprint_index::Segment;
/// use twinprint_index::segment::{Builder, Options, Scratch};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("rows.seg");
/// let mut builder = Builder::new(&path, &Options::default())?;
/// builder.push(0b0000_u64, 17)?;
/// builder.push(u64::MAX, 18)?;
/// builder.finish()?;
///
/// let segment = Segment::<u64>::open(&path)?;
/// let mut found = Vec::new();
/// segment.lookup(0b0101, 3, &mut Scratch::default(), |id, _fingerprint, distance| found.push((id, distance)))?;
/// assert_eq!(found, [(17, 2)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Segment<W> {
    path: PathBuf,
    data: Mapping,
    footer: Footer,
    sectors: Sectors,
    tables: Vec<StoredTable<W>>,
    ids: std::ops::Range<usize>,
    posting_rows: std::ops::Range<usize>,
    posting_sums: std::ops::Range<usize>,
    searches: lookup::SearchPlans,
    /// True if the plan of the tables is exact.
    exact: bool,
    reads: read_ahead::ReadAhead,
}
