//! The options of a service.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use crate::limits::Limits;
use crate::log::LogFormat;

/// The options of a [`Service`](crate::Service).
///
/// ```
/// use twinprint_server::{Limits, LogFormat, ServiceOptions};
///
/// let options = ServiceOptions {
///     limits: Limits { connections: 100, ..Limits::default() },
///     log_format: LogFormat::Json,
///     ..ServiceOptions::new("collections")
/// };
/// assert_eq!(options.listen.to_string(), "127.0.0.1:8080");
/// ```
#[derive(Clone, Debug)]
pub struct ServiceOptions {
    /// The directory of the collections, with one subdirectory per collection. It is created if it does not exist.
    pub dir: PathBuf,
    /// The directory for backups. It must be outside `dir`. If it is `None`, the service makes no backups.
    pub backup_dir: Option<PathBuf>,
    /// The address and port on which the service listens. With port 0 the system chooses a free port.
    pub listen: SocketAddr,
    /// The file of the tokens that clients must send. If it is `None`, the service needs no tokens, but listens on a
    /// loopback address only.
    pub token_file: Option<PathBuf>,
    /// Limits on requests and connections.
    pub limits: Limits,
    /// The format of the service's log on stderr.
    pub log_format: LogFormat,
}

impl ServiceOptions {
    /// Options with defaults: the service listens on 127.0.0.1:8080 with the default limits and a text log, and has no
    /// tokens and no backups.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            backup_dir: None,
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
            token_file: None,
            limits: Limits::default(),
            log_format: LogFormat::default(),
        }
    }
}
