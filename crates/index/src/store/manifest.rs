//! The manifest: the list of the files of an index. It is replaced as a whole, by a rename; `FORMAT.md` of the crate
//! specifies it byte by byte.
//!
//! Invariants of a manifest that was decoded: the numbers of files are distinct and below `next`, so that a new file
//! never gets the name of one in use; the checksum matches all bytes.
//!
//! Every file is bound by a digest of its content. A file of another index, or of another state of this one, is refused
//! although it is complete.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use twinprint_fingerprint::Width;

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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn codec() -> impl Strategy<Value = Codec> {
        prop_oneof![
            Just(Codec::Packed(DirectoryForm::Compact)),
            Just(Codec::Packed(DirectoryForm::Plain)),
            Just(Codec::Packed(DirectoryForm::EliasFano)),
            (1u32..=1 << 16).prop_map(|page_rows| Codec::Huffman { page_rows }),
        ]
    }

    fn manifest() -> impl Strategy<Value = Manifest> {
        let digest = || any::<[u8; 8]>().prop_map(|content| Some(Digest::of(&content)));
        let deleted = (1u64.., digest()).prop_map(|(count, digest)| TombstoneFile {
            number: 0,
            count,
            digest,
        });
        let entry =
            (any::<[u64; 4]>(), digest(), prop::option::of(deleted)).prop_map(|(n, digest, deleted)| {
                SegmentEntry {
                    number: 0,
                    bytes: n[0],
                    rows: n[1],
                    ids: n[2]..=n[3],
                    digest,
                    deleted,
                }
            });
        let fields = (
            16u32..=128,
            0u32..25,
            any::<[u64; 2]>(),
            "[a-z0-9-]{0,40}",
            codec(),
        );
        let names = (any::<u64>(), any::<[u8; 8]>()).prop_map(|(count, content)| NamesFile {
            number: 0,
            count,
            digest: Digest::of(&content),
        });
        (
            fields,
            prop::collection::vec(entry, 0..6),
            prop::option::of(names),
        )
            .prop_map(|((bits, radius, n, label, codec), mut segments, mut names)| {
                let mut next = 1..;
                for e in &mut segments {
                    e.number = next.next().unwrap();
                    if let Some(deleted) = &mut e.deleted {
                        deleted.number = next.next().unwrap();
                    }
                }
                if let Some(names) = &mut names {
                    names.number = next.next().unwrap();
                }
                Manifest {
                    version: if names.is_some() { VERSION } else { BOUND_VERSION },
                    bits,
                    radius,
                    codec,
                    label,
                    generation: n[0],
                    checkpoint: n[1],
                    next: next.next().unwrap(),
                    segments,
                    names,
                }
            })
    }

    proptest! {
        #[test]
        fn decoding_restores_the_manifest(manifest in manifest()) {
            prop_assert_eq!(Manifest::decode(&manifest.encode()), Ok(manifest));
        }

        #[test]
        fn every_flipped_byte_and_every_truncation_is_detected(manifest in manifest(), mask in 1u8..) {
            let bytes = manifest.encode();
            for at in 0..bytes.len() {
                let mut flipped = bytes.clone();
                flipped[at] ^= mask;
                prop_assert!(matches!(Manifest::decode(&flipped), Err(ManifestError::Damaged(_))), "byte {}", at);
                prop_assert!(matches!(Manifest::decode(&bytes[..at]), Err(ManifestError::Damaged(_))), "{} bytes", at);
            }
            let longer = [&bytes[..], &[0]].concat();
            prop_assert!(Manifest::decode(&longer).is_err());
        }

        #[test]
        fn decoding_any_bytes_with_a_correct_checksum_causes_no_panic(mut body: Vec<u8>, from in manifest(), at: prop::sample::Index, byte: u8) {
            let _refused_or_not = Manifest::decode(&body);
            body = from.encode();
            body.truncate(body.len() - 4);
            let at = at.index(body.len());
            body[at] = byte;
            let sum = crc32fast::hash(&body);
            body.extend(sum.to_le_bytes());
            if let Ok(decoded) = Manifest::decode(&body) {
                // A manifest of this version must have digests; one of an earlier version has none.
                if decoded.version >= BOUND_VERSION {
                    prop_assert_eq!(decoded.encode(), body);
                } else {
                    prop_assert!(decoded.segments.iter().all(|e| !e.is_bound()));
                }
            }
        }
    }

    #[test]
    fn a_later_version_is_reported() {
        let manifest = Manifest {
            version: BOUND_VERSION,
            bits: 64,
            radius: 3,
            codec: Codec::default(),
            label: String::new(),
            generation: 1,
            checkpoint: 0,
            next: 1,
            segments: Vec::new(),
            names: None,
        };
        let mut bytes = manifest.encode();
        bytes.truncate(bytes.len() - 4);
        bytes[8] = 5;
        let sum = crc32fast::hash(&bytes);
        bytes.extend(sum.to_le_bytes());
        assert_eq!(Manifest::decode(&bytes), Err(ManifestError::Version(5)));
    }

    #[test]
    fn a_file_without_a_digest_is_refused() {
        let of = Some(Digest::of(b"content"));
        let with = |digest, of_deleted| Manifest {
            version: BOUND_VERSION,
            bits: 64,
            radius: 3,
            codec: Codec::default(),
            label: String::new(),
            generation: 1,
            checkpoint: 0,
            next: 3,
            segments: vec![SegmentEntry {
                number: 1,
                bytes: 0,
                rows: 1,
                ids: 0..=0,
                digest,
                deleted: Some(TombstoneFile {
                    number: 2,
                    count: 1,
                    digest: of_deleted,
                }),
            }],
            names: None,
        };
        assert!(Manifest::decode(&with(of, of).encode()).is_ok());
        for unbound in [with(None, of), with(of, None), with(None, None)] {
            assert!(Manifest::decode(&unbound.encode()).is_err(), "{unbound:?}");
        }
    }
}
