//! Serves one connection, from accept to close.
//!
//! hyper writes into a buffer. The buffer is sent whenever hyper waits for something. So the answers to pipelined
//! requests are sent together, and no answer waits until the client sends more. hyper's own option `pipeline_flush`
//! delays answers while any input follows their request, even half a request or an empty line.
//!
//! To close a connection, the service shuts down its sending side and continues to read for a moment. If it closed the
//! socket with unread input, the system would reset the connection, and the client could lose the last answer before
//! reading it.

use std::convert::Infallible;
use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::Watcher;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufWriter, ReadBuf};
use tokio::net::TcpStream;
use tower::ServiceExt;

use crate::app::SharedApp;
use crate::body_drain;
use crate::connection_slots::ConnectionSlot;
use crate::problem::Problem;
use crate::write_timeout::WriteTimeoutStream;

/// The size in bytes of the buffer that collects answers before they are sent.
const WRITE_BUFFER_BYTES: usize = 16 << 10;
/// The number of bytes that are read at a time while a connection is being closed.
const DISCARD_BUFFER_BYTES: usize = 16 << 10;

/// The paths that are answered on monitoring slots. Other requests there are refused.
const MONITORING_PATHS: [&str; 3] = ["/livez", "/readyz", "/metrics"];

type BufferedStream = BufWriter<WriteTimeoutStream>;

/// The stream that hyper reads from and writes to. Writes are buffered, and hyper's flushes are ignored:
/// [`ConnectionServer::serve`] flushes instead.
struct DeferredFlush(Arc<Mutex<BufferedStream>>);

fn lock(stream: &Mutex<BufferedStream>) -> MutexGuard<'_, BufferedStream> {
    // The lock is never contended, because one task polls both the reading and the writing side.
    stream.lock().unwrap_or_else(PoisonError::into_inner)
}

impl AsyncRead for DeferredFlush {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut stream = lock(&self.0);
        // hyper reads when it has consumed all earlier input. The answers to that input are sent first, because a
        // client may wait for them before it sends its next request. An error of this flush is reported by the next
        // write.
        let _reported_by_next_write = Pin::new(&mut *stream).poll_flush(cx);
        Pin::new(&mut *stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for DeferredFlush {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut *lock(&self.0)).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *lock(&self.0)).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Does nothing: [`ConnectionServer::serve`] sends the buffer once hyper is pending.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Sends the buffer but does not shut the socket down. [`close`] does that later.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *lock(&self.0)).poll_flush(cx)
    }
}

/// The body of an answer. The request counts as in progress until the body is dropped.
struct AnswerBody {
    body: Body,
    _in_progress: Option<RequestInProgress>,
}

/// Marks the current request of a connection as finished when it is dropped.
struct RequestInProgress(Arc<AtomicBool>);

impl Drop for RequestInProgress {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl hyper::body::Body for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The HTTP settings, routes and state that all connections share.
#[derive(Clone)]
pub(crate) struct ConnectionServer {
    pub(crate) http: http1::Builder,
    pub(crate) router: Router,
    pub(crate) app: SharedApp,
}

impl ConnectionServer {
    /// Serves a connection until it ends or is evicted from its slot.
    pub(crate) async fn serve(&self, socket: TcpStream, slot: ConnectionSlot, watcher: Watcher) {
        let stream = WriteTimeoutStream::new(socket, SharedApp::clone(&self.app));
        let shared = Arc::new(Mutex::new(BufWriter::with_capacity(WRITE_BUFFER_BYTES, stream)));
        let in_progress = Arc::new(AtomicBool::new(false));
        let connection = async {
            let service = service_fn(|request| {
                let begun = slot.begin_request().then(|| {
                    in_progress.store(true, Ordering::Release);
                    RequestInProgress(Arc::clone(&in_progress))
                });
                self.answer(request, begun, &slot)
            });
            let io = TokioIo::new(DeferredFlush(Arc::clone(&shared)));
            {
                let mut http = pin!(watcher.watch(self.http.serve_connection(io, service)));
                std::future::poll_fn(|cx| {
                    if http.as_mut().poll(cx).is_ready() {
                        return Poll::Ready(());
                    }
                    if ready!(Pin::new(&mut *lock(&shared)).poll_flush(cx)).is_err() {
                        return Poll::Ready(());
                    }
                    if !in_progress.load(Ordering::Acquire) {
                        slot.set_idle();
                    }
                    Poll::Pending
                })
                .await;
            }
            if let Ok(stream) = Arc::try_unwrap(shared) {
                slot.set_idle();
                let stream = stream.into_inner().unwrap_or_else(PoisonError::into_inner);
                close(stream, &self.app).await;
            }
        };
        tokio::select! {
            biased;
            () = connection => {}
            () = slot.evicted() => {}
        }
    }

    /// Answers a request. `begun` is `None` if the connection was evicted from its slot before the request began. The
    /// request is then refused.
    async fn answer(
        &self,
        request: hyper::Request<Incoming>,
        begun: Option<RequestInProgress>,
        slot: &ConnectionSlot,
    ) -> Result<hyper::Response<AnswerBody>, Infallible> {
        let is_ambiguous = is_ambiguous(&request);
        let is_refused =
            begun.is_none() || slot.is_monitoring && !MONITORING_PATHS.contains(&request.uri().path());
        let mut response: Response = if is_refused {
            self.app.metrics.refused_connections.inc();
            Problem {
                limit: Some(slot.capacity() as u64),
                ..Problem::unavailable("too many connections; retry in a moment")
            }
            .into_response()
        } else if is_ambiguous {
            let detail = "the request has two Host headers, or a Transfer-Encoding other than chunked";
            Problem::new(StatusCode::BAD_REQUEST, detail).into_response()
        } else {
            let answered = body_drain::respond(request, |request| async {
                let Ok(response) = self.router.clone().oneshot(request).await;
                response
            });
            answered.await
        };
        if slot.is_monitoring || begun.is_none() || is_ambiguous {
            let headers = response.headers_mut();
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        Ok(response.map(|body| AnswerBody {
            body,
            _in_progress: begun,
        }))
    }
}

/// True if a proxy in front of the service could interpret these bytes as other requests than hyper does, which would
/// allow request smuggling.
fn is_ambiguous(request: &hyper::Request<Incoming>) -> bool {
    let mut codings = request.headers().get_all(header::TRANSFER_ENCODING).iter();
    let is_chunked = |coding: &HeaderValue| coding.as_bytes().eq_ignore_ascii_case(b"chunked");
    let is_plain = codings.next().is_none_or(is_chunked) && codings.next().is_none();
    !is_plain || request.headers().get_all(header::HOST).iter().count() > 1
}

/// Closes a connection: shuts down the sending side, then discards input within limits of time and bytes.
async fn close(mut stream: BufferedStream, app: &SharedApp) {
    if stream.shutdown().await.is_err() {
        return;
    }
    let discard = async {
        let mut buffer = vec![0; DISCARD_BUFFER_BYTES];
        let mut remaining = app.limits.body_bytes;
        while let Ok(read @ 1..) = stream.read(&mut buffer).await {
            match remaining.checked_sub(read) {
                Some(rest) => remaining = rest,
                None => return,
            }
        }
    };
    // If the client still sends when the time is over, it is disconnected.
    let _still_sending = tokio::time::timeout(app.limits.linger_timeout, discard).await;
}
