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
    /// The directory of the collections, one subdirectory for each. Created if missing.
    pub dir: PathBuf,
    /// The directory for backups, outside of `dir`. `None` disables backups.
    pub backup_dir: Option<PathBuf>,
    /// The address and port to listen on. Port 0 selects a free port.
    pub listen: SocketAddr,
    /// The token file. Without one, the service listens on a loopback address only.
    pub token_file: Option<PathBuf>,
    /// Limits on requests and connections.
    pub limits: Limits,
    /// The format of the log on stderr.
    pub log_format: LogFormat,
}

impl ServiceOptions {
    /// The options of a service on 127.0.0.1:8080 with default limits and a text log, without tokens or backups.
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
