//! The note of `index add`: a file in the directory of the index that prevents adding the same fingerprints twice after
//! a kill. It is used if the fingerprints get the next free ids.
//!
//! The note is written durably before the fingerprints are committed, and removed afterwards. Thus if a note is found,
//! an `index add` was killed. Its fingerprints were committed if the next free id of the index is the end of the id
//! range in the note. (Every add removes an earlier note before it changes the index, and only adds change the next
//! free id.) If they were committed and the next add has the same fingerprints, it adds nothing.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// The file name of the note.
const NOTE: &str = "adding";

/// The content of a note: an add of fingerprints under the next free ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Add {
    /// The digest of the fingerprints.
    pub(super) digest: u128,
    /// The ids that the fingerprints get.
    pub(super) ids: Range<u64>,
}

/// The file of the note in the directory of an index.
#[derive(Debug)]
pub(super) struct NoteFile {
    path: PathBuf,
}

impl Add {
    fn text(&self) -> String {
        let Range { start, end } = self.ids;
        format!("{:032x} {start} {end}\n", self.digest)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut words = text.strip_suffix('\n')?.split(' ');
        let digest = u128::from_str_radix(words.next()?, 16).ok()?;
        let mut next = || words.next()?.parse().ok();
        let ids = next()?..next()?;
        Some(Self { digest, ids })
    }

    /// Returns `true` if this add was committed, and no ids were given out since. `count` is the number of its
    /// fingerprints, and `next` the next free id of the index.
    pub(super) fn is_last(&self, count: u64, next: u64) -> bool {
        let Range { start, end } = self.ids;
        end == next && count > 0 && start.checked_add(count) == Some(end)
    }
}

impl NoteFile {
    /// The note file of the index in the directory `dir`.
    pub(super) fn in_dir(dir: &Path) -> Self {
        Self { path: dir.join(NOTE) }
    }

    /// Reads the note. `None` if it does not exist or is incomplete: an incomplete note was not durable yet, so its add
    /// committed nothing.
    pub(super) fn read(&self) -> anyhow::Result<Option<Add>> {
        match fs::read_to_string(&self.path) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidData) => Ok(None),
            read => Ok(Add::parse(&read.with_context(|| self.named())?)),
        }
    }

    /// Writes the note durably.
    pub(super) fn write(&self, add: &Add) -> anyhow::Result<()> {
        let write = || {
            let mut file = File::create(&self.path)?;
            file.write_all(add.text().as_bytes())?;
            file.sync_all()?;
            self.sync()
        };
        write().with_context(|| self.named())
    }

    /// Removes the note durably, if it exists.
    pub(super) fn remove(&self) -> anyhow::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed.and_then(|()| self.sync()).with_context(|| self.named()),
        }
    }

    /// Removes the note at the end of an add.
    ///
    /// There is no sync: if the process were killed during it, the add would be committed but its note gone. After a
    /// power cut the note may exist again. Running the same add again then adds nothing, as after a kill.
    pub(super) fn end(&self) -> anyhow::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed.with_context(|| self.named()),
        }
    }

    /// Makes the creation or removal of files in the directory durable.
    fn sync(&self) -> io::Result<()> {
        // Only on Unix can a directory be opened for a sync. Other systems make file names durable without it.
        match self.path.parent() {
            Some(dir) if cfg!(unix) => File::open(dir)?.sync_all(),
            _ => Ok(()),
        }
    }

    fn named(&self) -> String {
        self.path.display().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complete_note_is_read_back_and_a_truncated_note_is_not() {
        let add = Add {
            digest: u128::MAX / 7,
            ids: 17..20,
        };
        let text = add.text();
        assert_eq!(Add::parse(&text).as_ref(), Some(&add));
        for end in 0..text.len() {
            assert_eq!(Add::parse(&text[..end]), None, "{end}");
        }
    }

    #[test]
    fn an_add_counts_as_committed_only_if_the_next_free_id_fits() {
        let add = Add {
            digest: 1,
            ids: 17..20,
        };
        assert!(add.is_last(3, 20));
        for (count, next) in [
            (3, 17),
            (3, 19),
            (3, 21),
            (2, 20),
            (4, 20),
            (0, 20),
            (u64::MAX, 20),
        ] {
            assert!(!add.is_last(count, next), "{count}, {next}");
        }
        assert!(
            !Add {
                digest: 1,
                ids: 20..20
            }
            .is_last(0, 20)
        );
    }
}
