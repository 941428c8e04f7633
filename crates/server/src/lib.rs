#![doc = include_str!("../README.md")]
//!
//! # Structure
//!
//! [`Service::start`] opens the collections and accepts connections (`service`, `connection`). A request is first
//! authorized (`tokens`, `csrf`). Then its handler in `route` does the work in a bounded pool of threads
//! (`worker_pool`). `app` contains the state that all handlers share.
//!
//! # Invariants
//!
//! * The threads that serve connections do no long computations and never wait for the disk.
//! * Every queue is bounded. If a queue is full, the request is answered with status 429.
//! * Every error is answered with a problem object (RFC 9457).
//! * No answer contains a secret key, or a fingerprint that was made with a secret key.
//! * The service never fetches a URL.
#![forbid(unsafe_code)]

mod app;
mod body_drain;
mod body_memory;
mod connection;
mod connection_slots;
mod content_coding;
mod csrf;
mod directories;
mod error;
mod file_descriptors;
mod idempotency;
mod import_report;
mod jobs;
mod limits;
mod log;
mod metrics;
mod model;
mod openapi;
mod options;
mod page;
mod problem;
mod registry;
mod request_body;
mod route;
mod service;
mod tokens;
mod worker_pool;
mod write_timeout;

pub use error::ServeError;
pub use limits::Limits;
pub use log::LogFormat;
pub use options::ServiceOptions;
pub use service::Service;
