//! The experiments: every system, example, table and claim of the five documents that twinprint implements, as programs.
//!
//! Each experiment uses the library and makes a [`Report`], which has the documents' figures and the measured ones.
//! `docs/experiments.md` has the results at full size. The documents are numbered as there:
//!
//! * 0: an explanation of SimHash as locality-sensitive hashing, with Java;
//! * 1: an introduction to locality-sensitive hashing, with Go;
//! * 2: clustering of a crawl by locality-sensitive hashing;
//! * 3: SimHash with a Java listing, and `jiebaR`;
//! * 4: SimHash and the detection of repeated content, and SimHash at Google.
#![forbid(unsafe_code)]

pub mod built;
pub mod corpus;
pub mod experiments;
pub mod figure;
pub mod pairs;
pub mod random;
pub mod report;
pub mod setup;

pub use report::{Claim, Picture, Report, Table, Verdict};
pub use setup::{Setup, Size};

/// An experiment of the list.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// The name on the command line.
    pub name: &'static str,
    /// The subject in one phrase.
    pub about: &'static str,
    run: fn(&Setup) -> anyhow::Result<Report>,
}

impl Experiment {
    /// Runs the experiment.
    ///
    /// # Errors
    /// A file cannot be read or written, or the library refuses a plan or a text, which is a fault of the experiment.
    pub fn run(&self, setup: &Setup) -> anyhow::Result<Report> {
        (self.run)(setup)
    }
}

/// Returns the experiment with a name.
pub fn find(name: &str) -> Option<&'static Experiment> {
    experiments::ALL.iter().find(|experiment| experiment.name == name)
}
