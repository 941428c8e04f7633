//! Errors of the library as exceptions of Python.

use pyo3::exceptions::{
    PyException, PyFileNotFoundError, PyKeyboardInterrupt, PyMemoryError, PyOSError, PyValueError,
};
use pyo3::prelude::*;
use twinprint::{DedupError, JobError};

pyo3::create_exception!(
    twinprint,
    TwinprintError,
    PyException,
    "A run failed for a reason for which Python has no exception of its own."
);

/// The message of an error, followed by the messages of its causes.
pub(crate) fn message(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let further = error.to_string();
        // Some errors already quote their cause.
        if !text.contains(&further) {
            text.push_str(": ");
            text.push_str(&further);
        }
        cause = error.source();
    }
    text
}

/// The exception for any error of the library. A missing file and other failures of the system keep their kind.
pub(crate) fn exception(error: &(dyn std::error::Error + 'static)) -> PyErr {
    let text = message(error);
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            return match io.kind() {
                std::io::ErrorKind::NotFound => PyFileNotFoundError::new_err(text),
                std::io::ErrorKind::OutOfMemory => PyMemoryError::new_err(text),
                _ => PyOSError::new_err(text),
            };
        }
        cause = error.source();
    }
    TwinprintError::new_err(text)
}

/// The exception for an argument that cannot be used.
pub(crate) fn argument(name: &str, problem: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("{name}: {problem}"))
}

/// The exception for a failed deduplication.
pub(crate) fn dedup_exception(error: &DedupError) -> PyErr {
    match error {
        error if error.is_cancelled() => PyKeyboardInterrupt::new_err(()),
        DedupError::Memory { .. } => PyMemoryError::new_err(message(error)),
        DedupError::Job(JobError::Option(error)) => PyValueError::new_err(error.to_string()),
        error => exception(error),
    }
}
