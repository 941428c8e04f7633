//! Limits on requests, connections and memory.

use std::time::Duration;

/// The limits of a service. The defaults suit a crawler on the same machine or network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum size of a request body as it is sent, in bytes. Default: 16 MiB.
    pub body_bytes: usize,
    /// The maximum size of a request body after decompression, in bytes. Default: 32 MiB.
    pub unpacked_body_bytes: usize,
    /// The maximum ratio of the decompressed size of a body to the size as sent. A body may decompress to 1 MiB at any
    /// ratio. Default: 100.
    pub unpack_ratio: usize,
    /// The maximum total size of all request bodies in memory, in bytes. Default: 256 MiB.
    pub total_body_bytes: usize,
    /// The maximum number of documents in one batch. Default: 1000.
    pub batch_documents: usize,
    /// The maximum time in which a client must send all headers of a request. Default: 10 s.
    pub header_timeout: Duration,
    /// The maximum time in which a client must send a body, or the next part of an import. Default: 30 s.
    pub body_timeout: Duration,
    /// The maximum time to answer a request. Default: 60 s.
    pub request_timeout: Duration,
    /// The time after which a client is disconnected that reads nothing of its answer. Default: 30 s.
    pub write_timeout: Duration,
    /// The maximum time for which input is read and discarded after the last answer on a connection. Default: 2 s.
    pub linger_timeout: Duration,
    /// The maximum number of open connections. Connections that are reserved for monitoring are not included. Default:
    /// 1024.
    pub connections: usize,
    /// The maximum number of requests that are executed or wait for a worker thread. Default: 256.
    pub requests: usize,
    /// The maximum number of exports that run at the same time. Default: 8.
    pub exports: usize,
    /// The maximum time that requests in progress have to finish after shutdown has begun. Default: 30 s.
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
