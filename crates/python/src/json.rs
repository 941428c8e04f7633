//! Results of the library as JSON.

use pyo3::prelude::*;
use serde::Serialize;

use crate::errors::TwinprintError;

/// Encodes a result as JSON.
pub(crate) fn to_json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| TwinprintError::new_err(error.to_string()))
}
