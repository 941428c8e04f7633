//! The runs recorded in a state, by which a run that was killed after its end is distinguished from one killed before it.
//!
//! A run with a state has two results: its output and the next state. First the output is completed, marked with a
//! [claim](twinprint_io::sink::RunClaim). Then the next state replaces the state, and with that the run has ended. Last, the claim is removed.
//! The next state records the run. So the same command after a kill either begins again from the earlier state, or finds that the run had
//! ended and finishes its output.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::batch::{BATCH_BYTES, BatchPreparer, PreparedRecord};
use super::job::ClusterJob;
use super::prepare::Prepared;
use super::state_file::StateFile;
use super::summary::ClusterSummary;
use super::{Stream, StreamOptions};
use crate::StreamError;
use twinprint_io::progress::{Progress, Unit};
use twinprint_io::runs::identity;
use twinprint_io::runs::{DigestKey, InputDigest};
use twinprint_io::sink::{OpenClaim, OutputDir, RunClaim};
use twinprint_io::source::Sources;

/// Runs recorded in a state. A killed run is usually repeated soon, so a long history is not needed.
const MAX_RUNS: usize = 1000;

/// The latest runs of a state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct PastRuns {
    /// The names of the runs, the latest last.
    names: Vec<String>,
    /// The summary of the latest run.
    last: Option<ClusterSummary>,
}

/// The name of a run: a hash of its claim and of its documents.
fn name(run: u128, digest: u128) -> String {
    format!("{:032x}", identity::hash(format_args!("{run} {digest}")))
}

impl PastRuns {
    /// Records a run that ends.
    pub(super) fn push(&mut self, run: u128, digest: u128, summary: &ClusterSummary) {
        self.names.push(name(run, digest));
        let too_many = self.names.len().saturating_sub(MAX_RUNS);
        self.names.drain(..too_many);
        self.last = Some(summary.clone());
    }

    /// True if the run of a claim has ended.
    pub(super) fn contain(&self, open: &OpenClaim) -> bool {
        self.names.contains(&name(open.claim.run, open.digest))
    }

    /// The summary of the claimed run, if it is the latest.
    pub(super) fn summary(&self, open: &OpenClaim) -> Option<&ClusterSummary> {
        let last = *self.names.last()? == name(open.claim.run, open.digest);
        self.last.as_ref().filter(|_| last)
    }
}

/// The claim of a run on the state of a stream of `before` documents. `command` is [`ClusterJob::command`].
pub(super) fn claim(command: u128, state: &Path, before: u64) -> RunClaim {
    let place = std::path::absolute(state).unwrap_or_else(|_| state.to_owned());
    RunClaim {
        run: identity::hash(format_args!("{command} {before}")),
        store: identity::hash(format_args!("{}", place.display())),
        command,
        store_path: state.display().to_string(),
    }
}

/// The stream stored in a state file; a new one without a file.
pub(super) fn load(state: Option<&Path>, options: &StreamOptions) -> Result<Stream, StreamError> {
    Ok(match state {
        Some(state) if state.exists() => Stream::load(state, options.clone())?,
        _ => Stream::new(options.clone()),
    })
}

/// True if a killed run that left a complete output in the output directory of `job` had ended: its state records it.
pub(super) fn has_ended(job: &ClusterJob<'_>, open: &OpenClaim) -> Result<bool, StreamError> {
    match job.state {
        Some(state) if claim(job.command(), state, 0).store == open.claim.store => {
            // Holds the file, so that no other run replaces it meanwhile.
            let held = StateFile::hold(state)?;
            Ok(load(Some(held.path()), job.stream)?.past.contain(open))
        }
        _ => Err(open.undecided(job.out).into()),
    }
}

/// Finishes the output of a run that was killed after it had ended. Returns the summary of that run if `job` is the same run: the same
/// command over the same documents.
pub(super) fn finish_ended(
    job: &ClusterJob<'_>,
    dir: &OutputDir,
    open: &OpenClaim,
    sources: &Sources,
    progress: &dyn Progress,
) -> Result<Option<ClusterSummary>, StreamError> {
    let stream = load(job.state, job.stream)?;
    progress.stage("read", sources.total_bytes(), Unit::Bytes);
    let preparer = BatchPreparer::new(sources, job.keys, &stream, job.run.reject_empty);
    let mut digest = StreamDigest::new();
    for batch in sources.read(BATCH_BYTES) {
        let batch = batch?;
        for row in preparer.prepare(&batch) {
            if let PreparedRecord::Document { prepared, .. } = row {
                digest.push(&prepared);
            }
        }
        progress.advance(batch.input_bytes());
    }
    let same = open.claim.command == job.command() && open.digest == digest.finish();
    dir.finish()?;
    let ended = "a run that was killed had ended; its result is now complete";
    progress.warn(&format!("{}: {ended}", dir.path().display()));
    Ok(stream.past.summary(open).filter(|_| same).cloned())
}

/// The key of the digests. It is not secret: a digest is compared only with those of the same state file.
const DIGEST_KEY: DigestKey = DigestKey { k0: 0, k1: 0 };

/// A digest of the documents of a run, in order.
#[derive(Debug)]
pub(super) struct StreamDigest(InputDigest);

impl StreamDigest {
    /// The digest of no documents.
    pub(super) fn new() -> Self {
        Self(InputDigest::new(DIGEST_KEY))
    }

    /// Adds the next document.
    pub(super) fn push(&mut self, document: &Prepared) {
        let Prepared {
            name,
            title,
            url,
            time,
            score,
            ..
        } = document;
        self.0
            .push(InputDigest::document(DIGEST_KEY, name, document.text.canonical()));
        self.0.push(identity::hash(format_args!(
            "{title:?} {url:?} {time:?} {score:?}"
        )));
    }

    /// The digest of the documents added so far.
    pub(super) fn finish(&self) -> u128 {
        self.0.finish()
    }
}
