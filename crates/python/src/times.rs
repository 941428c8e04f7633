//! Times and spans of time, as the library reads them.

use pyo3::prelude::*;
use twinprint::stream;

use crate::errors::argument;

/// Reads a time, such as "2024-05-01T12:00:00Z", in seconds since 1970. `name` is the argument that errors name.
#[pyfunction]
pub(crate) fn parse_time(name: &str, text: &str) -> PyResult<i64> {
    stream::parse_time(text).map_err(|error| argument(name, error))
}

/// Reads a span of time, such as "36h", in seconds. `name` is the argument that errors name.
#[pyfunction]
pub(crate) fn parse_span(name: &str, text: &str) -> PyResult<i64> {
    stream::parse_span(text).map_err(|error| argument(name, error))
}
