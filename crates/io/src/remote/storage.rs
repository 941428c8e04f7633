//! A storage that is not a file system: how its objects are found and read.

use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use tokio::runtime::{Builder, Runtime};

use super::{Fetch, ObjectVersion};

/// A bucket, a web server, or a dataset of the Hugging Face Hub.
pub(crate) trait Storage: Fetch {
    /// The object at a path; `None` if there is none.
    fn find(&self, key: &str) -> io::Result<Option<Object>>;

    /// The objects below a folder, in no particular order. Empty if there is no such folder.
    fn list(&self, folder: &str) -> io::Result<Vec<Object>>;

    /// False for a web server, which has no list of its files.
    fn has_lists(&self) -> bool {
        true
    }
}

/// An object of a listing.
pub(crate) struct Object {
    pub(crate) version: ObjectVersion,
    /// The path in the storage.
    pub(crate) key: String,
    /// The time of the last change, if a listing tells it.
    pub(crate) modified: Option<SystemTime>,
}

/// Starts the thread on which a client runs.
pub(super) fn runtime() -> io::Result<Arc<Runtime>> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("object storage")
        .enable_all()
        .build()?;
    Ok(Arc::new(runtime))
}
