//! Third-party readers that panic on damaged input. They run here, so that a panic becomes an error of that input.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// The result of `f`; none if it panicked. The caller uses nothing after that which `f` may have left half changed. Work on other
/// threads needs a guard there: each thread says for itself that its panics are caught.
pub fn guarded<T>(f: impl FnOnce() -> T) -> Option<T> {
    let before = GUARDED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(f));
    GUARDED.set(before);
    done.ok()
}

/// True if a panic of this thread is caught and becomes an error, so that a panic hook need not print it.
pub fn catches_panics() -> bool {
    GUARDED.get()
}
