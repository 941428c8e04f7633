//! Limits on requests, connections and memory.

use std::time::Duration;

/// The limits of a service. The defaults suit a crawler on the same machine or network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum bytes of a request body as sent. Default: 16 MiB.
    pub body_bytes: usize,
    /// Maximum bytes of a request body after decompression. Default: 32 MiB.
    pub unpacked_body_bytes: usize,
    /// Maximum ratio of the decompressed to the sent size of a body. 1 MiB is allowed at any ratio. Default: 100.
    pub unpack_ratio: usize,
    /// Maximum bytes of all request bodies in memory. Default: 256 MiB.
    pub total_body_bytes: usize,
    /// Maximum documents of one batch. Default: 1000.
    pub batch_documents: usize,
    /// Time for a client to send all headers of a request. Default: 10 s.
    pub header_timeout: Duration,
    /// Time for a client to send a body, or the next part of an import. Default: 30 s.
    pub body_timeout: Duration,
    /// Time to answer a request. Default: 60 s.
    pub request_timeout: Duration,
    /// Time after which a client that reads nothing of its answer is disconnected. Default: 30 s.
    pub write_timeout: Duration,
    /// Time to read and discard input after the last answer of a connection. Default: 2 s.
    pub linger_timeout: Duration,
    /// Maximum open connections, without those reserved for monitoring. Default: 1024.
    pub connections: usize,
    /// Maximum requests that run or wait for a worker. Default: 256.
    pub requests: usize,
    /// Maximum exports at the same time. Default: 8.
    pub exports: usize,
    /// Time for requests to finish after shutdown begins. Default: 30 s.
    pub shutdown_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 16 << 20,
            unpacked_body_bytes: 32 << 20,
            unpack_ratio: 100,
            total_body_bytes: 256 << 20,
            batch_documents: 1000,
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            request_timeout: Duration::from_mins(1),
            write_timeout: Duration::from_secs(30),
            linger_timeout: Duration::from_secs(2),
            connections: 1024,
            requests: 256,
            exports: 8,
            shutdown_timeout: Duration::from_secs(30),
        }
    }
}
