//! The thread that runs one merge of a growing index.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex};

use twinprint_fingerprint::Width;

use super::level::Level;

/// A merge on a thread of its own.
pub(super) struct MergeThread<W> {
    /// Receives the merged level. The receiver is in a mutex, because the threads that do lookups cannot share it
    /// otherwise.
    merged: Mutex<Receiver<Level<W>>>,
    /// Sends replaced levels to the thread, because freeing hundreds of megabytes takes long.
    replaced: SyncSender<Vec<Arc<Level<W>>>>,
}

/// The state of a merge.
pub(super) enum Progress<W> {
    Running,
    Merged(Level<W>),
    /// The thread ended without a result.
    Lost,
}

impl<W: Width> MergeThread<W> {
    /// Starts a thread that runs `merge`.
    pub(super) fn start(merge: impl FnOnce() -> Level<W> + Send + 'static) -> io::Result<Self> {
        let (sender, merged) = sync_channel(1);
        let (replaced, to_free) = sync_channel(1);
        let thread = std::thread::Builder::new().name("twinprint-merge".to_owned());
        thread.spawn(move || {
            lower_priority();
            // Sending fails if the index has been dropped in the meantime; nobody needs the merged level then.
            let _index_dropped = sender.send(merge());
            // The levels that the merged level replaces are freed on this thread.
            let _replaced = to_free.recv();
        })?;
        Ok(Self {
            merged: Mutex::new(merged),
            replaced,
        })
    }

    /// Returns the state of the merge without waiting.
    pub(super) fn progress(&self) -> Progress<W> {
        let merged = self.merged.lock();
        match merged.map_or(Err(TryRecvError::Disconnected), |merged| merged.try_recv()) {
            Ok(level) => Progress::Merged(level),
            Err(TryRecvError::Empty) => Progress::Running,
            Err(TryRecvError::Disconnected) => Progress::Lost,
        }
    }

    /// Waits for the merged level; returns `None` if the thread ended without one.
    pub(super) fn wait(&self) -> Option<Level<W>> {
        self.merged.lock().ok()?.recv().ok()
    }

    /// Passes levels to the thread, which frees them.
    pub(super) fn release(&self, levels: Vec<Arc<Level<W>>>) {
        let _thread_ended = self.replaced.send(levels);
    }
}

/// Lowers the priority of this thread below that of the threads that answer lookups, because a merge takes long.
fn lower_priority() {
    // Only Linux has a priority for each thread. If it cannot be changed, the thread runs with the priority of the
    // others.
    #[cfg(target_os = "linux")]
    let _unchanged = rustix::process::setpriority_process(None, 10);
}
