//! The journal of a build that a later process may resume. It describes the incomplete file: its length, its complete
//! tables, and the input that it is built from.
//!
//! The journal is in the directory of the incomplete file, as `NAME.resume`. It is replaced as a whole, by a rename,
//! whenever a further table is complete. The bytes that it describes are on disk before the journal is. `FORMAT.md` of
//! the crate specifies it byte by byte.
//!
//! Invariants of a journal that was decoded: its checksum matches; some tables are complete and some are not; every
//! section ends within the stated length; there is a checksum for each sector up to that length.

use std::path::{Path, PathBuf};

use super::SegmentError;
use super::layout::{Footer, SECTOR_BYTES};
use crate::bytes::{Reader, sealed, unsealed};

/// The first eight bytes of a journal.
const MAGIC: [u8; 8] = *b"twinres\n";
/// The version that is written and read.
const VERSION: u32 = 1;

/// The progress of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Journal {
    /// The caller's description of the work; see [`super::Options::resume`].
    pub(crate) work: Vec<u8>,
    /// The notes that the caller gave to [`super::Builder::note`].
    pub(crate) notes: Vec<u8>,
    /// The number of complete tables, from the first one on.
    pub(crate) whole: u32,
    /// The number of bytes of the incomplete file that hold the complete tables.
    pub(crate) length: u64,
    /// The footer of the file so far. It lists all tables; those that are missing have the requested codec.
    pub(crate) footer: Footer,
    /// The checksums of the sectors up to `length`. The last one may cover only the beginning of a sector.
    pub(crate) sums: Vec<u8>,
}

/// Returns the path of the journal for the build of a segment.
pub(crate) fn place(segment: &Path) -> PathBuf {
    with_ending(segment, ".resume")
}

/// Returns a path with `ending` appended to its file name.
pub(crate) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(ending);
    path.into()
}

impl Journal {
    /// Encodes the journal.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let footer = self.footer.encode();
        let mut out = MAGIC.to_vec();
        for number in [VERSION, self.whole] {
            out.extend(number.to_le_bytes());
        }
        let lengths = [self.work.len(), self.notes.len(), footer.len()].map(|length| length as u64);
        for number in [self.length].into_iter().chain(lengths) {
            out.extend(number.to_le_bytes());
        }
        for part in [&self.work, &self.notes, &footer, &self.sums] {
            out.extend(part);
        }
        sealed(out)
    }

    /// Decodes the bytes of a journal; `path` is the file, for error messages. O(bytes) time and memory for any input.
    pub(crate) fn decode(bytes: &[u8], path: &Path) -> Result<Self, SegmentError> {
        let damaged = |what| SegmentError::Damaged {
            path: path.to_owned(),
            offset: 0,
            what,
        };
        // The checksum is verified before the version is read, so that a flipped bit in the version is reported as
        // damage.
        let body = unsealed(bytes).ok_or_else(|| damaged("the checksum does not match"))?;
        let mut from = Reader(body);
        if from.take(MAGIC.len()) != Some(MAGIC.as_slice()) {
            return Err(damaged("its first bytes are not those of the journal of a build"));
        }
        match from.u32() {
            Some(VERSION) => fields(from).ok_or_else(|| damaged("its fields contradict one another")),
            Some(got) => Err(SegmentError::Version {
                path: path.to_owned(),
                got,
                expected: VERSION,
            }),
            None => Err(damaged("its end is missing")),
        }
    }
}

/// Decodes the fields after the version.
fn fields(mut from: Reader<'_>) -> Option<Journal> {
    let (whole, length) = (from.u32()?, from.u64()?);
    let lengths = [from.u64()?, from.u64()?, from.u64()?];
    let mut part = |length: u64| from.take(usize::try_from(length).ok()?);
    let [work, notes, footer] = [part(lengths[0])?, part(lengths[1])?, part(lengths[2])?];
    let footer = Footer::decode(footer)?;
    let sums = from.0;
    let inside = |end: Option<u64>| end.is_some_and(|end| end <= length);
    let holds = (1..footer.tables.len() as u64).contains(&whole.into())
        && footer
            .sections
            .iter()
            .all(|s| inside(s.offset.checked_add(s.length)))
        && sums.len().is_multiple_of(4)
        && sums.len() as u64 / 4 == length.div_ceil(SECTOR_BYTES as u64);
    holds.then(|| Journal {
        work: work.to_vec(),
        notes: notes.to_vec(),
        whole,
        length,
        sums: sums.to_vec(),
        footer,
    })
}
