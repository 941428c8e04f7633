//! The settings and the input of a build. Its journal has both, so that only a build of the same input with the same settings resumes after an interruption.

use std::path::Path;

use twinprint::segment::{self, SegmentError};
use twinprint::store::Settings;

use crate::terminal;

/// The error after Ctrl-C.
pub(super) const INTERRUPTED: &str = "interrupted; nothing was added";
/// The error after Ctrl-C if complete tables are kept.
pub(super) const RESUMABLE: &str = "interrupted; the same command resumes the build";

/// The part of a build's work that is known before its input is read: the settings of the index, and whether ids are positions. The segment
/// compares tables and codec itself; the input is compared by [`InputSummary::digest`].
pub(super) fn work(has_ids: bool, settings: &Settings) -> Vec<u8> {
    let mut out = settings.radius.to_le_bytes().to_vec();
    out.push(u8::from(has_ids));
    out.extend(settings.label.as_bytes());
    out
}

/// A summary of the input that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InputSummary {
    /// The digest of all fingerprints and ids.
    pub(super) digest: u128,
    /// The id after the largest one.
    pub(super) next: u64,
    /// True if each id was above the one before, so that no id occurs twice.
    pub(super) ascending: bool,
}

impl InputSummary {
    pub(super) fn written(self) -> Vec<u8> {
        let mut out = self.digest.to_le_bytes().to_vec();
        out.extend(self.next.to_le_bytes());
        out.push(u8::from(self.ascending));
        out
    }

    pub(super) fn read(notes: &[u8]) -> Option<Self> {
        let (digest, rest) = notes.split_first_chunk()?;
        let (next, rest) = rest.split_first_chunk()?;
        let &[ascending] = rest else { return None };
        Some(Self {
            digest: u128::from_le_bytes(*digest),
            next: u64::from_le_bytes(*next),
            ascending: ascending == 1,
        })
    }
}

/// The error of a build that ended too early. A note says whether its tables are kept.
pub(super) fn ended(path: &Path, error: SegmentError) -> anyhow::Error {
    let [_, journal] = segment::unfinished(path);
    match (error, journal.exists()) {
        (SegmentError::Stopped, true) => anyhow::anyhow!(RESUMABLE),
        (SegmentError::Stopped, false) => anyhow::anyhow!(INTERRUPTED),
        (error, kept) => {
            if kept {
                terminal::note("the tables written so far are kept; the same command resumes the build");
            }
            error.into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_summary_is_read_back() {
        for (digest, next, ascending) in [(0, 0, true), (u128::MAX, u64::MAX, false), (5 << 70, 7, true)] {
            let known = InputSummary {
                digest,
                next,
                ascending,
            };
            assert_eq!(InputSummary::read(&known.written()), Some(known));
        }
        for wrong in [0, 9, 24, 26] {
            assert_eq!(InputSummary::read(&vec![1; wrong]), None);
        }
    }
}
