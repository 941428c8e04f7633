//! A note beside an index of the fingerprints that `index add` is adding under the next free ids.
//!
//! The note is durable before the fingerprints are committed, and deleted after that. If it is found, the add that wrote it was killed. The next
//! free id then tells whether its fingerprints were committed: if the same add is run again, they must not be added a second time.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use twinprint::raw::RawFiles;

/// The name of the note.
const NOTE: &str = "adding";

/// An add that is noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Add {
    /// A hash of the fingerprints.
    hash: u64,
    /// Their ids, of which the last one is left out.
    ids: (u64, u64),
}

/// The note of an add that is under way.
#[derive(Debug)]
pub(super) struct Adding {
    path: PathBuf,
}

/// How an add begins.
#[derive(Debug)]
pub(super) enum Beginning {
    Noted(Adding),
    /// It was killed after its fingerprints were committed, under ids from this one on.
    Done {
        first: u64,
    },
}

impl Add {
    fn text(self) -> String {
        format!("{} {} {}\n", self.hash, self.ids.0, self.ids.1)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.strip_suffix('\n')?.split(' ').map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some(Self {
            hash: next()?,
            ids: (next()?, next()?),
        })
    }
}

impl Adding {
    /// Notes that the fingerprints of `files` are added to the index in `dir`, whose next free id is `next`.
    pub(super) fn begin(dir: &Path, files: &RawFiles, next: u64) -> anyhow::Result<Beginning> {
        let path = dir.join(NOTE);
        let named = || path.display().to_string();
        let hash = hash(files)?;
        let before = match fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            // A note that was not written to its end belongs to an add that committed nothing.
            read => Add::parse(&read.with_context(named)?),
        };
        if let Some(before) = before
            && !files.is_empty()
            && before.hash == hash
            && before.ids == (next.wrapping_sub(files.len()), next)
        {
            fs::remove_file(&path).with_context(named)?;
            let (first, _) = before.ids;
            return Ok(Beginning::Done { first });
        }
        let add = Add {
            hash,
            ids: (next, next.wrapping_add(files.len())),
        };
        write(&path, &add.text()).with_context(named)?;
        Ok(Beginning::Noted(Self { path }))
    }

    /// The fingerprints are committed, or will not be.
    pub(super) fn end(self) -> anyhow::Result<()> {
        fs::remove_file(&self.path).with_context(|| self.path.display().to_string())
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    // Elsewhere a directory cannot be opened as a file, and names are durable without it.
    match path.parent() {
        Some(dir) if cfg!(unix) => File::open(dir)?.sync_all(),
        _ => Ok(()),
    }
}

fn hash(files: &RawFiles) -> anyhow::Result<u64> {
    let mut hasher = DefaultHasher::new();
    files.read(0, |fingerprints, _| {
        for &fingerprint in fingerprints {
            hasher.write_u64(fingerprint);
        }
        anyhow::Ok(())
    })?;
    Ok(hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_comes_back_and_half_of_it_does_not() {
        let add = Add {
            hash: u64::MAX,
            ids: (17, 20),
        };
        let text = add.text();
        assert_eq!(Add::parse(&text), Some(add));
        for end in 0..text.len() {
            assert_eq!(Add::parse(&text[..end]), None, "{end}");
        }
    }
}
