//! The thread that flushes full memtables and merges segments.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use twinprint_fingerprint::Width;

use super::wakeup::Wakeup;
use super::writing::Shared;

/// A running thread. Dropping this value ends the thread and waits for it.
#[derive(Debug)]
pub(super) struct Background {
    thread: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    wakeup: Arc<Wakeup>,
}

impl Background {
    pub(super) fn start<W: Width>(shared: &Arc<Shared<W>>) -> std::io::Result<Self> {
        let worker = shared.clone();
        let thread = std::thread::Builder::new().name("index upkeep".into());
        let thread = thread.spawn(move || {
            while !worker.stop.load(Ordering::Relaxed) {
                // An error is recorded in `WriteState::refused`, and the next change returns it.
                let _refused = worker.flush().and_then(|()| worker.compact_where_due());
                worker.wakeup.wait();
            }
        })?;
        Ok(Self {
            thread: Some(thread),
            stop: shared.stop.clone(),
            wakeup: shared.wakeup.clone(),
        })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.wakeup.notify();
        if let Some(thread) = self.thread.take() {
            // If the thread panicked, the panic was reported when it happened.
            let _ended = thread.join();
        }
    }
}
