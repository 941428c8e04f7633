//! The analysis of several batches at a time.
//!
//! The chunks of [`BATCHES_AT_A_TIME`] batches are analysed on all threads, while the caller merges the batch before them. So
//! no thread waits for the others at the end of a batch.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rayon::{ScopeFifo, Yield};

/// The number of batches that are analysed at a time.
pub(super) const BATCHES_AT_A_TIME: usize = 3;

/// A batch of which the chunks are analysed. `T` is the result for one chunk.
pub(super) struct BatchInWork<T> {
    state: Mutex<State<T>>,
    ended: Condvar,
}

struct State<T> {
    /// The results in the order of the chunks, as far as they exist.
    results: Vec<Option<T>>,
    /// The number of tasks that have not ended.
    left: usize,
}

impl<T: Send> BatchInWork<T> {
    /// Begins a task for each of `chunks`. The tasks of batches that were begun earlier come first.
    pub(super) fn begin<'s, C: Send + 's>(
        chunks: Vec<C>,
        scope: &ScopeFifo<'s>,
        analyse: impl Fn(C) -> T + Clone + Send + 's,
    ) -> Arc<Self>
    where
        T: 's,
    {
        let batch = Arc::new(Self {
            state: Mutex::new(State {
                results: chunks.iter().map(|_| None).collect(),
                left: chunks.len(),
            }),
            ended: Condvar::new(),
        });
        for (number, chunk) in chunks.into_iter().enumerate() {
            let task = Task {
                batch: Arc::clone(&batch),
                number,
                result: None,
            };
            let analyse = analyse.clone();
            scope.spawn_fifo(move |_| {
                // The whole task is moved here, so that it is dropped here.
                let mut task = task;
                task.result = Some(analyse(chunk));
            });
        }
        batch
    }

    /// Waits for the end of all tasks, and takes part in them if this thread is one of the pool. Returns the results in the
    /// order of the chunks; `None` if a task has panicked. The scope then passes the panic on when it ends.
    pub(super) fn finish(&self) -> Option<Vec<T>> {
        while self.state().left > 0 && rayon::yield_now() == Some(Yield::Executed) {}
        let state = self.ended.wait_while(self.state(), |state| state.left > 0);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut state.results).into_iter().collect()
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        // No code panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A task of a batch. It counts as ended when it is dropped, so also after a panic.
struct Task<T: Send> {
    batch: Arc<BatchInWork<T>>,
    number: usize,
    result: Option<T>,
}

impl<T: Send> Drop for Task<T> {
    fn drop(&mut self) {
        let mut state = self.batch.state();
        if let Some(place) = state.results.get_mut(self.number) {
            *place = self.result.take();
        }
        state.left -= 1;
        if state.left == 0 {
            self.batch.ended.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    /// The squares of all numbers, by batches of `size` on `threads` threads.
    fn squares(threads: usize, numbers: &[u64], size: usize) -> Vec<u64> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let by_batches = || {
            rayon::in_place_scope_fifo(|scope| {
                let (mut in_work, mut all) = (VecDeque::new(), Vec::new());
                for batch in numbers.chunks(size) {
                    in_work.push_back(BatchInWork::begin(batch.to_vec(), scope, |number| {
                        number * number
                    }));
                    if in_work.len() == BATCHES_AT_A_TIME {
                        all.extend(in_work.pop_front().unwrap().finish().unwrap());
                    }
                }
                for batch in in_work {
                    all.extend(batch.finish().unwrap());
                }
                all
            })
        };
        pool.install(by_batches)
    }

    #[test]
    fn results_are_in_the_order_of_the_chunks() {
        let numbers: Vec<u64> = (0..1000).collect();
        let expected: Vec<u64> = numbers.iter().map(|number| number * number).collect();
        for threads in [1, 2, 5] {
            for size in [1, 7, 1000] {
                assert_eq!(
                    squares(threads, &numbers, size),
                    expected,
                    "{threads} threads, {size}"
                );
            }
        }
    }

    #[test]
    fn a_thread_outside_the_pool_waits_for_the_tasks() {
        let results = rayon::in_place_scope_fifo(|scope| {
            BatchInWork::begin(vec![1, 2, 3], scope, |number| number + 1).finish()
        });
        assert_eq!(results, Some(vec![2, 3, 4]));
    }

    #[test]
    fn a_panic_of_a_task_reaches_the_caller() {
        let run = || {
            rayon::in_place_scope_fifo(|scope| {
                let batch = BatchInWork::begin(vec![1, 2, 3], scope, |number| {
                    assert!(number != 2, "the task fails");
                    number
                });
                assert_eq!(batch.finish(), None);
            });
        };
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    }
}
