//! The settings of a run: size, seed, and the directory of the labelled sets.

use std::path::{Path, PathBuf};

/// The size of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Size {
    /// At most seconds, even without optimisation; on generated texts.
    Small,
    /// The size of docs/experiments.md: up to three minutes; on the labelled sets if they exist.
    Full,
}

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The size of the experiments.
    pub size: Size,
    /// The seed of all generated data.
    pub seed: u64,
    /// The directory of the labelled sets; `None` for generated texts.
    pub data: Option<PathBuf>,
    /// A number of fingerprints that replaces the one of the size.
    pub rows: Option<usize>,
}

impl Setup {
    /// The settings of a size. Full size reads the labelled sets if they exist; small size reads only the dictionaries
    /// and published vectors among them.
    pub fn new(size: Size, seed: u64) -> Self {
        Self {
            size,
            seed,
            data: shared_data(),
            rows: None,
        }
    }

    /// Returns `small` or `full`, as the size is.
    pub fn pick<T>(&self, small: T, full: T) -> T {
        match self.size {
            Size::Small => small,
            Size::Full => full,
        }
    }

    /// The number of fingerprints: `--rows`, or that of the size.
    pub fn rows(&self, small: usize, full: usize) -> usize {
        self.rows.unwrap_or(self.pick(small, full))
    }
}

/// The directory of the labelled sets: `data` in `$TWINPRINT_SHARED`, or in `shared` next to the repository.
fn shared_data() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("TWINPRINT_SHARED").map_or_else(beside, PathBuf::from);
    let data = shared.join("data");
    data.is_dir().then_some(data)
}
