//! What one request, one connection and all of them may take.

use std::time::Duration;

/// The limits of a service. The defaults suit a crawler on the same machine or network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a body as it is sent.
    pub body: usize,
    /// Bytes of a body once it is unpacked.
    pub unpacked: usize,
    /// A body may unpack to so many times its size, or to a mebibyte.
    pub ratio: usize,
    /// Bytes of the bodies of all requests together.
    pub bodies: usize,
    /// Documents of one batch.
    pub batch: usize,
    /// Until all headers of a request are there.
    pub header_time: Duration,
    /// Until the body of a request is there, and until an import's next part is.
    pub body_time: Duration,
    /// Until a request is answered.
    pub request_time: Duration,
    /// How long a client may take nothing of its answer.
    pub answer_time: Duration,
    /// Time for which input is still read and thrown away after the last answer of a connection.
    pub linger_time: Duration,
    /// Connections open at a time.
    pub connections: usize,
    /// Requests that are worked on or wait for it.
    pub requests: usize,
    /// Exports at a time.
    pub exports: usize,
    /// How long requests may go on once the service is to stop.
    pub stop_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 16 << 20,
            unpacked: 32 << 20,
            ratio: 100,
            bodies: 256 << 20,
            batch: 1000,
            header_time: Duration::from_secs(10),
            body_time: Duration::from_secs(30),
            request_time: Duration::from_mins(1),
            answer_time: Duration::from_secs(30),
            linger_time: Duration::from_secs(2),
            connections: 1024,
            requests: 256,
            exports: 8,
            stop_time: Duration::from_secs(30),
        }
    }
}
