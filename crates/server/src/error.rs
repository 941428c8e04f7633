//! The errors of starting a service.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// An error that prevents a service from starting.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A directory cannot be created or read.
    #[error("{}: {source}", .path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A path that must be a directory is a file.
    #[error("{}: not a directory; expected {expected}", .path.display())]
    NotADirectory {
        /// The file.
        path: PathBuf,
        /// The expected directory, such as "the directory for backups".
        expected: &'static str,
    },
    /// The backup directory is inside the directory of the collections.
    #[error("{}: the backup directory must not be inside the directory of the collections", .0.display())]
    BackupsInsideCollections(PathBuf),
    /// The token file cannot be read or is invalid.
    #[error("{}: {reason}", .path.display())]
    TokenFile {
        /// The file.
        path: PathBuf,
        /// The reason, with the entry concerned.
        reason: String,
    },
    /// The job list cannot be read.
    #[error("{}: cannot read the job list ({source}); move the file away to start with an empty list", .path.display())]
    JobList {
        /// The file of the list.
        path: PathBuf,
        /// The error of the system, or of parsing the file.
        source: io::Error,
    },
    /// The metrics cannot be registered.
    #[error("metrics: {0}")]
    Metrics(#[from] prometheus::Error),
    /// The address is not a loopback address, and there is no token file.
    #[error(
        "{0} is not a loopback address: without a token file, anyone who can reach it could read and delete everything"
    )]
    TokensRequired(SocketAddr),
    /// The service cannot listen on the address.
    #[error("{address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// The service cannot start its threads.
    #[error("cannot start the threads of the service: {0}")]
    Threads(io::Error),
}
