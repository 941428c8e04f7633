//! A connection that waits for its client, but not for ever: who takes nothing of an answer for a time is let go.
//!
//! The system holds some of an answer for the client ([`HELD`]); more can be written once about a third of that has been taken. So the time
//! is also a least rate: a client that reads a byte now and then is as good as one that reads nothing. Reading from the client
//! has limits of its own (headers, bodies).

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use crate::Shared;

/// Bytes of an answer that the system is asked to hold for one client; it takes twice that for its own books.
pub(crate) const HELD: u32 = 256 << 10;

/// A stream whose writes fail when nothing could be written for a time.
pub(crate) struct Patient {
    stream: TcpStream,
    app: Shared,
    /// Runs while something waits to be written.
    waiting: Option<Pin<Box<Sleep>>>,
    /// Set once that was too long: nothing is written any more.
    over: bool,
}

impl Patient {
    pub(crate) fn new(stream: TcpStream, app: Shared) -> Self {
        Self {
            stream,
            app,
            waiting: None,
            over: false,
        }
    }

    fn time(&self) -> Duration {
        self.app.limits.answer_time
    }

    /// What came of writing, unless that has waited too long.
    fn within_time(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let time = self.time();
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(time)));
        if waiting.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        self.over = true;
        self.app.metrics.slow.inc();
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.over {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.within_time(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.over {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.within_time(cx, written)
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
