//! Functions whose CPU times for the same texts are compared.

use std::hint::black_box;

use crate::clock::{median, thread_seconds};

/// A function that processes a text. Its result depends on all of the work, so that the compiler cannot remove any.
pub struct Contender {
    /// The name in the table of results.
    pub name: String,
    run: Box<dyn FnMut(&str) -> u64>,
}

impl std::fmt::Debug for Contender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Contender")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Contender {
    /// Creates a contender.
    pub fn new(name: impl Into<String>, run: impl FnMut(&str) -> u64 + 'static) -> Self {
        Self {
            name: name.into(),
            run: Box::new(run),
        }
    }
}

/// Returns, for each contender, the median CPU time in seconds for all texts. In every round each contender runs once, so
/// that a slow moment of the machine affects all of them.
pub fn measure(contenders: &mut [Contender], texts: &[&str], rounds: usize) -> Vec<f64> {
    let mut seconds = vec![Vec::new(); contenders.len()];
    for _ in 0..rounds.max(1) {
        for (contender, seconds) in contenders.iter_mut().zip(&mut seconds) {
            let before = thread_seconds();
            let folded = texts
                .iter()
                .fold(0, |folded, text| folded ^ (contender.run)(text));
            black_box(folded);
            seconds.push(thread_seconds() - before);
        }
    }
    seconds.into_iter().map(median).collect()
}
