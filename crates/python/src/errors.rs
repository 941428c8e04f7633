//! Errors of the library as exceptions of Python.

use pyo3::exceptions::{
    PyException, PyFileNotFoundError, PyKeyError, PyKeyboardInterrupt, PyMemoryError, PyOSError, PyValueError,
};
use pyo3::prelude::*;
use twinprint::source::SourceError;
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
        DedupError::Memory { .. } | DedupError::LongRecord { .. } => PyMemoryError::new_err(message(error)),
        DedupError::Against { path, problem } => {
            argument("against", format_args!("{}: {problem}", path.display()))
        }
        DedupError::NoSortField { .. } => argument("sort", error),
        DedupError::Job(error) => job_exception(error),
        error => exception(error),
    }
}

/// The exception for a failed job.
pub(crate) fn job_exception(error: &JobError) -> PyErr {
    match error {
        JobError::Option(error) => PyValueError::new_err(error.to_string()),
        JobError::Source(error) => source_exception(error),
        JobError::Cancelled => PyKeyboardInterrupt::new_err(()),
        error => exception(error),
    }
}

/// The exception for records that cannot be read.
fn source_exception(error: &SourceError) -> PyErr {
    match error {
        SourceError::NoField { .. } => PyKeyError::new_err(error.to_string()),
        SourceError::Missing { .. } => PyFileNotFoundError::new_err(error.to_string()),
        SourceError::NothingAccepted(_) => PyValueError::new_err(error.to_string()),
        SourceError::Cancelled => PyKeyboardInterrupt::new_err(()),
        error => exception(error),
    }
}
