//! The worker threads of a run.

use rayon::{ThreadPool, ThreadPoolBuilder};

/// The largest number of worker threads. Many more threads than cores only slow a run down.
pub const MAX_THREADS: usize = 1024;

/// An error of starting worker threads.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ThreadsError {
    /// The number exceeds [`MAX_THREADS`].
    #[error("{given} worker threads are too many; give at most {MAX_THREADS}, or 0 for all cores")]
    TooMany {
        /// The given number.
        given: usize,
    },
    /// The system refuses to start them.
    #[error("the worker threads cannot be started: {0}")]
    Refused(String),
}

/// A pool of `threads` worker threads; 0 stands for one thread per core.
///
/// # Errors
/// [`ThreadsError::TooMany`] for more than [`MAX_THREADS`]; [`ThreadsError::Refused`].
pub fn pool(threads: usize) -> Result<ThreadPool, ThreadsError> {
    if threads > MAX_THREADS {
        return Err(ThreadsError::TooMany { given: threads });
    }
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| ThreadsError::Refused(error.to_string()))
}
