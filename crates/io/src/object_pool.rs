//! What is kept between pieces of work.

use std::sync::Mutex;

/// Analyzers and the like, whose buffers grow with use: whichever thread needs one takes it, and gives it back.
#[derive(Debug)]
pub struct ObjectPool<T> {
    things: Mutex<Vec<T>>,
    /// More are not kept.
    most: usize,
}

impl<T> ObjectPool<T> {
    /// None yet; as many are kept as threads work at once.
    pub fn new() -> Self {
        Self::with_capacity(usize::MAX)
    }

    /// None yet, and never more than so many.
    pub fn with_capacity(most: usize) -> Self {
        Self {
            things: Mutex::default(),
            most,
        }
    }

    /// One that is idle, if there is one.
    pub fn take(&self) -> Option<T> {
        self.things.lock().ok()?.pop()
    }

    /// Keeps it for the next.
    pub fn give(&self, thing: T) {
        if let Ok(mut things) = self.things.lock()
            && things.len() < self.most
        {
            things.push(thing);
        }
    }

    /// Works with one that is idle, or a new one.
    pub fn with<R>(&self, new: impl FnOnce() -> T, work: impl FnOnce(&mut T) -> R) -> R {
        let mut thing = self.take().unwrap_or_else(new);
        let result = work(&mut thing);
        self.give(thing);
        result
    }
}
