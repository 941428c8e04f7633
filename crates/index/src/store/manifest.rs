//! The manifest: the list of the files of an index. It is replaced as a whole, by a rename; `FORMAT.md` of the crate
//! specifies it byte by byte.
//!
//! Invariants of a manifest that was decoded: the numbers of files are distinct and below `next`, so that a new file
//! never gets the name of one in use; the checksum matches all bytes.
//!
//! Every file is bound by a digest of its content. A file of another index, or of another state of this one, is refused
//! although it is complete.

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::ops::RangeInclusive;

use twinprint_fingerprint::Width;

use super::StoreError;
use crate::bytes::{Reader, sealed, unsealed};
use crate::digest::Digest;
use crate::segment::{Codec, DirectoryForm, Segment};

/// The first eight bytes of a manifest.
const MAGIC: [u8; 8] = *b"twinidx\n";
/// The latest version, which is written for an index with names. Without names, version 3 is written. Versions 1 and 2
/// are read too. They have no digests, and version 1 has no codec either, because its rows were packed, with plain
/// directories.
pub(super) const VERSION: u32 = 4;
/// The first version with digests.
pub(super) const BOUND_VERSION: u32 = 3;
/// The maximum length of a label in bytes.
pub(super) const MAX_LABEL: usize = 255;

/// The content of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Manifest {
    /// The version of the format that was read. A manifest is [written](Self::encode) in version 3, or 4 if it has names.
    pub(super) version: u32,
    /// The width of the fingerprints in bits.
    pub(super) bits: u32,
    /// The radius that tables are planned for.
    pub(super) radius: u32,
    /// The storage format of the rows of new segments.
    pub(super) codec: Codec,
    /// The caller's label, such as a profile.
    pub(super) label: String,
    /// The number of commits and compactions so far.
    pub(super) generation: u64,
    /// The caller's position at the last commit; see `Index::mark`.
    pub(super) checkpoint: u64,
    /// The number that the next file gets.
    pub(super) next: u64,
    pub(super) segments: Vec<SegmentEntry>,
    /// The file of the names of ids; `None` if ids are numbers.
    pub(super) names: Option<NamesFile>,
}

/// The file of the names of ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NamesFile {
    /// The number in the name of the file.
    pub(super) number: u64,
    /// The number of names.
    pub(super) count: u64,
    /// The digest of the whole file.
    pub(super) digest: Digest,
}

/// The manifest's entry for a segment and its file of deleted ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SegmentEntry {
    /// The number in the name of the file.
    pub(super) number: u64,
    /// The length of the file in bytes.
    pub(super) bytes: u64,
    /// The number of ids in the segment, including deleted ones.
    pub(super) rows: u64,
    /// A range that contains all ids of the segment.
    pub(super) ids: RangeInclusive<u64>,
    /// The [`Segment::digest`] of the file; `None` if the manifest is from before version 3.
    pub(super) digest: Option<Digest>,
    /// The file of deleted ids; `None` if no id is deleted.
    pub(super) deleted: Option<TombstoneFile>,
}

/// A file of deleted ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TombstoneFile {
    /// The number in the name of the file.
    pub(super) number: u64,
    /// The number of ids in the file, at least one.
    pub(super) count: u64,
    /// The digest of the whole file; `None` if the manifest is from before version 3.
    pub(super) digest: Option<Digest>,
}

impl SegmentEntry {
    /// Creates the entry of a new segment, of which no id is deleted.
    pub(super) fn new<W: Width>(number: u64, segment: &Segment<W>, ids: RangeInclusive<u64>) -> Self {
        Self {
            number,
            bytes: segment.bytes(),
            rows: segment.len(),
            ids,
            digest: Some(segment.digest()),
            deleted: None,
        }
    }

    /// Creates the entry of a segment that the caller has written. All ids of the segment are read.
    pub(super) fn of<W: Width>(number: u64, segment: &Segment<W>) -> Result<Self, StoreError> {
        let (mut first, mut last) = (u64::MAX, 0);
        for id in segment.ids() {
            let id = id?;
            (first, last) = (first.min(id), last.max(id));
        }
        Ok(Self::new(number, segment, first..=last))
    }

    /// The number of deleted ids.
    pub(super) fn deleted_ids(&self) -> u64 {
        self.deleted.map_or(0, |deleted| deleted.count)
    }

    /// Returns `true` if the entry has digests of the segment and of its file of deleted ids.
    pub(super) fn is_bound(&self) -> bool {
        self.digest.is_some() && self.deleted.is_none_or(|deleted| deleted.digest.is_some())
    }
}

/// The reason why bytes are not a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ManifestError {
    /// The bytes are damaged, as the text describes.
    Damaged(&'static str),
    /// The manifest has a version that cannot be read.
    Version(u32),
}

impl Manifest {
    /// The version in which the manifest is written.
    pub(super) fn written_version(&self) -> u32 {
        if self.names.is_some() {
            VERSION
        } else {
            BOUND_VERSION
        }
    }

    /// Encodes the manifest.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        for number in [
            self.written_version(),
            self.bits,
            self.radius,
            self.label.len() as u32,
        ] {
            out.extend(number.to_le_bytes());
        }
        let segments = self.segments.len() as u64;
        for number in [self.generation, self.checkpoint, self.next, segments] {
            out.extend(number.to_le_bytes());
        }
        for number in self.codec.numbers() {
            out.extend(number.to_le_bytes());
        }
        if let Some(names) = &self.names {
            out.extend(names.number.to_le_bytes());
            out.extend(names.count.to_le_bytes());
            out.extend(Digest::stored(Some(names.digest)).to_le_bytes());
        }
        out.extend(self.label.as_bytes());
        for e in &self.segments {
            // The number 0 stands for no file of deleted ids, because files are numbered from 1.
            let tombstones = e.deleted.map_or(0, |deleted| deleted.number);
            let (first, last) = (*e.ids.start(), *e.ids.end());
            for number in [
                e.number,
                e.bytes,
                e.rows,
                first,
                last,
                tombstones,
                e.deleted_ids(),
            ] {
                out.extend(number.to_le_bytes());
            }
            for digest in [e.digest, e.deleted.and_then(|deleted| deleted.digest)] {
                out.extend(Digest::stored(digest).to_le_bytes());
            }
        }
        sealed(out)
    }

    /// Decodes a manifest. O(bytes) time and memory for any input.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, ManifestError> {
        let damaged = ManifestError::Damaged;
        if !bytes.starts_with(&MAGIC) {
            return Err(damaged("its first bytes are not those of a manifest"));
        }
        // The checksum is verified before the version is read, so that a flipped bit in the version is reported as
        // damage.
        let body = unsealed(bytes).ok_or(damaged("the checksum does not match"))?;
        let mut from = Reader(&body[MAGIC.len().min(body.len())..]);
        match from.u32() {
            Some(version @ 1..=VERSION) => {
                Self::fields(version, &mut from).ok_or(damaged("its fields contradict one another"))
            }
            Some(version) => Err(ManifestError::Version(version)),
            None => Err(damaged("its end is missing")),
        }
    }

    /// Decodes the fields after the version.
    fn fields(version: u32, from: &mut Reader<'_>) -> Option<Self> {
        let [bits, radius, label] = [from.u32()?, from.u32()?, from.u32()?];
        let [generation, checkpoint, next, count] = [from.u64()?, from.u64()?, from.u64()?, from.u64()?];
        let codec = if version == 1 {
            // Version 1 had one codec.
            Codec::Packed(DirectoryForm::Plain)
        } else {
            Codec::from_numbers([from.u32()?, from.u32()?, from.u32()?])?
        };
        let names = match version {
            VERSION => Some(NamesFile {
                number: from.u64()?,
                count: from.u64()?,
                digest: Digest::from_stored(from.u128()?)?,
            }),
            _ => None,
        };
        let label = str::from_utf8(from.take(label as usize)?).ok()?;
        let mut segments = Vec::new();
        while !from.0.is_empty() {
            segments.push(entry(version, from)?);
        }
        let manifest = Self {
            version,
            bits,
            radius,
            codec,
            label: label.to_owned(),
            generation,
            checkpoint,
            next,
            segments,
            names,
        };
        let mut numbers = HashSet::new();
        let named = manifest
            .segments
            .iter()
            .flat_map(|e| [Some(e.number), e.deleted.map(|deleted| deleted.number)])
            .chain([manifest.names.map(|names| names.number)]);
        let distinct = named
            .flatten()
            .all(|number| (1..manifest.next).contains(&number) && numbers.insert(number));
        let whole = manifest.segments.len() as u64 == count && label.len() <= MAX_LABEL;
        (distinct && whole).then_some(manifest)
    }
}

fn entry(version: u32, from: &mut Reader<'_>) -> Option<SegmentEntry> {
    let [number, bytes, rows] = [from.u64()?, from.u64()?, from.u64()?];
    let ids = from.u64()?..=from.u64()?;
    let [deleted, count] = [from.u64()?, from.u64()?];
    let [digest, of_deleted] = match version {
        1 | 2 => [None; 2],
        _ => [from.u128()?, from.u128()?].map(Digest::from_stored),
    };
    let deleted = (deleted != 0).then_some(TombstoneFile {
        number: deleted,
        count,
        digest: of_deleted,
    });
    let entry = SegmentEntry {
        number,
        bytes,
        rows,
        ids,
        digest,
        deleted,
    };
    let is_bound = version < 3 || (digest.is_some() && deleted.is_some() == of_deleted.is_some());
    (deleted.is_some() == (count > 0) && is_bound).then_some(entry)
}
