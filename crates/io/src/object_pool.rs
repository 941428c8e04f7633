//! An object pool: analyzers are reused across tasks so that their buffers stay allocated.

use std::sync::Mutex;

/// A pool of idle objects, shared by threads.
///
/// The objects are expensive to create or have buffers that grow with use, such as analyzers. A task takes an object
/// out of the pool and returns it when the task ends. The pool does not reset objects.
///
/// ```
/// use twinprint_io::object_pool::ObjectPool;
///
/// let pool = ObjectPool::new();
/// let length = pool.with(String::new, |buffer| {
///     buffer.clear();
///     buffer.push_str("text");
///     buffer.len()
/// });
/// assert_eq!(length, 4);
/// // The buffer is idle again, with its allocation.
/// assert!(pool.get().is_some_and(|buffer| buffer.capacity() >= 4));
/// assert!(pool.get().is_none());
/// ```
#[derive(Debug)]
pub struct ObjectPool<T> {
    idle: Mutex<Vec<T>>,
    /// The largest number of idle objects in the pool. Further objects are dropped.
    capacity: usize,
}

impl<T> ObjectPool<T> {
    /// Creates an empty pool without a limit. It never contains more objects than the largest number of tasks that ran
    /// at once.
    pub fn new() -> Self {
        Self::with_capacity(usize::MAX)
    }

    /// Creates an empty pool that stores at most `capacity` idle objects.
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            idle: Mutex::default(),
            capacity,
        }
    }

    /// Takes an idle object out of the pool, or returns `None` if the pool is empty.
    pub fn get(&self) -> Option<T> {
        self.idle.lock().ok()?.pop()
    }

    /// Returns an object to the pool, or drops it if the pool is full.
    pub fn put(&self, object: T) {
        if let Ok(mut idle) = self.idle.lock()
            && idle.len() < self.capacity
        {
            idle.push(object);
        }
    }

    /// Calls `work` with an idle object, or with an object made by `new` if the pool is empty. Then returns the object
    /// to the pool.
    pub fn with<R>(&self, new: impl FnOnce() -> T, work: impl FnOnce(&mut T) -> R) -> R {
        let mut object = self.get().unwrap_or_else(new);
        let result = work(&mut object);
        self.put(object);
        result
    }
}

impl<T> Default for ObjectPool<T> {
    fn default() -> Self {
        Self::new()
    }
}
