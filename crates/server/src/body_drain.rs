//! Reads or gives up the part of a request that its answer left unread.
//!
//! An answer may come before the body was read: no token, no such collection, another media type. The next request begins behind that body,
//! so the connection can only be kept if the rest is read. A little is read and thrown away; otherwise the answer says
//! `Connection: close`. Here is the only place that knows; routes need not care.

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

/// Bytes that are read to keep a connection.
const MOST: u64 = 256 << 10;
/// For how long.
const TIME: Duration = Duration::from_secs(1);

/// A body that comes back when it is dropped.
struct Lent {
    body: Option<Incoming>,
    state: State,
    back: Option<oneshot::Sender<(Incoming, State)>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Untouched,
    Begun,
    Ended,
    Failed,
}

impl hyper::body::Body for Lent {
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
        self.state = match &frame {
            Poll::Ready(None) => State::Ended,
            Poll::Ready(Some(Err(_))) => State::Failed,
            _ => State::Begun,
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

impl Drop for Lent {
    fn drop(&mut self) {
        if let (Some(body), Some(back)) = (self.body.take(), self.back.take()) {
            // Nobody waits for it where the whole request is dropped.
            let _gone = back.send((body, self.state));
        }
    }
}

/// Has a request answered, and sees to what is left of its body.
pub(crate) async fn answer<F: Future<Output = Response>>(
    request: hyper::Request<Incoming>,
    answer: impl FnOnce(Request) -> F,
) -> Response {
    let (parts, body) = request.into_parts();
    if body.is_end_stream() {
        return answer(Request::from_parts(parts, Body::empty())).await;
    }
    let asks_first = asks_first(&parts.headers);
    let (back, mut left) = oneshot::channel();
    let lent = Lent {
        body: Some(body),
        state: State::Untouched,
        back: Some(back),
    };
    let mut response = answer(Request::from_parts(parts, Body::new(lent))).await;
    let clean = match left.try_recv() {
        Ok((body, state)) => match state {
            State::Ended => true,
            State::Failed => false,
            // To read on would be to ask for the body.
            State::Untouched if asks_first => false,
            // It has waited long enough.
            _ if response.status() == StatusCode::REQUEST_TIMEOUT => false,
            _ => read_out(body).await,
        },
        Err(_) => false,
    };
    if !clean {
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// True if the client waits for a word before it sends the body.
fn asks_first(headers: &HeaderMap) -> bool {
    let expect = headers.get(header::EXPECT);
    expect.is_some_and(|expect| expect.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

/// Reads the rest of a body, where that is little. Tells whether it was.
async fn read_out(mut body: Incoming) -> bool {
    if body.size_hint().lower() > MOST {
        return false;
    }
    let read = async {
        let mut bytes = 0;
        while let Some(frame) = body.frame().await {
            let Ok(frame) = frame else {
                return false;
            };
            bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
            if bytes > MOST {
                return false;
            }
        }
        true
    };
    tokio::time::timeout(TIME, read).await.unwrap_or(false)
}
