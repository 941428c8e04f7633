//! From sockets to requests: connections within limits, and an orderly end.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use serde_json::json;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::{Semaphore, oneshot};

use crate::patient::{HELD, Patient};
use crate::tokens::Tokens;
use crate::{App, Options, ServeError, Shared, route};

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
    let connections = Arc::new(Semaphore::new(app.limits.connections));
    let mut server = http1::Builder::new();
    server
        .timer(TokioTimer::new())
        .header_read_timeout(app.limits.header_time)
        .max_buf_size(HEADERS)
        .keep_alive(true)
        // Answers to requests that were sent one behind the other go out together.
        .pipeline_flush(true);
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Out of descriptors, mostly: those who have one will give it back.
                    app.log.error("a connection could not be accepted", json!({"error": error.to_string()}));
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            },
            _ = &mut stopped => break,
        };
        let Ok(permit) = Arc::clone(&connections).try_acquire_owned() else {
            app.metrics.refused.inc();
            continue;
        };
        // Small answers are not to wait for more.
        let _unsupported = stream.set_nodelay(true);
        let service = TowerToHyperService::new(router.clone());
        let stream = Patient::new(stream, Arc::clone(app));
        let connection = graceful.watch(server.serve_connection(TokioIo::new(stream), service));
        let app = Arc::clone(app);
        app.metrics.connections.inc();
        tokio::spawn(async move {
            // One that ended early has nobody left to be told.
            let _early = connection.await;
            app.metrics.connections.dec();
            drop(permit);
        });
    }
    drop(listener);
    app.stopping.store(true, Ordering::Relaxed);
    app.log.info("stopping", json!({}));
    let _too_long = tokio::time::timeout(app.limits.stop_time, graceful.shutdown()).await;
}
