//! Handles the part of a request body that the request's handler did not read: discards it, or closes the connection.
//!
//! A handler may answer before it has read the whole body, for example if the token is missing, the collection does not
//! exist or the media type is wrong. The next request on the connection begins after that body. So the connection can
//! be kept only if the unread part of the body is read, too. A short unread part is read and discarded. Otherwise the
//! answer contains `Connection: close`. hyper does neither reliably. Every request passes through [`respond`], so
//! handlers need not care.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use http_body_util::BodyExt;
use hyper::body::{Body as _, Frame, Incoming, SizeHint};
use tokio::sync::oneshot;

/// If more than this number of bytes of a body is unread, the connection is closed instead of being kept.
const MAX_DRAINED_BYTES: u64 = 256 << 10;
/// The maximum time to discard the unread part of a body.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// A request body that is sent back through a channel when its handler drops it, so that the unread part can be
/// discarded.
struct ReturningBody {
    body: Option<Incoming>,
    progress: ReadProgress,
    sender: Option<oneshot::Sender<(Incoming, ReadProgress)>>,
}

/// The progress of a handler in reading a request body.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReadProgress {
    Untouched,
    Started,
    Finished,
    Failed,
}

impl hyper::body::Body for ReturningBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(body) = &mut self.body else {
            return Poll::Ready(None);
        };
        let frame = Pin::new(body).poll_frame(cx);
        self.progress = match &frame {
            Poll::Ready(None) => ReadProgress::Finished,
            Poll::Ready(Some(Err(_))) => ReadProgress::Failed,
            _ => ReadProgress::Started,
        };
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Incoming::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map(Incoming::size_hint).unwrap_or_default()
    }
}

impl Drop for ReturningBody {
    fn drop(&mut self) {
        if let (Some(body), Some(sender)) = (self.body.take(), self.sender.take()) {
            // The send fails if the whole request was dropped, which does not matter.
            let _receiver_gone = sender.send((body, self.progress));
        }
    }
}

/// Passes a request to its handler, and then discards the unread part of the body. If that is not possible, adds
/// `Connection: close` to the answer.
pub(crate) async fn respond<F: Future<Output = Response>>(
    request: hyper::Request<Incoming>,
    handler: impl FnOnce(Request) -> F,
) -> Response {
    let (parts, body) = request.into_parts();
    if body.is_end_stream() {
        return handler(Request::from_parts(parts, Body::empty())).await;
    }
    let expects_continue = expects_continue(&parts.headers);
    let (sender, mut receiver) = oneshot::channel();
    let returning = ReturningBody {
        body: Some(body),
        progress: ReadProgress::Untouched,
        sender: Some(sender),
    };
    let mut response = handler(Request::from_parts(parts, Body::new(returning))).await;
    let is_drained = match receiver.try_recv() {
        Ok((body, progress)) => match progress {
            ReadProgress::Finished => true,
            ReadProgress::Failed => false,
            // The client waits for `100 Continue`. Reading would send that, and so ask the client for a body that
            // nobody needs.
            ReadProgress::Untouched if expects_continue => false,
            // The request has already timed out while the body was read, so no more time is spent on it.
            _ if response.status() == StatusCode::REQUEST_TIMEOUT => false,
            _ => drain(body).await,
        },
        Err(_) => false,
    };
    if !is_drained {
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// True if the client waits for `100 Continue` before it sends the body.
fn expects_continue(headers: &HeaderMap) -> bool {
    let expect = headers.get(header::EXPECT);
    expect.is_some_and(|expect| expect.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

/// Discards the unread part of a body within limits of bytes and time. Returns true if the end of the body was reached.
async fn drain(mut body: Incoming) -> bool {
    if body.size_hint().lower() > MAX_DRAINED_BYTES {
        return false;
    }
    let read = async {
        let mut bytes = 0;
        while let Some(frame) = body.frame().await {
            let Ok(frame) = frame else {
                return false;
            };
            bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
            if bytes > MAX_DRAINED_BYTES {
                return false;
            }
        }
        true
    };
    tokio::time::timeout(DRAIN_TIMEOUT, read).await.unwrap_or(false)
}
