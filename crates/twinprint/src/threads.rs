//! The threads of a run.

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::DedupError;

/// Most worker threads. Far more than cores only get in each other's way, until the run stands still.
const MOST_THREADS: usize = 1024;

/// So many worker threads, or with 0 as many as there are cores.
///
/// # Errors
/// [`DedupError::Option`] if they are too many, [`DedupError::Threads`] if the system gives none.
pub(crate) fn pool(threads: usize) -> Result<ThreadPool, DedupError> {
    if threads > MOST_THREADS {
        let what = format!("--threads {threads}: give at most {MOST_THREADS}, or 0 for all cores");
        return Err(DedupError::Option(what));
    }
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| DedupError::Threads(error.to_string()))
}
