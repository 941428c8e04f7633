//! Starts the worker threads of a run.

use rayon::{ThreadPool, ThreadPoolBuilder};

/// The largest number of worker threads. A number of threads far above the number of cores only slows a run down.
pub const MAX_THREADS: usize = 1024;

/// The worker threads cannot be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ThreadsError {
    /// The requested number of worker threads exceeds [`MAX_THREADS`].
    #[error(
        "{given} worker threads are too many; choose at most {MAX_THREADS}, or 0 for one thread per core"
    )]
    TooMany {
        /// The number of threads that was requested.
        given: usize,
    },
    /// The system cannot start the threads.
    #[error("the worker threads cannot be started: {0}")]
    Refused(String),
}

/// Starts a pool of `threads` worker threads. If `threads` is 0, it has one thread per core.
///
/// # Errors
/// [`ThreadsError::TooMany`] for more than [`MAX_THREADS`] threads; [`ThreadsError::Refused`] if the system cannot
/// start them.
pub fn pool(threads: usize) -> Result<ThreadPool, ThreadsError> {
    if threads > MAX_THREADS {
        return Err(ThreadsError::TooMany { given: threads });
    }
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| ThreadsError::Refused(error.to_string()))
}
