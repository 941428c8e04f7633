//! The service: accepts connections within its limits, and shuts down in an orderly way.
//!
//! The accept loop calls hyper directly, because axum's server limits neither the time to send headers nor the number
//! of connections.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::TokioTimer;
use hyper_util::server::graceful::GracefulShutdown;
use serde_json::json;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::oneshot;

use crate::app::{App, SharedApp};
use crate::connection::ConnectionServer;
use crate::connection_slots::ConnectionSlots;
use crate::error::ServeError;
use crate::options::ServiceOptions;
use crate::tokens::Tokens;
use crate::write_timeout::SEND_BUFFER_BYTES;
use crate::{file_descriptors, openapi, route};

/// The maximum size of a request line together with the headers, in bytes.
const MAX_HEADER_BYTES: usize = 64 << 10;
/// The number of connections that the system queues until the service accepts them.
const ACCEPT_BACKLOG: u32 = 1024;
/// The pause after a connection could not be accepted. It keeps the loop from spinning while no file descriptors are
/// free.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(20);

/// A running HTTP service for the collections in a directory.
///
/// The service runs on its own threads. Call [`stop`](Self::stop) or drop this value to shut it down in an orderly way.
///
/// ```
/// use twinprint_server::{LogFormat, Service, ServiceOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let dir = tempfile::tempdir()?;
/// let mut options = ServiceOptions::new(dir.path().join("collections"));
/// options.listen = "127.0.0.1:0".parse()?;
/// options.log_format = LogFormat::Quiet;
/// let service = Service::start(&options)?;
/// println!("http://{}", service.address());
/// service.stop();
/// # Ok(())
/// # }
/// ```
pub struct Service {
    address: SocketAddr,
    /// Dropping this sender begins the shutdown.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Service {
    /// Opens the collections and starts to answer requests, on the service's own threads.
    ///
    /// If a collection cannot be opened, the service starts nevertheless: requests for that collection get 503, and the
    /// other collections are served.
    ///
    /// # Errors
    /// Fails if a directory, the token file, the job list or the address cannot be used. Also fails if no token file is
    /// given and the address is not a loopback address.
    pub fn start(options: &ServiceOptions) -> Result<Self, ServeError> {
        if options.token_file.is_none() && !options.listen.ip().is_loopback() {
            return Err(ServeError::TokensRequired(options.listen));
        }
        let tokens = options.token_file.as_deref().map(Tokens::read).transpose()?;
        let app: SharedApp = Arc::new(App::open(tokens, options, openapi::document())?);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .thread_name("twinprint-http")
            .build()
            .map_err(ServeError::Threads)?;
        let address = options.listen;
        let listener = runtime
            .block_on(async { bind(address) })
            .map_err(|source| ServeError::Listen { address, source })?;
        let address = listener
            .local_addr()
            .map_err(|source| ServeError::Listen { address, source })?;
        app.log.info("ready", json!({"address": address.to_string()}));
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("twinprint-serve".to_owned())
            .spawn(move || {
                runtime.block_on(accept_connections(&app, listener, stopped));
                // Work whose request has already timed out may still run. It must end before the collections are
                // closed.
                runtime.shutdown_timeout(app.limits.shutdown_timeout);
                app.registry.close();
                app.log.info("stopped", json!({}));
            })
            .map_err(ServeError::Threads)?;
        Ok(Self {
            address,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// The address on which the service listens. If the options say port 0, it contains the port that the system has
    /// chosen.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Shuts the service down: stops accepting connections, waits at most
    /// [`Limits::shutdown_timeout`](crate::Limits::shutdown_timeout) for requests in progress, syncs buffered writes
    /// and closes the collections.
    pub fn stop(mut self) {
        self.shut_down();
    }

    fn shut_down(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the service's thread was already logged when it happened.
            let _panicked = thread.join();
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.shut_down();
    }
}

/// Opens the listening socket. Accepted connections inherit the size of its send buffer.
fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.set_send_buffer_size(SEND_BUFFER_BYTES)?;
    socket.bind(address)?;
    socket.listen(ACCEPT_BACKLOG)
}

/// Accepts and serves connections until `stopped` resolves, which happens when its sender is dropped.
async fn accept_connections(app: &SharedApp, listener: TcpListener, mut stopped: oneshot::Receiver<()>) {
    let graceful = GracefulShutdown::new();
    let capacity = file_descriptors::connection_capacity(app.limits.connections, app.log);
    let slots = Arc::new(ConnectionSlots::new(capacity));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(app.limits.header_timeout)
        .max_header_size(MAX_HEADER_BYTES)
        .max_buf_size(MAX_HEADER_BYTES)
        .keep_alive(true)
        // With vectored writes turned off, hyper collects an answer in one buffer. The connection buffers whole answers
        // anyway.
        .writev(false)
        // A client may close its sending side after its last request. It still gets the answer.
        .half_close(true);
    let server = ConnectionServer {
        http,
        router: route::router(Arc::clone(app)),
        app: Arc::clone(app),
    };
    loop {
        let socket = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => socket,
                Err(error) => {
                    // The usual cause is that no file descriptor is free. So an idle connection is closed to free one.
                    app.log.error("a connection could not be accepted", json!({"error": error.to_string()}));
                    slots.evict_longest_idle();
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                    continue;
                }
            },
            _ = &mut stopped => break,
        };
        let taken = slots.take();
        if taken.evicted || taken.slot.is_none() {
            app.metrics.refused_connections.inc();
        }
        let Some(slot) = taken.slot else {
            continue;
        };
        // Nagle's algorithm is turned off, so that small answers are sent at once.
        let _unsupported = socket.set_nodelay(true);
        app.metrics.connections.inc();
        let (server, watcher) = (server.clone(), graceful.watcher());
        tokio::spawn(async move {
            server.serve(socket, slot, watcher).await;
            server.app.metrics.connections.dec();
        });
    }
    drop(listener);
    app.shutting_down.store(true, Ordering::Relaxed);
    app.log.info("stopping", json!({}));
    let _too_long = tokio::time::timeout(app.limits.shutdown_timeout, graceful.shutdown()).await;
}
