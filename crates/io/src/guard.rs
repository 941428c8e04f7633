//! Catches the panics of third-party readers on damaged input, so that a panic becomes an error of that input.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Calls `f` and returns its result, or `None` if `f` panicked.
///
/// After a panic the caller must not use values that `f` may have left inconsistent. Only panics on the calling thread
/// are caught: work that `f` moves to other threads must call `guarded` there.
pub fn guarded<T>(f: impl FnOnce() -> T) -> Option<T> {
    let before = GUARDED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(f));
    GUARDED.set(before);
    done.ok()
}

/// Returns true if [`guarded`] catches a panic of the calling thread. A panic hook need not print such a panic.
pub fn catches_panics() -> bool {
    GUARDED.get()
}
