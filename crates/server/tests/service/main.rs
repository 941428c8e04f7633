//! Tests of the service through a socket: requests and answers as bytes.
#![expect(clippy::unwrap_used, reason = "tests may panic")]

mod bad_input;
mod client;
mod collections;
mod documents;
mod imports;
mod jobs;
mod overload_and_shutdown;
mod pagination;
mod raw_client;
mod reference_model;
mod stories;
mod tokens;
mod wire_protocol;
