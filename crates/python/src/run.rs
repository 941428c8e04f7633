//! Long calls: the work runs on a thread of its own, while the calling thread waits for signals and reports progress.
//!
//! Python delivers Ctrl-C to its main thread only, and only when that thread asks for it. So the calling thread sleeps
//! in short intervals, and sets the flag that stops the work when a signal has raised an exception.

use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::{PyRuntimeError, PyUserWarning};
use pyo3::prelude::*;
use twinprint::{Progress, Unit};

/// The time between two looks at signals and progress.
const INTERVAL: Duration = Duration::from_millis(50);

/// The state of a run, as the working threads report it.
#[derive(Default)]
struct Watch {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    stage: &'static str,
    unit: &'static str,
    done: u64,
    total: u64,
    warnings: Vec<String>,
}

impl Watch {
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Progress for Watch {
    fn stage(&self, name: &'static str, total: u64, unit: Unit) {
        let unit = match unit {
            Unit::Bytes => "bytes",
            Unit::Documents => "documents",
            Unit::Fingerprints => "fingerprints",
            Unit::Steps => "steps",
        };
        self.change(|state| {
            (state.stage, state.unit, state.done, state.total) = (name, unit, 0, total);
        });
    }

    fn advance(&self, done: u64) {
        self.change(|state| state.done += done);
    }

    fn warn(&self, message: &str) {
        self.change(|state| state.warnings.push(message.to_owned()));
    }
}

/// Becomes true when the work has ended.
#[derive(Default)]
struct Ended {
    ended: Mutex<bool>,
    changed: Condvar,
}

impl Ended {
    /// Waits for the end, but no longer than [`INTERVAL`]. Returns true at the end.
    fn wait(&self) -> bool {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(ended, INTERVAL, |ended| !*ended);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Tells [`Ended`] about the end when it is dropped, also if the work panics.
struct AtEnd<'e>(&'e Ended);

impl Drop for AtEnd<'_> {
    fn drop(&mut self) {
        *self.0.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.changed.notify_all();
    }
}

/// Runs `work` without the interpreter and returns its result. `report`, if it is not `None`, is called as
/// `report(stage, done, total, unit)` about twenty times a second.
///
/// # Errors
/// The exception that a signal handler or `report` raises; `work` is stopped before. `RuntimeError` if `work` panics.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    report: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&dyn Progress, &Arc<AtomicBool>) -> T + Send,
) -> PyResult<T> {
    let cancel = Arc::default();
    run_until(py, report, &cancel, |progress| work(progress, &cancel))
}

/// Like [`run`], but with a flag of the caller, which `work` watches.
///
/// # Errors
/// The same as for [`run`].
pub(crate) fn run_until<T: Send>(
    py: Python<'_>,
    report: Option<&Bound<'_, PyAny>>,
    cancel: &AtomicBool,
    work: impl FnOnce(&dyn Progress) -> T + Send,
) -> PyResult<T> {
    let (watch, ended) = (Watch::default(), Ended::default());
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let _at_end = AtEnd(&ended);
            work(&watch)
        });
        let mut looked = Ok(());
        while !py.detach(|| ended.wait()) {
            if looked.is_ok() {
                looked = look(py, &watch, report);
            }
            if looked.is_err() {
                cancel.store(true, Ordering::Relaxed);
            }
        }
        let result = worker.join();
        looked.and_then(|()| look(py, &watch, report))?;
        result.map_err(|_| PyRuntimeError::new_err("the engine stopped unexpectedly"))
    })
}

/// Handles signals, passes on warnings, and reports the progress.
fn look(py: Python<'_>, watch: &Watch, report: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    py.check_signals()?;
    for warning in watch.change(|state| std::mem::take(&mut state.warnings)) {
        let text = CString::new(warning.replace('\0', " "))?;
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 2)?;
    }
    let Some(report) = report else { return Ok(()) };
    let (stage, done, total, unit) = watch.change(|state| (state.stage, state.done, state.total, state.unit));
    if !stage.is_empty() {
        report.call1((stage, done, total, unit))?;
    }
    Ok(())
}
