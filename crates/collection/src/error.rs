//! The errors of collections.

use std::path::{Path, PathBuf};

/// The reason why a call on a collection failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectionError {
    /// The directory contains no collection.
    #[error("{}: the directory contains no collection ({why}); check the path", .path.display())]
    NotThere {
        /// The directory.
        path: PathBuf,
        /// The file that is missing.
        why: String,
    },
    /// The target directory of a new collection, a backup, a restore or a repair is not empty.
    #[error(
        "{}: the directory is not empty; choose an empty directory, or a path that does not exist",
        .path.display()
    )]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// Another process has the collection open for writing, or this process opens it for writing while others have it
    /// open for reading.
    #[error(
        "{}: the collection is open in another process; close it there first (only readers can share a collection)",
        .path.display()
    )]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// A parameter, a setting or a document is invalid. The text names the value and says what is wrong.
    #[error("{0}")]
    Invalid(String),
    /// The text has no features, and the collection refuses such texts.
    #[error(
        "the text has no words (it is empty or has only punctuation), and this collection refuses texts without words"
    )]
    EmptyText,
    /// A value exceeds its limit.
    #[error("{what}: {got} is more than the limit of {limit}")]
    Limit {
        /// The name of the value that is too large.
        what: &'static str,
        /// The largest value that is allowed.
        limit: u64,
        /// The value that was given.
        got: u64,
    },
    /// The collection contains no document with this id.
    #[error("the collection has no document with the id {id:?}")]
    NoDocument {
        /// The id.
        id: String,
    },
    /// The collection contains no story with this number.
    #[error("the collection has no story {0}")]
    NoStory(u64),
    /// The collection was created without stories.
    #[error(
        "this collection keeps no stories; to get stories, create a new collection with the setting stories = true"
    )]
    NoStories,
    /// The collection contains no group with this number.
    #[error("the collection has no group {0}")]
    NoGroup(u64),
    /// The file of the collection is damaged: bytes that were read differ from those that were written.
    #[error(
        "{}: the collection is damaged: {what}; restore a backup, or recover the readable documents with \
         twinprint collection repair {} TO",
        .path.display(), dir(.path)
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The damage that was found.
        what: String,
    },
    /// A repair failed, because no document of the damaged collection can be recovered.
    #[error(
        "{}: the collection is damaged: {what}; no document can be recovered, so no new collection was created; \
         restore a backup",
        .path.display()
    )]
    BeyondRepair {
        /// The file.
        path: PathBuf,
        /// The damage that was found.
        what: String,
    },
    /// The collection refuses writes: it is open for reading only, its file is not writable, or an earlier write
    /// failed.
    #[error("{}: {why}", .path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
        /// The reason why the collection refuses writes.
        why: String,
    },
    /// A newer version of twinprint created the collection, in a format that this version cannot read.
    #[error(
        "{}: the collection has format {got}, but this version of twinprint reads formats up to {known}; \
         use a newer version",
        .path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The format of the collection.
        got: u32,
        /// The newest format that this version reads.
        known: u32,
    },
    /// Reading or writing a file or directory failed.
    #[error("{}: {why}", .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The error message of the operating system.
        why: String,
    },
    /// The collection's queue of writes is full. The same call can succeed a moment later.
    #[error("the queue of writes is full ({waiting} writes are waiting); try again in a moment")]
    Busy {
        /// The number of writes in the queue.
        waiting: u64,
    },
    /// The caller cancelled the operation.
    #[error("the operation was cancelled")]
    Cancelled,
    /// The collection is closed, or is being closed.
    #[error("the collection is closed; open it again")]
    Closed,
}

/// Returns the directory that contains a collection's file.
fn dir(file: &Path) -> std::path::Display<'_> {
    file.parent().unwrap_or(file).display()
}

impl CollectionError {
    pub(crate) fn io(path: &Path, error: &std::io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            why: error.to_string(),
        }
    }

    pub(crate) fn invalid(why: impl Into<String>) -> Self {
        Self::Invalid(why.into())
    }
}
