//! The service from outside: a socket, requests as bytes, answers as bytes.
#![expect(clippy::unwrap_used, reason = "tests may panic")]

mod bad_input;
mod client;
mod documents;
mod endings;
mod imports;
mod jobs;
mod lists;
mod model;
mod raw;
mod stories;
mod tokens;
