//! Errors that prevent a service from starting.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The reason why a service could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A directory cannot be created or read.
    #[error("{}: the directory cannot be created or read: {source}", .path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A path that must be a directory is a file, or is inside a file.
    #[error(
        "{}: this path cannot be {expected}, because it or one of its parents is a file; choose another path",
        .path.display()
    )]
    NotADirectory {
        /// The path that was given.
        path: PathBuf,
        /// The role of the directory, such as "the directory for backups".
        expected: &'static str,
    },
    /// The backup directory is inside the directory of the collections.
    #[error(
        "{}: the backup directory must not be inside the directory of the collections; choose another path",
        .0.display()
    )]
    BackupsInsideCollections(PathBuf),
    /// The token file cannot be read or is invalid.
    #[error("{}: the token file cannot be used: {reason}", .path.display())]
    TokenFile {
        /// The file.
        path: PathBuf,
        /// The reason, and the token that is invalid.
        reason: String,
    },
    /// The job list cannot be read.
    #[error("{}: cannot read the job list ({source}); move the file away to start with an empty list", .path.display())]
    JobList {
        /// The file of the list.
        path: PathBuf,
        /// The error of the operating system, or of parsing the file.
        source: io::Error,
    },
    /// The metrics cannot be registered.
    #[error("the metrics cannot be registered: {0}")]
    Metrics(#[from] prometheus::Error),
    /// The address is not a loopback address, and there is no token file.
    #[error(
        "{0} is not a loopback address, and without a token file everyone who can reach it could read and delete \
         all data; give a token file, or listen on 127.0.0.1"
    )]
    TokensRequired(SocketAddr),
    /// The service cannot listen on the address.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The service cannot start its threads.
    #[error("cannot start the threads of the service: {0}")]
    Threads(io::Error),
}
