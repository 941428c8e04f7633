//! A write timeout for connections, which hyper does not have: a client that stops reading its answer is disconnected.
//!
//! The system buffers a part of an answer ([`SEND_BUFFER_BYTES`]) and accepts more once the client has read about a
//! third of the buffer. So the timeout is also a minimum rate: a client that reads only a byte now and then is
//! disconnected, too. Reading from the client has other limits, for headers and for bodies.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use crate::app::SharedApp;

/// The size in bytes of the send buffer that is requested for each connection. The system reserves twice that, for its
/// bookkeeping.
pub(crate) const SEND_BUFFER_BYTES: u32 = 256 << 10;

/// A TCP stream whose writes fail if no byte could be written for the time
/// [`Limits::write_timeout`](crate::Limits::write_timeout).
pub(crate) struct WriteTimeoutStream {
    stream: TcpStream,
    app: SharedApp,
    /// The running timeout; `None` if no write is pending.
    timer: Option<Pin<Box<Sleep>>>,
    /// True after a timeout. All later writes then fail.
    timed_out: bool,
}

impl WriteTimeoutStream {
    pub(crate) fn new(stream: TcpStream, app: SharedApp) -> Self {
        Self {
            stream,
            app,
            timer: None,
            timed_out: false,
        }
    }

    fn timeout(&self) -> Duration {
        self.app.limits.write_timeout
    }

    /// Turns a pending write into an error once it has been pending for the whole timeout.
    fn apply_timeout(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.timer = None;
            return written;
        }
        let timeout = self.timeout();
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(timeout)));
        if timer.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        self.timed_out = true;
        self.app.metrics.slow_connections.inc();
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for WriteTimeoutStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for WriteTimeoutStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.timed_out {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.apply_timeout(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.timed_out {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.apply_timeout(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
