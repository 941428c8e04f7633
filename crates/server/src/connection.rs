//! One connection, from its first byte to its last.
//!
//! hyper writes into a buffer, which goes out whenever hyper has nothing more to do at once: answers to requests that were sent one behind
//! the other go out together, and none waits for anything but the processor. hyper's own way (`pipeline_flush`) holds answers back while
//! anything has come in behind their request, be it half a request or an empty line.
//!
//! At the end the service says that it sends no more and reads on for a moment. A socket that is closed while something unread lies in it
//! is reset, and a reset takes the last answer from a client that has not read it yet.

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

use crate::patient::Patient;
use crate::problem::Problem;
use crate::seats::Seat;
use crate::{Shared, unread};

/// Bytes of answers that are gathered before they go out.
const GATHERED: usize = 16 << 10;

/// The paths that are answered on any seat, for those who watch the service.
const WATCHES: [&str; 3] = ["/livez", "/readyz", "/metrics"];

type Stream = BufWriter<Patient>;

/// hyper's side of a connection.
struct Gathered(Arc<Mutex<Stream>>);

fn stream(shared: &Mutex<Stream>) -> MutexGuard<'_, Stream> {
    // Both sides are polled by one task.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl AsyncRead for Gathered {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut stream = stream(&self.0);
        // hyper has used up what came in. Answers go out before the socket is asked, so that it may have the next request already.
        // A failure is told by the next write.
        let _later = Pin::new(&mut *stream).poll_flush(cx);
        Pin::new(&mut *stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Gathered {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut *stream(&self.0)).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *stream(&self.0)).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Does nothing: the buffer goes out once hyper has done what it could.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// All goes out; the end itself is [`end`]'s.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *stream(&self.0)).poll_flush(cx)
    }
}

/// The body of an answer. Its request is under way until it is dropped.
struct Answer {
    body: Body,
    _under_way: Option<UnderWay>,
}

struct UnderWay(Arc<AtomicBool>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl hyper::body::Body for Answer {
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

/// Serves a connection to its end, or until its seat is another's.
pub(crate) async fn serve(
    socket: TcpStream,
    seat: Seat,
    server: http1::Builder,
    watcher: Watcher,
    router: Router,
    app: Shared,
) {
    let patient = Patient::new(socket, Shared::clone(&app));
    let shared = Arc::new(Mutex::new(BufWriter::with_capacity(GATHERED, patient)));
    let under_way = Arc::new(AtomicBool::new(false));
    let whole = async {
        let service = service_fn(|request| {
            let begun = seat.begin().then(|| {
                under_way.store(true, Ordering::Release);
                UnderWay(Arc::clone(&under_way))
            });
            one(request, begun, &seat, &router, &app)
        });
        let io = TokioIo::new(Gathered(Arc::clone(&shared)));
        {
            let mut http = pin!(watcher.watch(server.serve_connection(io, service)));
            std::future::poll_fn(|cx| {
                if http.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(());
                }
                if ready!(Pin::new(&mut *stream(&shared)).poll_flush(cx)).is_err() {
                    return Poll::Ready(());
                }
                if !under_way.load(Ordering::Acquire) {
                    seat.wait();
                }
                Poll::Pending
            })
            .await;
        }
        if let Ok(stream) = Arc::try_unwrap(shared) {
            seat.wait();
            end(stream.into_inner().unwrap_or_else(PoisonError::into_inner), &app).await;
        }
    };
    tokio::select! {
        biased;
        () = whole => {}
        () = seat.lost() => {}
    }
}

/// Answers a request.
async fn one(
    request: hyper::Request<Incoming>,
    begun: Option<UnderWay>,
    seat: &Seat,
    router: &Router,
    app: &Shared,
) -> Result<hyper::Response<Answer>, Infallible> {
    let ambiguous = is_ambiguous(&request);
    let mut response: Response =
        if begun.is_none() || seat.further && !WATCHES.contains(&request.uri().path()) {
            app.metrics.refused.inc();
            Problem {
                limit: Some(seat.most() as u64),
                ..Problem::unavailable("too many connections; try again in a moment")
            }
            .into_response()
        } else if ambiguous {
            let why = "two Host fields, or a Transfer-Encoding other than chunked";
            Problem::new(StatusCode::BAD_REQUEST, why).into_response()
        } else {
            let answered = unread::answer(request, |request| async {
                let Ok(response) = router.clone().oneshot(request).await;
                response
            });
            answered.await
        };
    if seat.further || begun.is_none() || ambiguous {
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(response.map(|body| Answer {
        body,
        _under_way: begun,
    }))
}

/// True if a proxy could read another request out of these bytes than hyper does.
fn is_ambiguous(request: &hyper::Request<Incoming>) -> bool {
    let mut coded = request.headers().get_all(header::TRANSFER_ENCODING).iter();
    let chunked = |coding: &HeaderValue| coding.as_bytes().eq_ignore_ascii_case(b"chunked");
    let plain = coded.next().is_none_or(chunked) && coded.next().is_none();
    !plain || request.headers().get_all(header::HOST).iter().count() > 1
}

/// Ends a connection: says that nothing more comes, and throws away what comes in for a moment.
async fn end(mut stream: Stream, app: &Shared) {
    if stream.shutdown().await.is_err() {
        return;
    }
    let discard = async {
        let mut buffer = vec![0; 16 << 10];
        let mut left = app.limits.body;
        while let Ok(read @ 1..) = stream.read(&mut buffer).await {
            match left.checked_sub(read) {
                Some(rest) => left = rest,
                None => return,
            }
        }
    };
    // A client that sends for longer loses the connection.
    let _still_open = tokio::time::timeout(app.limits.linger_time, discard).await;
}
