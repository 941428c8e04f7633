//! What a build is of, and what it knows once it has read its input: kept beside what it writes, so that the same command, and no other, goes
//! on after an interruption without reading the input again.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use twinprint::segment::{self, SegmentError};
use twinprint::store::Settings;

use super::files::IdArgs;
use crate::terminal;

/// What is said after Ctrl-C.
pub(super) const INTERRUPTED: &str = "interrupted; nothing was added";
/// What is said after it where something was kept.
const GOES_ON: &str = "interrupted; the same command goes on from there";

/// What a build is of: which files, how long they are and when they were changed last, where ids come from, and what the index is told of itself.
/// The tables and how rows are stored are compared with what was written. `None` where that cannot be told, as of a pipe.
pub(super) fn work(inputs: &[PathBuf], ids: &IdArgs, settings: &Settings) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    out.extend(settings.radius.to_le_bytes());
    put(&mut out, settings.label.as_bytes());
    out.push(u8::from(ids.positions));
    out.push(u8::from(ids.ids.is_some()));
    for path in ids.ids.iter().chain(inputs) {
        put(
            &mut out,
            fs::canonicalize(path).ok()?.as_os_str().as_encoded_bytes(),
        );
        let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        let changed = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        out.extend(metadata.len().to_le_bytes());
        out.extend(changed.as_nanos().to_le_bytes());
    }
    Some(out)
}

/// Bytes behind their number, so that no two lists of them look the same.
fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend((bytes.len() as u64).to_le_bytes());
    out.extend(bytes);
}

/// What is known of ids that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// The id after the largest.
    pub(super) next: u64,
    /// Each was above the one before, so that none is there twice.
    pub(super) ascending: bool,
}

impl Known {
    pub(super) fn written(self) -> Vec<u8> {
        let mut out = self.next.to_le_bytes().to_vec();
        out.push(u8::from(self.ascending));
        out
    }

    pub(super) fn read(notes: &[u8]) -> Option<Self> {
        let (&ascending, next) = notes.split_last()?;
        Some(Self {
            next: u64::from_le_bytes(next.try_into().ok()?),
            ascending: ascending == 1,
        })
    }
}

/// The error of a build that ended too early, and what becomes of what it wrote.
pub(super) fn ended(path: &Path, error: SegmentError) -> anyhow::Error {
    let [_, journal] = segment::unfinished(path);
    match (error, journal.exists()) {
        (SegmentError::Stopped, true) => anyhow::anyhow!(GOES_ON),
        (SegmentError::Stopped, false) => anyhow::anyhow!(INTERRUPTED),
        (error, kept) => {
            if kept {
                terminal::note("what was written stays; the same command goes on from there");
            }
            error.into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_comes_back() {
        for (next, ascending) in [(0, true), (u64::MAX, false), (7, true)] {
            let known = Known { next, ascending };
            assert_eq!(Known::read(&known.written()), Some(known));
        }
        assert_eq!(Known::read(&[]), None);
        assert_eq!(Known::read(&[1; 8]), None);
    }
}
