//! The thread that flushes full memtables and merges segments.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use twinprint_fingerprint::Width;

use super::writing::{Shared, held};

/// Wakes the thread. Rung while it works, it works once more.
#[derive(Debug, Default)]
pub(super) struct Bell {
    rung: Mutex<bool>,
    changed: Condvar,
}

impl Bell {
    pub(super) fn ring(&self) {
        *held(&self.rung) = true;
        self.changed.notify_one();
    }

    fn wait(&self) {
        let mut rung = held(&self.rung);
        while !*rung {
            rung = self.changed.wait(rung).unwrap_or_else(PoisonError::into_inner);
        }
        *rung = false;
    }
}

/// A running thread; ended and waited for when dropped.
#[derive(Debug)]
pub(super) struct Background {
    thread: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    bell: Arc<Bell>,
}

impl Background {
    pub(super) fn start<W: Width>(shared: &Arc<Shared<W>>) -> std::io::Result<Self> {
        let worker = shared.clone();
        let thread = std::thread::Builder::new().name("index upkeep".into());
        let thread = thread.spawn(move || {
            while !worker.stop.load(Ordering::Relaxed) {
                // What fails is kept as the reason for which changes are refused, and told to who wants the next.
                let _refused = worker.flush().and_then(|()| worker.compact_where_due());
                worker.bell.wait();
            }
        })?;
        Ok(Self {
            thread: Some(thread),
            stop: shared.stop.clone(),
            bell: shared.bell.clone(),
        })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.bell.ring();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported when it happened.
            let _ended = thread.join();
        }
    }
}
