//! Joins of arrays of fingerprints.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use twinprint::join::{Pair, join_sets, self_join_until};
use twinprint::planner::plan_join;
use twinprint::threads;

use crate::columns::column;
use crate::errors::argument;
use crate::index::Row;
use crate::run::run;

/// Finds all pairs of fingerprints within `k`, of one array or of two. Returns the positions of both rows (u32) and the
/// distances (u8), as bytes, ordered by position.
#[pyfunction]
#[pyo3(signature = (a, b, bits, k, threads))]
pub(crate) fn join_fingerprints<'py>(
    py: Python<'py>,
    a: &[u8],
    b: Option<&[u8]>,
    bits: u32,
    k: u32,
    threads: usize,
) -> PyResult<[Bound<'py, PyByteArray>; 3]> {
    if k > bits {
        return Err(argument(
            "k",
            format_args!("{k} exceeds the {bits} bits of the fingerprints"),
        ));
    }
    let pool = threads::pool(threads).map_err(|error| argument("threads", error))?;
    let pairs = run(py, None, |_, cancel| {
        pool.install(|| match bits {
            32 => pairs::<u32>(a, b, k, cancel),
            128 => pairs::<u128>(a, b, k, cancel),
            _ => pairs::<u64>(a, b, k, cancel),
        })
    })?;
    let pairs = pairs.ok_or_else(|| PyKeyboardInterrupt::new_err(()))?;
    Ok([
        column(py, pairs.iter().map(|pair| pair.a)),
        column(py, pairs.iter().map(|pair| pair.b)),
        column(py, pairs.iter().map(|pair| pair.distance)),
    ])
}

/// The pairs in order; `None` if the join was cancelled.
fn pairs<W: Row>(a: &[u8], b: Option<&[u8]>, k: u32, cancel: &AtomicBool) -> Option<Vec<Pair>> {
    let rows = W::read(a);
    let found = Mutex::new(Vec::new());
    let sink = |batch: &[Pair]| {
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        found.extend_from_slice(batch);
    };
    let is_stopped = || cancel.load(Ordering::Relaxed);
    if let Some(b) = b {
        join_sets(&rows, &W::read(b), k, &is_stopped, &sink);
    } else {
        let plan = plan_join(&rows, k).plan;
        self_join_until(&rows, k, &plan, &is_stopped, &sink);
    }
    if is_stopped() {
        return None;
    }
    let mut pairs = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    rayon::slice::ParallelSliceMut::par_sort_unstable(pairs.as_mut_slice());
    Some(pairs)
}
