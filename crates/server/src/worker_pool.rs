//! A bounded pool of threads for work that computes or waits for the disk, so that the threads that serve connections
//! do not block.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use tokio::sync::Semaphore;

use crate::problem::Problem;

/// The number of requests per processor that are executed at the same time. It is more than one, because a request that
/// waits for the disk uses no processor.
const RUNNING_PER_PROCESSOR: usize = 8;

/// A pool of threads that admits a limited number of requests, and executes fewer of them at the same time.
pub(crate) struct WorkerPool {
    /// The permits of admitted requests: those that are executed and those that wait.
    admitted: Arc<Semaphore>,
    capacity: usize,
    /// The permits of the requests that are executed.
    running: Arc<Semaphore>,
    timeout: Duration,
}

impl WorkerPool {
    /// Creates a pool that admits `capacity` requests and answers each of them within `timeout`.
    pub(crate) fn new(capacity: usize, timeout: Duration) -> Self {
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            admitted: Arc::new(Semaphore::new(capacity)),
            capacity,
            running: Arc::new(Semaphore::new((processors * RUNNING_PER_PROCESSOR).min(capacity))),
            timeout,
        }
    }

    /// The number of admitted requests: those that are executed and those that wait.
    pub(crate) fn admitted(&self) -> usize {
        self.capacity - self.admitted.available_permits()
    }

    /// Runs `work` on the calling thread. This is meant for work that takes less time than waking up another thread.
    ///
    /// # Errors
    /// 429 if the pool is full, 500 if `work` panics, and the errors of `work`.
    pub(crate) fn run_inline<T>(&self, work: impl FnOnce() -> Result<T, Problem>) -> Result<T, Problem> {
        let _admitted = self.admitted.try_acquire().map_err(|_| self.full())?;
        // `AssertUnwindSafe` is justified: all state that `work` shares is behind locks, which are poisoned by a panic.
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or_else(|_| Err(panicked()))
    }

    fn full(&self) -> Problem {
        Problem {
            limit: Some(self.capacity as u64),
            ..Problem::busy("too many requests are in progress; retry in a moment")
        }
    }

    /// Runs `work` on a worker thread.
    ///
    /// # Errors
    /// 429 if the pool is full, 504 after the timeout (`work` still runs to its end), 500 if `work` panics, and the
    /// errors of `work`.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        self.run_with_guard(std::future::ready(()), work).await
    }

    /// Does the same as [`run`](Self::run), but waits for `guard` first, without occupying a thread. The result of
    /// `guard` is dropped after `work` has ended.
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

/// Returns the problem for a request whose work panicked.
fn panicked() -> Problem {
    Problem::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "internal error: the request failed; the log contains the cause",
    )
}
