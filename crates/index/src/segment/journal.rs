//! The journal of a build that a later process may resume: the length of the file so far, its tables, and the input it is built from.
//!
//! It is in the directory of that file as `NAME.resume` and is replaced as a whole, by a rename, when a further table is complete. The bytes that it describes
//! are on disk before it is. `FORMAT.md` of the crate specifies it byte by byte.
//!
//! Invariants of a journal that decodes: the checksum holds; some tables are complete and some are not; every section ends before the length
//! it names; there is a checksum for each sector up to there.

use std::path::{Path, PathBuf};

use super::SegmentError;
use super::layout::{Footer, SECTOR_BYTES};
use crate::bytes::{Reader, sealed, unsealed};

/// First eight bytes.
const MAGIC: [u8; 8] = *b"twinres\n";
/// The version written and read.
const VERSION: u32 = 1;

/// The progress of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Journal {
    /// The caller's description of the work; see [`super::Options::resume`].
    pub(crate) work: Vec<u8>,
    /// Further notes of the caller.
    pub(crate) notes: Vec<u8>,
    /// The number of complete tables, which are the first ones.
    pub(crate) whole: u32,
    /// The bytes of the file that hold these tables.
    pub(crate) length: u64,
    /// The footer of the file so far. It names all tables, unfinished ones with the requested codec.
    pub(crate) footer: Footer,
    /// Checksums of the sectors up to `length`, the last of which may be the beginning of one.
    pub(crate) sums: Vec<u8>,
}

/// The path of the journal of a segment that is being built.
pub(crate) fn place(segment: &Path) -> PathBuf {
    with_ending(segment, ".resume")
}

/// A path with an ending after its name.
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

    /// Decodes the bytes of the file `path`. O(bytes) time and memory for any input.
    pub(crate) fn decode(bytes: &[u8], path: &Path) -> Result<Self, SegmentError> {
        let damaged = |what| SegmentError::Damaged {
            path: path.to_owned(),
            offset: 0,
            what,
        };
        // The checksum comes before the version, so that a flipped bit in the version is reported as damage.
        let body = unsealed(bytes).ok_or_else(|| damaged("the checksum does not match"))?;
        let mut from = Reader(body);
        if from.take(MAGIC.len()) != Some(MAGIC.as_slice()) {
            return Err(damaged("it does not begin as the journal of a build"));
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
