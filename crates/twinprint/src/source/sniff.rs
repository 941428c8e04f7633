//! What a file holds by its first bytes.

use std::io::Read;
use std::path::Path;
use std::str::from_utf8;
use std::sync::Arc;

use text::charset::{Charset, is_binary};

use super::decode::{self, Unpacking};
use super::format::{Codec, Format};
use super::split::BOM;
use super::warc;

/// Bytes looked at.
const SNIFF: u64 = 8 << 10;

/// The first bytes of a file, unpacked.
pub(crate) enum Head {
    Bytes(Vec<u8>),
    /// The file cannot be opened. Reading it reports why.
    Unreadable,
    /// The file is packed, and damaged. Reading it reports why.
    Damaged,
}

impl Head {
    pub(crate) fn read(path: &Path, codec: Codec) -> Self {
        let Ok(stream) = decode::open(path, codec, SNIFF, Unpacking::default(), &Arc::default()) else {
            return Self::Unreadable;
        };
        let mut bytes = Vec::new();
        match stream.take(SNIFF).read_to_end(&mut bytes) {
            Ok(_) => Self::Bytes(bytes),
            Err(_) => Self::Damaged,
        }
    }

    /// Whether the file begins with UTF-8 without NUL. An unreadable one does, a damaged one does not.
    pub(crate) fn is_utf8(&self) -> bool {
        let bytes = match self {
            Self::Bytes(bytes) => bytes,
            Self::Unreadable => return true,
            Self::Damaged => return false,
        };
        let valid = match from_utf8(bytes) {
            Ok(_) => true,
            // The cut may go through a character.
            Err(e) => e.error_len().is_none() && bytes.len() as u64 == SNIFF,
        };
        valid && !bytes.contains(&0)
    }

    /// Whether the file begins like text in any charset. One that cannot be read does.
    pub(crate) fn is_text(&self) -> bool {
        match self {
            Self::Bytes(bytes) => Charset::of_mark(bytes).is_some() || !is_binary(bytes),
            Self::Unreadable | Self::Damaged => true,
        }
    }

    /// Whether the file begins as files of a format do that has a mark of its own: an Arrow file or stream, a Parquet file, a web
    /// archive. Any file may be of the other formats, and an empty or unreadable one of every format.
    pub(crate) fn may_be(&self, format: Format) -> bool {
        let Self::Bytes(bytes) = self else { return true };
        if bytes.is_empty() {
            return true;
        }
        match format {
            Format::Warc => warc::has_record(bytes.strip_prefix(BOM).unwrap_or(bytes)),
            #[cfg(feature = "tables")]
            Format::Parquet => bytes.starts_with(b"PAR1") || bytes.starts_with(b"PARE"),
            // A stream begins with a mark, or in old versions with a length whose high byte is 0.
            #[cfg(feature = "tables")]
            Format::Arrow => {
                bytes.starts_with(b"ARROW1")
                    || bytes.starts_with(&[0xff; 4])
                    || bytes.starts_with(b"FEA1")
                    || bytes.get(3) == Some(&0)
            }
            _ => true,
        }
    }
}
