//! Detects the kind of a file from its first bytes.

use std::fs::File;
use std::path::Path;
use std::str::from_utf8;
use std::sync::Arc;

use twinprint_text::charset::{ByteOrderMark, is_binary};

use super::block::BOM;
use super::codec_check;
use super::decode::{self, UnpackLimits};
use super::format::{Codec, Format};
use super::warc;

/// The number of bytes that are read to detect the kind of a file.
const MAX_SNIFFED_BYTES: u64 = 8 << 10;

/// The first bytes of a file, after decompression.
pub(super) enum FileHead {
    Bytes {
        bytes: Vec<u8>,
        /// True if the file may have more bytes than these: it is longer than 8 KiB, or it is damaged after these
        /// bytes. Reading it later reports the damage.
        more: bool,
    },
    /// The file cannot be opened. Reading it later reports the reason.
    Unreadable,
    /// The file is not compressed with the codec that its name states.
    NotPacked,
}

impl FileHead {
    pub(super) fn read(path: &Path, codec: Codec) -> Self {
        let limits = UnpackLimits::default();
        let opened = File::open(path);
        let Ok(mut stream) =
            opened.and_then(|file| decode::open(file, codec, MAX_SNIFFED_BYTES, limits, &Arc::default()))
        else {
            return Self::Unreadable;
        };
        let mut bytes = Vec::new();
        let read = stream.append_to(&mut bytes, MAX_SNIFFED_BYTES);
        if read.is_err() && bytes.is_empty() && !begins_packed(path, codec) {
            return Self::NotPacked;
        }
        Self::Bytes {
            more: read.is_err() || bytes.len() as u64 == MAX_SNIFFED_BYTES,
            bytes,
        }
    }

    /// Returns true if the file begins with valid UTF-8 without NUL, or if it cannot be read.
    pub(super) fn is_utf8(&self) -> bool {
        let (bytes, more) = match self {
            Self::Bytes { bytes, more } => (bytes, *more),
            Self::Unreadable => return true,
            Self::NotPacked => return false,
        };
        let valid = match from_utf8(bytes) {
            Ok(_) => true,
            // The first bytes may end in the middle of a character.
            Err(e) => e.error_len().is_none() && more,
        };
        valid && !bytes.contains(&0)
    }

    /// Returns true if the file begins with text in any charset, or if it cannot be read.
    pub(super) fn is_text(&self) -> bool {
        match self {
            Self::Bytes { bytes, .. } => ByteOrderMark::at_start(bytes).is_some() || !is_binary(bytes),
            Self::Unreadable | Self::NotPacked => true,
        }
    }

    /// Returns true if the file is not empty and begins like a file of this format.
    #[cfg(feature = "tables")]
    pub(super) fn begins_like(&self, format: Format) -> bool {
        let is_empty = matches!(self, Self::Bytes { bytes, .. } if bytes.is_empty());
        !is_empty && self.may_be(format)
    }

    /// Returns true if the file may be of a format that has a magic number: an Arrow file or stream, a Parquet file, or
    /// a web archive. An empty or unreadable file may be of any of these. Returns false for all other formats.
    pub(super) fn may_be(&self, format: Format) -> bool {
        let bytes = match self {
            Self::Bytes { bytes, .. } => bytes.as_slice(),
            Self::Unreadable | Self::NotPacked => &[],
        };
        let begins = match format {
            Format::Warc => warc::has_record(bytes.strip_prefix(BOM).unwrap_or(bytes)),
            #[cfg(feature = "tables")]
            Format::Parquet => bytes.starts_with(b"PAR1") || bytes.starts_with(b"PARE"),
            // An Arrow stream begins with the continuation marker 0xffffffff. In old versions it begins with a length,
            // whose highest byte is 0.
            #[cfg(feature = "tables")]
            Format::Arrow if ByteOrderMark::at_start(bytes).is_none() => {
                bytes.starts_with(b"ARROW1")
                    || bytes.starts_with(&[0xff; 4])
                    || bytes.starts_with(b"FEA1")
                    || bytes.get(3) == Some(&0)
            }
            #[cfg(feature = "tables")]
            Format::Arrow => false,
            _ => return false,
        };
        begins || bytes.is_empty()
    }
}

/// Returns true if a file begins with the magic number of `codec`.
fn begins_packed(path: &Path, codec: Codec) -> bool {
    let magic = File::open(path).and_then(codec_check::first_bytes);
    magic.is_ok_and(|magic| Codec::of_magic(&magic) == codec)
}
