//! The extension module `twinprint._twinprint`: what the Python package needs of the library, in types of Python.
//!
//! The package in `python/twinprint` is the public interface; this module is private to it. Results cross the border as
//! bytes of little-endian numbers, strings, tuples and JSON, which the package turns into NumPy arrays and classes.
//!
//! Invariants: no thread is started when the module is imported. No call holds the interpreter while it computes. Every
//! long call stops within a fraction of a second after Ctrl-C. No unsafe code: arrays of other libraries are imported
//! by the crate `arrow-pyarrow`.
#![forbid(unsafe_code)]
#![expect(
    clippy::needless_pass_by_value,
    reason = "functions that Python calls own their arguments"
)]

mod cluster;
mod collection;
mod columns;
mod compare;
mod dedup;
mod errors;
mod eval;
mod fingerprint;
mod index;
mod join;
mod json;
mod pool;
mod profile;
mod records;
mod rethreshold;
mod run;
mod staged;
mod times;

/// The module `twinprint._twinprint`.
#[pyo3::pymodule]
mod _twinprint {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::cluster::StreamHandle;
    #[pymodule_export]
    use super::collection::CollectionHandle;
    #[pymodule_export]
    use super::compare::{
        compare_two_features, compare_two_fingerprints, compare_two_texts, compare_two_vectors,
    };
    #[pymodule_export]
    use super::dedup::{Deduplicated, dedup};
    #[pymodule_export]
    use super::errors::TwinprintError;
    #[pymodule_export]
    use super::eval::{agreement_of_files, calibrate_files, evaluate_files};
    #[pymodule_export]
    use super::fingerprint::{fingerprint, fingerprint_text};
    #[pymodule_export]
    use super::index::IndexHandle;
    #[pymodule_export]
    use super::join::join_fingerprints;
    #[pymodule_export]
    use super::rethreshold::rethreshold;
    #[pymodule_export]
    use super::staged::{StagedRun, stages};
    #[pymodule_export]
    use super::times::{parse_span, parse_time};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
