//! From sockets to requests: connections within limits, and an orderly end.

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

use crate::patient::HELD;
use crate::seats::Seats;
use crate::tokens::Tokens;
use crate::{App, Options, ServeError, Shared, connection, descriptors, route};

/// Bytes of a request's line and headers at most.
const HEADERS: usize = 64 << 10;
/// Connections that the system holds until they are accepted.
const BACKLOG: u32 = 1024;

/// A service that answers. Dropped, it stops in order.
pub struct Service {
    address: SocketAddr,
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
    /// Opens the collections and begins to answer, on threads of its own.
    ///
    /// # Errors
    /// A directory, token file or address that cannot be used, or an address others can reach without a token file.
    pub fn start(options: &Options) -> Result<Self, ServeError> {
        if options.tokens.is_none() && !options.listen.ip().is_loopback() {
            return Err(ServeError::Open(options.listen));
        }
        let tokens = options.tokens.as_deref().map(Tokens::read).transpose()?;
        let app: Shared = Arc::new(App::open(&options.dir, tokens, options)?);
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
                runtime.block_on(accept(&app, listener, stopped));
                // Work that goes on after its request was given up ends before the collections are closed.
                runtime.shutdown_timeout(app.limits.stop_time);
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

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops: no new connections, requests under way are answered within a time, what is buffered is synced.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic there is in the log.
            let _panicked = thread.join();
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.end();
    }
}

/// Listens; connections inherit how much of an answer the system holds for them.
fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.set_send_buffer_size(HELD)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves connections until `stopped` comes or its sender is gone.
async fn accept(app: &Shared, listener: TcpListener, mut stopped: oneshot::Receiver<()>) {
    let router = route::router(Arc::clone(app));
    let graceful = GracefulShutdown::new();
    let seats = Arc::new(Seats::new(descriptors::room(app.limits.connections, app.log)));
    let mut server = http1::Builder::new();
    server
        .timer(TokioTimer::new())
        .header_read_timeout(app.limits.header_time)
        .max_header_size(HEADERS)
        .max_buf_size(HEADERS)
        .keep_alive(true)
        // Answers are gathered; so is each of them.
        .writev(false)
        // A client may close its sending side after its last request, and is still answered.
        .half_close(true);
    loop {
        let socket = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => socket,
                Err(error) => {
                    // Out of descriptors, mostly: one that waits gives up its own.
                    app.log.error("a connection could not be accepted", json!({"error": error.to_string()}));
                    seats.close_one();
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                }
            },
            _ = &mut stopped => break,
        };
        let (seat, closed) = seats.take();
        if closed || seat.is_none() {
            app.metrics.refused.inc();
        }
        let Some(seat) = seat else {
            continue;
        };
        // Small answers are not to wait for more.
        let _unsupported = socket.set_nodelay(true);
        let app = Arc::clone(app);
        app.metrics.connections.inc();
        let (server, watcher, router) = (server.clone(), graceful.watcher(), router.clone());
        tokio::spawn(async move {
            connection::serve(socket, seat, server, watcher, router, Arc::clone(&app)).await;
            app.metrics.connections.dec();
        });
    }
    drop(listener);
    app.stopping.store(true, Ordering::Relaxed);
    app.log.info("stopping", json!({}));
    let _too_long = tokio::time::timeout(app.limits.stop_time, graceful.shutdown()).await;
}
