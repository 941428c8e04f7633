//! The worker threads of a run.

use rayon::{ThreadPool, ThreadPoolBuilder};

/// Most worker threads. Far more threads than cores only slow a run down.
pub const MAX_THREADS: usize = 1024;

/// Worker threads that cannot be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ThreadsError {
    /// More than [`MAX_THREADS`].
    #[error("{given} worker threads are too many; give at most {MAX_THREADS}, or 0 for all cores")]
    TooMany {
        /// The number asked for.
        given: usize,
    },
    /// The system refuses to start them.
    #[error("the worker threads cannot be started: {0}")]
    Refused(String),
}

/// A pool of `threads` worker threads, or of one a core with 0.
///
/// # Errors
/// More than [`MAX_THREADS`]; a system that starts none.
pub fn pool(threads: usize) -> Result<ThreadPool, ThreadsError> {
    if threads > MAX_THREADS {
        return Err(ThreadsError::TooMany { given: threads });
    }
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| ThreadsError::Refused(error.to_string()))
}
