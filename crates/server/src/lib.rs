//! The HTTP service: collections over the network.
//!
//! [`Service::start`] opens the collections of a directory and answers until [`Service::stop`]. Routes are in
//! `route`, what a request may take in [`Limits`], who may do what in `tokens`.
//!
//! Invariants: nothing that takes a processor runs on the threads that serve connections; whatever waits is bounded, and beyond it the answer
//! is 429; an error is a problem object; no secret key and no fingerprint made under one leaves a collection; the service fetches nothing.
#![forbid(unsafe_code)]

mod body;
mod connection;
mod descriptors;
mod idempotency;
mod jobs;
mod limits;
mod listen;
mod log;
mod metrics;
mod model;
mod openapi;
mod origin;
mod page;
mod patient;
mod problem;
mod registry;
mod route;
mod seats;
mod tokens;
mod unread;
mod work;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub use limits::Limits;
pub use listen::Service;
pub use log::LogForm;

use tokio::sync::Semaphore;

use crate::body::Room;
use crate::idempotency::Idempotency;
use crate::jobs::Jobs;
use crate::log::Log;
use crate::metrics::Metrics;
use crate::registry::Registry;
use crate::tokens::Tokens;
use crate::work::Work;

/// How a service is set up.
#[derive(Clone, Debug)]
pub struct Options {
    /// The directory of the collections.
    pub dir: PathBuf,
    /// Where backups go that are asked for, outside of `dir`; without it there are none.
    pub backups: Option<PathBuf>,
    /// Where to listen.
    pub listen: SocketAddr,
    /// The token file; without one the service listens on the loopback interface alone.
    pub tokens: Option<PathBuf>,
    /// What requests may take.
    pub limits: Limits,
    /// What is written to stderr.
    pub log: LogForm,
}

/// Why a service did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The directory of the collections cannot be used.
    #[error("{}: {source}", .path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file where a directory is meant.
    #[error("{}: not a directory; name the directory {meant}", .path.display())]
    NotADirectory {
        /// The file.
        path: PathBuf,
        /// The contents of the directory that is meant.
        meant: &'static str,
    },
    /// The directory for backups lies where collections are looked for.
    #[error("{}: backups cannot lie among the collections; name a directory elsewhere", .0.display())]
    Backups(PathBuf),
    /// The token file cannot be used.
    #[error("{}: {why}", .path.display())]
    Tokens {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The list of jobs cannot be read.
    #[error("{}: not a list of jobs ({source}); put it elsewhere, and the service begins a new one", .path.display())]
    Jobs {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: std::io::Error,
    },
    /// The counters cannot be set up.
    #[error("metrics: {0}")]
    Metrics(#[from] prometheus::Error),
    /// Everybody on the network could write.
    #[error(
        "{0} is not a loopback address: whoever reaches it could read and delete everything; give a token file with --tokens"
    )]
    Open(SocketAddr),
    /// The address cannot be had.
    #[error("{address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// The threads cannot be started.
    #[error("the service's threads cannot be started: {0}")]
    Threads(std::io::Error),
}

/// What all requests share.
struct App {
    log: Log,
    registry: Registry,
    limits: Limits,
    tokens: Option<Tokens>,
    metrics: Metrics,
    jobs: Arc<Jobs>,
    idempotency: Idempotency,
    backups: Option<PathBuf>,
    work: Work,
    room: Room,
    exports: Arc<Semaphore>,
    /// Set once the service is to stop; jobs end at the next step.
    stopping: Arc<AtomicBool>,
    openapi: String,
}

type Shared = Arc<App>;

impl App {
    fn open(dir: &Path, tokens: Option<Tokens>, options: &Options) -> Result<Self, ServeError> {
        let (log, limits) = (Log::new(options.log), options.limits);
        let stopping = Arc::new(AtomicBool::new(false));
        let registry = Registry::open(dir, log)?;
        if let Some(backups) = &options.backups {
            outside(dir, backups)?;
        }
        let jobs = Jobs::open(dir, options.backups.as_deref(), Arc::clone(&stopping), log)?;
        Ok(Self {
            registry,
            backups: options.backups.clone(),
            log,
            limits,
            tokens,
            metrics: Metrics::new()?,
            jobs: Arc::new(jobs),
            idempotency: Idempotency::default(),
            work: Work::new(limits.requests, limits.request_time),
            room: Room::new(limits.bodies),
            exports: Arc::new(Semaphore::new(limits.exports)),
            stopping,
            openapi: openapi::document(),
        })
    }
}

/// Makes a directory, which may be there.
fn make_dir(path: &Path, meant: &'static str) -> Result<(), ServeError> {
    use std::io::ErrorKind::{AlreadyExists, NotADirectory};
    let path = path.to_owned();
    std::fs::create_dir_all(&path).map_err(|source| match source.kind() {
        AlreadyExists | NotADirectory => ServeError::NotADirectory { path, meant },
        _ => ServeError::Directory { path, source },
    })
}

/// Makes the directory for backups, and refuses one among the collections, which would be served at the next start.
fn outside(dir: &Path, backups: &Path) -> Result<(), ServeError> {
    let failed = |source| ServeError::Directory {
        path: backups.to_owned(),
        source,
    };
    make_dir(backups, "for backups")?;
    let (dir, inner) = (dir.canonicalize(), backups.canonicalize());
    if inner.map_err(failed)?.starts_with(dir.map_err(failed)?) {
        return Err(ServeError::Backups(backups.to_owned()));
    }
    Ok(())
}
