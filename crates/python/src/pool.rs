//! The worker threads of calls that have no argument for their number.
//!
//! The threads are started by the first call that needs them. A forked process has none of its parent's threads, so it
//! starts its own. Every call of the library that may work in parallel is made from these threads: rayon's global pool
//! could not be used any more after a fork.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::ThreadPool;
use twinprint::Progress;

use crate::run;

/// The threads, and the process that started them.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Returns the worker threads of this process, one for each core. Call it with the interpreter attached: then no other
/// thread of Python can fork while the lock is held.
fn shared(_: Python<'_>) -> PyResult<Arc<ThreadPool>> {
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some((owner, threads)) = &*pool
        && *owner == process
    {
        return Ok(Arc::clone(threads));
    }
    let threads = rayon::ThreadPoolBuilder::new()
        .thread_name(|n| format!("twinprint-{n}"))
        .build()
        .map_err(|error| PyRuntimeError::new_err(format!("the worker threads cannot be started: {error}")))?;
    let threads = Arc::new(threads);
    // The threads of a parent process do not exist here, so its pool cannot be shut down.
    std::mem::forget(pool.replace((process, Arc::clone(&threads))));
    Ok(threads)
}

/// Runs `work` on the worker threads, without the interpreter.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let threads = shared(py)?;
    Ok(py.detach(|| threads.install(work)))
}

/// Runs long work on the worker threads, as [`run::run`] does.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    report: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&dyn Progress, &Arc<AtomicBool>) -> T + Send,
) -> PyResult<T> {
    let threads = shared(py)?;
    run::run(py, report, |progress, cancel| {
        threads.install(|| work(progress, cancel))
    })
}
