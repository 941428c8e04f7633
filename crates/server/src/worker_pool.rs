//! Work that takes a processor: away from the threads that serve connections, and never more of it waiting than may be.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use tokio::sync::Semaphore;

use crate::problem::Problem;

/// The workers' entrance.
pub(crate) struct Work {
    /// Requests worked on or waiting.
    admitted: Arc<Semaphore>,
    most: usize,
    /// Requests worked on.
    working: Arc<Semaphore>,
    time: Duration,
}

impl Work {
    /// At most `most` requests at a time, of which a few for each processor are worked on: those that wait for the disk take none.
    pub(crate) fn new(most: usize, time: Duration) -> Self {
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            admitted: Arc::new(Semaphore::new(most)),
            most,
            working: Arc::new(Semaphore::new((processors * 8).min(most))),
            time,
        }
    }

    /// Requests worked on or waiting.
    pub(crate) fn admitted(&self) -> usize {
        self.most - self.admitted.available_permits()
    }

    /// Runs `f` here and now: for what takes less time than waking up another thread. Refuses as [`run`](Self::run) does.
    pub(crate) fn here<T>(&self, f: impl FnOnce() -> Result<T, Problem>) -> Result<T, Problem> {
        let _admitted = self.admitted.try_acquire().map_err(|_| self.full())?;
        // What `f` shares with others is behind locks that tell of a panic.
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_or_else(|_| Err(broken()))
    }

    fn full(&self) -> Problem {
        Problem {
            limit: Some(self.most as u64),
            ..Problem::busy("too many requests at a time; try again in a moment")
        }
    }

    /// Runs `f` on a thread of its own; refuses when too much waits already, and gives up waiting (not the work) after the time.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        f: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        self.run_with(std::future::ready(()), f).await
    }

    /// As [`run`](Self::run), once it has something that is given back when `f` has ended. While it waits for that it takes no thread.
    pub(crate) async fn run_with<G: Send + 'static, T: Send + 'static>(
        &self,
        turn: impl Future<Output = G>,
        f: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let admitted = Arc::clone(&self.admitted)
            .try_acquire_owned()
            .map_err(|_| self.full())?;
        let working = Arc::clone(&self.working);
        let work = async move {
            let turn = turn.await;
            let permit = working.acquire_owned().await.map_err(|_| self.full())?;
            let done = tokio::task::spawn_blocking(move || {
                let _held = (permit, admitted, turn);
                f()
            });
            done.await.unwrap_or_else(|_| Err(broken()))
        };
        match tokio::time::timeout(self.time, work).await {
            Ok(result) => result,
            Err(_) => Err(Problem::limit(
                StatusCode::GATEWAY_TIMEOUT,
                "seconds until the answer",
                self.time.as_secs(),
                None,
            )),
        }
    }
}

/// What is said where the work panicked.
fn broken() -> Problem {
    Problem::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "the request failed for a reason of ours; it is in the log",
    )
}
