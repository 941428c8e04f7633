//! Ctrl-C: the first asks the command to stop, the second stops it at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;

use crate::terminal;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Returns a flag that becomes true on Ctrl-C (or SIGTERM).
pub(crate) fn flag() -> anyhow::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let ours = Arc::clone(&flag);
    ctrlc::set_handler(move || {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        ours.store(true, Ordering::Relaxed);
        terminal::note("stopping; press Ctrl-C again to stop at once");
    })
    .context("cannot listen for Ctrl-C")?;
    Ok(flag)
}

/// The exit status of a command that failed: 130 after Ctrl-C, as shells expect, and 1 otherwise.
pub(crate) fn exit_status() -> u8 {
    if INTERRUPTED.load(Ordering::Relaxed) {
        130
    } else {
        1
    }
}
