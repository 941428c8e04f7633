//! The guard around third-party readers that panic on damaged input: a panic becomes an error of that input.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Calls `f` and returns its result; `None` if it panicked.
///
/// After a panic the caller must not use values that `f` may have left inconsistent. The guard applies to this thread only; work on other
/// threads needs its own guard.
pub fn guarded<T>(f: impl FnOnce() -> T) -> Option<T> {
    let before = GUARDED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(f));
    GUARDED.set(before);
    done.ok()
}

/// True if a panic of this thread is caught by [`guarded`], so that a panic hook need not print it.
pub fn catches_panics() -> bool {
    GUARDED.get()
}
