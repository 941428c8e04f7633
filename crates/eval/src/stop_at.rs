//! Cancels a run at the beginning of a stage, for tests.

use twinprint_io::progress::{Progress, Unit};

/// A progress display that cancels the run when a given stage begins.
pub(crate) struct StopAt {
    stage: &'static str,
    cancel: std::sync::Arc<std::sync::atomic::AtomicBool>,
}

impl StopAt {
    pub(crate) fn new(stage: &'static str) -> (Self, std::sync::Arc<std::sync::atomic::AtomicBool>) {
        let cancel = std::sync::Arc::default();
        let flag_of_run = std::sync::Arc::clone(&cancel);
        (Self { stage, cancel }, flag_of_run)
    }
}

impl Progress for StopAt {
    fn stage(&self, name: &'static str, _: u64, _: Unit) {
        if name == self.stage {
            self.cancel.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    }
    fn advance(&self, _: u64) {}
    fn warn(&self, _: &str) {}
}
