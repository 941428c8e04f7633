//! What a collection refuses or cannot do.

use std::path::{Path, PathBuf};

/// Why a call on a collection failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectionError {
    /// No collection at that place.
    #[error("{}: no collection here ({why}); make one with twinprint collection create", .path.display())]
    NotThere {
        /// The directory asked for.
        path: PathBuf,
        /// What was missing.
        why: String,
    },
    /// Something is at the place where a new collection or a backup was to be made.
    #[error("{}: the directory is not empty; choose another", .path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// Another process writes to the collection, or reads it while this one would write.
    #[error("{}: the collection is open in another process; while one writes to it, no other may have it open", .path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// What was asked for cannot be: the caller's mistake.
    #[error("{0}")]
    Invalid(String),
    /// The text has no features, and the collection refuses such texts.
    #[error(
        "the text has no words: it is empty, or holds punctuation alone, and this collection refuses such texts"
    )]
    EmptyText,
    /// A figure is beyond its limit.
    #[error("{what}: {got} is more than the limit of {limit}")]
    Limit {
        /// What is limited.
        what: &'static str,
        /// The limit.
        limit: u64,
        /// What was given.
        got: u64,
    },
    /// No document of that id.
    #[error("no document {id:?}")]
    NoDocument {
        /// The id.
        id: String,
    },
    /// No story of that number.
    #[error("no story {0}")]
    NoStory(u64),
    /// The collection was made without stories.
    #[error("this collection keeps no stories; they are chosen when a collection is made")]
    NoStories,
    /// No group of that number.
    #[error("no group {0}")]
    NoGroup(u64),
    /// The stored bytes are not what was written.
    #[error(
        "{}: damaged: {what}; restore a backup, or save what is whole with twinprint collection repair {} TO", .path.display(), dir(.path)
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The part that does not fit.
        what: String,
    },
    /// A damaged collection of which no document can be saved.
    #[error("{}: damaged: {what}; no document can be saved, and nothing was written; restore a backup", .path.display())]
    BeyondRepair {
        /// The file.
        path: PathBuf,
        /// The part that does not fit.
        what: String,
    },
    /// The disk failed now or before.
    #[error("{}: {why}", .path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
        /// What failed first.
        why: String,
    },
    /// The store was written by a newer version.
    #[error("{}: written in format {got}, and this version reads up to {known}; use a newer twinprint", .path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        got: u32,
        /// The newest format known here.
        known: u32,
    },
    /// Reading or writing beside the store itself failed.
    #[error("{}: {why}", .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
        why: String,
    },
    /// More work waits than the queue holds.
    #[error("{waiting} documents wait to be written, as many as may; try again in a moment")]
    Busy {
        /// Documents waiting.
        waiting: u64,
    },
    /// The caller asked for an end before it was done.
    #[error("cancelled")]
    Cancelled,
    /// The collection is being closed.
    #[error("the collection is closed")]
    Closed,
}

/// The directory of a collection's file.
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
