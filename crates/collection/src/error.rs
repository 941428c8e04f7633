//! The errors of collections.

use std::path::{Path, PathBuf};

/// The error of a call on a collection.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectionError {
    /// The directory contains no collection.
    #[error("{}: no collection here ({why})", .path.display())]
    NotThere {
        /// The directory.
        path: PathBuf,
        /// The missing part.
        why: String,
    },
    /// The directory for a new collection or a backup is not empty.
    #[error("{}: the directory is not empty; choose another", .path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// Another process has the collection open for writing, or has it open for reading while this one opens it for
    /// writing.
    #[error("{}: the collection is open in another process; while one writes to it, no other may have it open", .path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// A parameter or a document is not allowed.
    #[error("{0}")]
    Invalid(String),
    /// The text has no features, and the collection refuses such texts.
    #[error("the text has no words: it is empty or only punctuation, and this collection refuses such texts")]
    EmptyText,
    /// A value exceeds its limit.
    #[error("{what}: {got} is more than the limit of {limit}")]
    Limit {
        /// The name of the value.
        what: &'static str,
        /// The limit.
        limit: u64,
        /// The given value.
        got: u64,
    },
    /// No document has the id.
    #[error("no document {id:?}")]
    NoDocument {
        /// The id.
        id: String,
    },
    /// No story has the number.
    #[error("no story {0}")]
    NoStory(u64),
    /// The collection was created without stories.
    #[error("this collection keeps no stories; only a new collection can be created with them")]
    NoStories,
    /// No group has the number.
    #[error("no group {0}")]
    NoGroup(u64),
    /// The stored bytes differ from the written ones.
    #[error(
        "{}: damaged: {what}; restore a backup, or save what can still be read with twinprint collection repair {} TO", .path.display(), dir(.path)
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The damaged part.
        what: String,
    },
    /// The collection is damaged, and no document can be saved.
    #[error("{}: damaged: {what}; no document can be saved, and nothing was written; restore a backup", .path.display())]
    BeyondRepair {
        /// The file.
        path: PathBuf,
        /// The damaged part.
        what: String,
    },
    /// The collection refuses writes: it is open for reading only, or a write failed.
    #[error("{}: {why}", .path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// The collection was created by a newer version.
    #[error("{}: written in format {got}, and this version reads up to {known}; use a newer twinprint", .path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        got: u32,
        /// The newest format that this version reads.
        known: u32,
    },
    /// Reading or writing a file or directory failed.
    #[error("{}: {why}", .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The message of the system.
        why: String,
    },
    /// The queue of writes is full.
    #[error("{waiting} documents wait to be written, and the queue is full; try again in a moment")]
    Busy {
        /// The number of waiting documents.
        waiting: u64,
    },
    /// The caller cancelled the operation.
    #[error("cancelled")]
    Cancelled,
    /// The collection is closed or closing.
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
