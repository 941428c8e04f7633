//! Errors of segments.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use crate::plan::PlanError;
use crate::plan::check::Counterexample;

/// The reason why a segment cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SegmentError {
    /// A file cannot be read or written.
    #[error("{}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file is not a segment, or its end is missing.
    #[error("{} is not a complete segment: {what}; build it again", path.display())]
    NotSegment {
        /// The file.
        path: PathBuf,
        /// The missing part, as part of the message.
        what: &'static str,
    },
    /// The file has another version of the format.
    #[error(
        "{} has format version {got}, but this program reads version {expected}; build the file again",
        path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// The version of the file.
        got: u32,
        /// The version that this program reads.
        expected: u32,
    },
    /// The fingerprints of the file have another width.
    #[error("{} contains fingerprints of {got} bits, but was opened for {expected} bits; open it with the width of its fingerprints", path.display())]
    Width {
        /// The file.
        path: PathBuf,
        /// The width of the fingerprints of the file, in bits.
        got: u32,
        /// The expected width, in bits.
        expected: u32,
    },
    /// The file is damaged.
    #[error("{} is damaged near byte {offset} ({what}); build it again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The offset of the first mismatch.
        offset: u64,
        /// The mismatch, as part of the message.
        what: &'static str,
    },
    /// The plan of the tables is not exact, so lookups would miss matches.
    #[error(transparent)]
    Inexact(#[from] Counterexample),
    /// No plan exists for the parameters.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// There are more distinct fingerprints than a segment can number, or an id that the options of the build excluded.
    #[error(
        "the input has 2^32 distinct fingerprints or more, which is too many for one segment; split the input"
    )]
    TooMany,
    /// The memory limit is below the minimum that the work needs.
    #[error(
        "at least {} of memory is needed, but only {} is allowed",
        Size(*.needed, u64::div_ceil), Size(*.allowed, |bytes, unit| bytes / unit)
    )]
    Memory {
        /// Bytes that the work needs.
        needed: u64,
        /// Bytes that are allowed.
        allowed: u64,
    },
    /// An interrupted build was made from other input or with other settings than the one that should resume it.
    #[error("{} is the journal of a build from other input or with other settings", path.display())]
    OtherWork {
        /// The journal of the build.
        path: PathBuf,
    },
    /// A lookup by whole keys would probe too many of them for one query.
    #[error(
        "a query would probe {keys} keys, and at most {} are allowed; choose a smaller radius or search by the directory",
        super::MAX_KEYS
    )]
    TooManyKeys {
        /// The number of keys.
        keys: u128,
    },
    /// The caller asked to stop.
    #[error("stopped")]
    Stopped,
}

/// A number of bytes, displayed in whole MiB or KiB. The function is the division that rounds it up or down.
struct Size(u64, fn(u64, u64) -> u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &Self(bytes, divide) = self;
        match bytes {
            0..1024 => write!(f, "{bytes} B"),
            1024..0x10_0000 => write!(f, "{} KiB", divide(bytes, 1 << 10)),
            _ => write!(f, "{} MiB", divide(bytes, 1 << 20)),
        }
    }
}

impl SegmentError {
    /// Returns an error if work that needs `needed` bytes of memory may use only `allowed` bytes.
    ///
    /// # Errors
    /// `Memory` if `needed` is greater than `allowed`.
    pub fn check_memory(needed: u64, allowed: u64) -> Result<(), Self> {
        if needed <= allowed {
            return Ok(());
        }
        Err(Self::Memory { needed, allowed })
    }

    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }
}
