#![doc = include_str!("../README.md")]
//!
//! # Structure
//!
//! [`Service::start`] opens the collections and accepts connections (`service`, `connection`). A request passes
//! authorization (`tokens`, `csrf`), reaches its handler in `route`, and does its work in a bounded pool
//! (`worker_pool`). `app` holds the state that all handlers share.
//!
//! # Invariants
//!
//! * The threads that serve connections never compute and never wait for the disk.
//! * Every queue is bounded. A request beyond the bound is answered with 429.
//! * Every error is a problem object (RFC 9457).
//! * No answer contains a secret key or a fingerprint made with one.
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
