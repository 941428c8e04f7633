//! The extension module `twinprint._twinprint`: what the Python package needs of the library, in types of Python.
//!
//! The package in `python/twinprint` is the public interface; this module is private to it. Results cross the border as
//! bytes of little-endian numbers, strings, tuples and JSON, which the package turns into NumPy arrays and classes.
//!
//! Invariants: no thread is started when the module is imported. No call holds the interpreter while it computes. Every
//! long call stops within a fraction of a second after Ctrl-C. No unsafe code: arrays of other libraries are imported
//! by the crate `arrow-pyarrow`.
#![forbid(unsafe_code)]

mod columns;
mod dedup;
mod errors;
mod fingerprint;
mod profile;
mod records;
mod rethreshold;
mod run;

use pyo3::prelude::*;

/// The module `twinprint._twinprint`.
#[pymodule]
mod _twinprint {
    use super::*;

    #[pymodule_export]
    use super::dedup::{Deduplicated, dedup};
    #[pymodule_export]
    use super::errors::TwinprintError;
    #[pymodule_export]
    use super::fingerprint::{fingerprint, fingerprint_text};
    #[pymodule_export]
    use super::rethreshold::rethreshold;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
