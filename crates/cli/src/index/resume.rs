//! The identity of a build: its settings and a summary of its input. The journal stores both, so that an interrupted
//! build is resumed only with the same input and the same settings.

use std::path::Path;

use twinprint::segment::{self, SegmentError};
use twinprint::store::Settings;

use crate::terminal;

/// The message after Ctrl-C if no complete table can be reused.
pub(super) const INTERRUPTED: &str = "interrupted; nothing was added";
/// The message after Ctrl-C if complete tables can be reused.
pub(super) const RESUMABLE: &str = "interrupted; the same command resumes the build";

/// Serializes what identifies a build before its input is read: the settings of the index, and whether the input has
/// ids of its own. The segment itself compares tables and codec; [`InputSummary::digest`] identifies the input.
pub(super) fn work(has_ids: bool, settings: &Settings) -> Vec<u8> {
    let mut out = settings.radius.to_le_bytes().to_vec();
    out.push(u8::from(has_ids));
    out.extend(settings.label.as_bytes());
    out
}

/// A summary of the input of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InputSummary {
    /// The digest of all fingerprints and their ids.
    pub(super) digest: u128,
    /// The largest id plus one.
    pub(super) next: u64,
    /// True if each id is larger than the one before. Then no id occurs twice.
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

/// Converts the error of a build that ended early. If its complete tables can be reused, the message or a note says so.
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
