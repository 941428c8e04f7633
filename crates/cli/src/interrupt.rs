//! Ctrl-C: asks the work to stop; a second one stops at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;

use crate::terminal;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// A flag that Ctrl-C (or SIGTERM) sets.
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

/// The exit status of a run that failed: 130 after Ctrl-C, as shells expect, else 1.
pub(crate) fn exit_status() -> u8 {
    if INTERRUPTED.load(Ordering::Relaxed) {
        130
    } else {
        1
    }
}
