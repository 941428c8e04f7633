//! Errors of segments.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use crate::plan::PlanError;
use crate::plan::check::Counterexample;

/// The reason why a segment cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SegmentError {
    /// The system refused to read or write.
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
        /// The missing part.
        what: &'static str,
    },
    /// Written by another version of the format.
    #[error("{} is of format version {got}, this program reads version {expected}; build it again", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        got: u32,
        /// The version that is read.
        expected: u32,
    },
    /// The fingerprints have another width.
    #[error("{} holds fingerprints of {got} bits, not {expected}", path.display())]
    Width {
        /// The file.
        path: PathBuf,
        /// Bits of its fingerprints.
        got: u32,
        /// Bits asked for.
        expected: u32,
    },
    /// The file is damaged.
    #[error("{} is damaged near byte {offset} ({what}); build it again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The offset of the first mismatch.
        offset: u64,
        /// The mismatch.
        what: &'static str,
    },
    /// The plan would miss matches.
    #[error(transparent)]
    Inexact(#[from] Counterexample),
    /// There is no plan for these parameters.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// More distinct fingerprints than a segment can number.
    #[error("a segment holds fewer than 2^32 distinct fingerprints; split the input")]
    TooMany,
    /// The memory limit is below the minimum that the work needs.
    #[error("this takes {} of memory or more; {} is allowed", Size(*.needed, u64::div_ceil), Size(*.allowed, |bytes, unit| bytes / unit))]
    Memory {
        /// Bytes that the work needs.
        needed: u64,
        /// Bytes that are allowed.
        allowed: u64,
    },
    /// An interrupted build was made from other input or with other settings than the one that should resume it.
    #[error("{} belongs to a build from other input or with other settings", path.display())]
    OtherWork {
        /// The journal of the build.
        path: PathBuf,
    },
    /// The caller asked to stop.
    #[error("stopped")]
    Stopped,
}

/// Bytes as whole MiB or KiB, by a division that rounds up or down.
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
    /// Checks that work which takes `needed` bytes of memory or more is possible within `allowed` bytes.
    ///
    /// # Errors
    /// `Memory`.
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
