//! The analysis of several batches at a time.
//!
//! The chunks of up to [`BATCHES_AT_A_TIME`] batches are analysed on all threads. While the caller merges the oldest batch, the
//! others are analysed. So no thread waits for the others at the end of a batch. Batches with long records are larger than
//! usual, so the bytes of the batches are limited too.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rayon::{ScopeFifo, Yield};

/// The largest number of batches that are analysed at a time.
pub(super) const BATCHES_AT_A_TIME: usize = 3;

/// The batches that are being analysed, the oldest first.
pub(super) struct BatchesInWork<T> {
    batches: VecDeque<Held<T>>,
    /// The bytes of all batches, and their limit. Only a single batch may exceed it.
    bytes: u64,
    most_bytes: u64,
}

/// A batch with its bytes in memory and the bytes that were read for it.
struct Held<T> {
    batch: Arc<BatchInWork<T>>,
    bytes: u64,
    input_bytes: u64,
}

impl<T> BatchesInWork<T> {
    /// Creates a queue for batches of together at most `most_bytes` bytes.
    pub(super) fn new(most_bytes: u64) -> Self {
        Self {
            batches: VecDeque::new(),
            bytes: 0,
            most_bytes,
        }
    }

    /// Adds a batch of `bytes` bytes in memory, for which `input_bytes` bytes were read.
    pub(super) fn push(&mut self, batch: Arc<BatchInWork<T>>, bytes: u64, input_bytes: u64) {
        self.bytes += bytes;
        self.batches.push_back(Held {
            batch,
            bytes,
            input_bytes,
        });
    }

    /// Takes the oldest batch if there is no room for another of `bytes` bytes, or if there is no other batch. Returns it with
    /// the number of bytes that were read for it.
    pub(super) fn pop_for(&mut self, bytes: Option<u64>) -> Option<(Arc<BatchInWork<T>>, u64)> {
        let has_room = bytes.is_some_and(|bytes| {
            self.batches.len() < BATCHES_AT_A_TIME && self.bytes + bytes <= self.most_bytes
        });
        let oldest = if has_room { None } else { self.batches.pop_front() }?;
        self.bytes -= oldest.bytes;
        Some((oldest.batch, oldest.input_bytes))
    }
}

/// A batch whose chunks are being analysed. `T` is the result for one chunk.
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
    ///
    /// A thread of the pool that has nothing left to do sleeps until the last task ends. No task waits for this thread.
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
    fn the_number_and_the_bytes_of_batches_are_limited() {
        rayon::in_place_scope_fifo(|scope| {
            let begin = || BatchInWork::begin(vec![()], scope, |()| ());
            let mut in_work = BatchesInWork::new(30);
            assert!(in_work.pop_for(Some(31)).is_none(), "a long batch is alone");
            in_work.push(begin(), 31, 5);
            assert_eq!(in_work.pop_for(Some(1)).map(|(_, read)| read), Some(5));
            for read in 1..=3 {
                assert!(in_work.pop_for(Some(10)).is_none());
                in_work.push(begin(), 10, read);
            }
            assert_eq!(in_work.pop_for(Some(10)).map(|(_, read)| read), Some(1));
            assert!(in_work.pop_for(Some(10)).is_none());
            assert_eq!(in_work.pop_for(Some(11)).map(|(_, read)| read), Some(2));
            assert_eq!(in_work.pop_for(None).map(|(_, read)| read), Some(3));
            assert!(in_work.pop_for(None).is_none());
        });
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
