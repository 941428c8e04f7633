//! A bounded pool for blocking work: computation and disk access, away from the threads that serve connections.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use tokio::sync::Semaphore;

use crate::problem::Problem;

/// Requests that run at the same time, for each processor. More than one, because requests that wait for the disk use
/// no processor.
const RUNNING_PER_PROCESSOR: usize = 8;

/// A pool that admits a limited number of requests and runs fewer of them at a time.
pub(crate) struct WorkerPool {
    /// Permits of admitted requests: those that run and those that wait.
    admitted: Arc<Semaphore>,
    capacity: usize,
    /// Permits of running requests.
    running: Arc<Semaphore>,
    timeout: Duration,
}

impl WorkerPool {
    /// A pool that admits `capacity` requests and answers each within `timeout`.
    pub(crate) fn new(capacity: usize, timeout: Duration) -> Self {
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            admitted: Arc::new(Semaphore::new(capacity)),
            capacity,
            running: Arc::new(Semaphore::new((processors * RUNNING_PER_PROCESSOR).min(capacity))),
            timeout,
        }
    }

    /// Number of requests that run or wait.
    pub(crate) fn admitted(&self) -> usize {
        self.capacity - self.admitted.available_permits()
    }

    /// Runs `work` on the calling thread. For work that is shorter than waking up another thread.
    ///
    /// # Errors
    /// 429 if the pool is full, 500 if `work` panics, and the errors of `work`.
    pub(crate) fn run_inline<T>(&self, work: impl FnOnce() -> Result<T, Problem>) -> Result<T, Problem> {
        let _admitted = self.admitted.try_acquire().map_err(|_| self.full())?;
        // All state that `work` shares is behind locks, which report a panic by poisoning.
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or_else(|_| Err(panicked()))
    }

    fn full(&self) -> Problem {
        Problem {
            limit: Some(self.capacity as u64),
            ..Problem::busy("too many requests at the same time; retry in a moment")
        }
    }

    /// Runs `work` on a worker thread.
    ///
    /// # Errors
    /// 429 if the pool is full, 504 after the timeout (`work` continues), 500 if `work` panics, and the errors of `work`.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        self.run_with_guard(std::future::ready(()), work).await
    }

    /// Like [`run`](Self::run), but first waits for `guard`, which is dropped after `work` has ended. The wait occupies no
    /// thread.
    pub(crate) async fn run_with_guard<G: Send + 'static, T: Send + 'static>(
        &self,
        guard: impl Future<Output = G>,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let admitted = Arc::clone(&self.admitted)
            .try_acquire_owned()
            .map_err(|_| self.full())?;
        let running = Arc::clone(&self.running);
        let result = async move {
            let guard = guard.await;
            let permit = running.acquire_owned().await.map_err(|_| self.full())?;
            let task = tokio::task::spawn_blocking(move || {
                let _until_done = (permit, admitted, guard);
                work()
            });
            task.await.unwrap_or_else(|_| Err(panicked()))
        };
        tokio::time::timeout(self.timeout, result)
            .await
            .unwrap_or_else(|_| {
                Err(Problem::limit(
                    StatusCode::GATEWAY_TIMEOUT,
                    "seconds until the answer",
                    self.timeout.as_secs(),
                    None,
                ))
            })
    }
}

/// The answer to a request whose work panicked.
fn panicked() -> Problem {
    Problem::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "internal error: the request failed; the log has the cause",
    )
}
