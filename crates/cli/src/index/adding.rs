//! The note of an `index add` under the next free ids: a file in the directory of the index.
//!
//! The note is durable before the fingerprints are committed, and is removed after that. A note that is found belongs to an add that was killed. Its
//! fingerprints were committed if the next free id is the one after theirs: every add removes the note of an earlier one before it changes the index,
//! and only an add changes the next free id. If the next add is the same one, its fingerprints must not be added a second time.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// The name of the note.
const NOTE: &str = "adding";

/// An add under the next free ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Add {
    /// The digest of the fingerprints.
    pub(super) digest: u128,
    /// Their ids.
    pub(super) ids: Range<u64>,
}

/// The file of the note.
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

    /// `true` if this add, of `count` fingerprints, was committed and `next` is the next free id since.
    pub(super) fn is_last(&self, count: u64, next: u64) -> bool {
        let Range { start, end } = self.ids;
        end == next && count > 0 && start.checked_add(count) == Some(end)
    }
}

impl NoteFile {
    /// The note of the index in `dir`.
    pub(super) fn in_dir(dir: &Path) -> Self {
        Self { path: dir.join(NOTE) }
    }

    /// The add that is noted. An incomplete note belongs to an add that committed nothing.
    pub(super) fn read(&self) -> anyhow::Result<Option<Add>> {
        match fs::read_to_string(&self.path) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidData) => Ok(None),
            read => Ok(Add::parse(&read.with_context(|| self.named())?)),
        }
    }

    /// Notes an add durably.
    pub(super) fn write(&self, add: &Add) -> anyhow::Result<()> {
        let write = || {
            let mut file = File::create(&self.path)?;
            file.write_all(add.text().as_bytes())?;
            file.sync_all()?;
            self.sync()
        };
        write().with_context(|| self.named())
    }

    /// Removes the note of an earlier add durably, if there is one.
    pub(super) fn remove(&self) -> anyhow::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed.and_then(|()| self.sync()).with_context(|| self.named()),
        }
    }

    /// Removes the note of an add that ends.
    ///
    /// There is no sync: a kill during it would leave a committed add without its note. A power cut may restore the
    /// note. Then the same add is treated as a repetition, as after a kill.
    pub(super) fn end(&self) -> anyhow::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed.with_context(|| self.named()),
        }
    }

    /// Makes names in the directory durable.
    fn sync(&self) -> io::Result<()> {
        // On systems other than Unix a directory cannot be opened as a file, and names are durable without a sync.
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
