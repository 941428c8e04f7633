//! Fingerprints of texts.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use twinprint::{Analyzer, HashKey, TextFingerprints, text_fingerprints, threads};

use crate::columns::column;
use crate::errors::{argument, job_exception};
use crate::profile::profile;
use crate::records::{Data, Failure, Fields, Records};
use crate::run::run_until;

/// Fingerprints as bytes, 8 each, or 16 for 128 bits, and the positions and reasons of the rejected records.
type Made<'py> = (Bound<'py, PyByteArray>, Vec<(u64, String)>);

fn made<'py>(py: Python<'py>, made: &TextFingerprints, bits: u32) -> Made<'py> {
    let values = made.values.iter();
    let bytes = if bits == 128 {
        column(py, values.copied())
    } else {
        column(py, values.map(|&value| value as u64))
    };
    let rejected = made.rejected.iter();
    (
        bytes,
        rejected
            .map(|(position, reason)| (*position, reason.to_string()))
            .collect(),
    )
}

/// Fingerprints of one text, without threads.
#[pyfunction]
pub(crate) fn fingerprint_text(py: Python<'_>, text: &str, profile_name: &str, bits: u32) -> PyResult<u128> {
    let profile = profile(profile_name, Some(bits))?;
    Ok(py.detach(|| Analyzer::new(&profile, HashKey::PUBLIC).fingerprint(text)))
}

/// Fingerprints of lists, of an Arrow table, or of files.
#[pyfunction]
pub(crate) fn fingerprint<'py>(
    py: Python<'py>,
    data: Data<'py>,
    text: String,
    profile_name: &str,
    bits: u32,
    threads: usize,
) -> PyResult<Made<'py>> {
    let profile = profile(profile_name, Some(bits))?;
    let pool = threads::pool(threads).map_err(|error| argument("threads", error))?;
    let fields = Fields {
        text,
        id: None,
        sort: None,
    };
    let (cancel, failure) = (Arc::default(), Failure::default());
    let records = Records::new(data, "data", &fields, &cancel, &failure)?;
    let result = run_until(py, None, &cancel, |progress| {
        let input = records.open(progress, &cancel)?;
        pool.install(|| text_fingerprints(&input.sources, &profile, HashKey::PUBLIC, progress))
    })?;
    match (failure.take(), result) {
        (Some(error), _) => Err(error),
        (None, Err(error)) => Err(job_exception(&error)),
        (None, Ok(fingerprints)) => Ok(made(py, &fingerprints, bits)),
    }
}
