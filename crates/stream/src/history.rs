//! The runs that a state records. They distinguish a run that was killed after its end from one that was killed before
//! its end.
//!
//! A run with a state has two results: its output and the next state. First the run completes the output and marks it
//! with a [claim](twinprint_io::sink::RunClaim). Then the next state replaces the state, and with that the run has
//! ended. Last, the claim is removed. The next state records the run. So the same command after a kill either begins
//! again from the earlier state, or finds that the killed run had ended and finishes its output.

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

/// The largest number of runs that a state records. A killed run is usually repeated soon, so a long history is not
/// needed.
const MAX_RUNS: usize = 1000;

/// The latest runs of a stream, as its state records them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct PastRuns {
    /// The names of the recorded runs, the latest last.
    names: Vec<String>,
    /// The summary of the latest run; `None` in a state without runs.
    last: Option<ClusterSummary>,
}

/// The name of a run: a hash of its claim and of the digest of its documents.
fn name(run: u128, digest: u128) -> String {
    format!("{:032x}", identity::hash(format_args!("{run} {digest}")))
}

impl PastRuns {
    /// Records the run `run` over documents with the digest `digest`, at its end.
    pub(super) fn push(&mut self, run: u128, digest: u128, summary: &ClusterSummary) {
        self.names.push(name(run, digest));
        let too_many = self.names.len().saturating_sub(MAX_RUNS);
        self.names.drain(..too_many);
        self.last = Some(summary.clone());
    }

    /// True if the run that left the claim `open` has ended.
    pub(super) fn contain(&self, open: &OpenClaim) -> bool {
        self.names.contains(&name(open.claim.run, open.digest))
    }

    /// The summary of the run that left the claim `open`; `None` unless it is the latest run.
    pub(super) fn summary(&self, open: &OpenClaim) -> Option<&ClusterSummary> {
        let last = *self.names.last()? == name(open.claim.run, open.digest);
        self.last.as_ref().filter(|_| last)
    }
}

/// The claim of a run that continues the state file `state` of a stream with `before` documents. `command` is
/// [`ClusterJob::command`].
pub(super) fn claim(command: u128, state: &Path, before: u64) -> RunClaim {
    let place = std::path::absolute(state).unwrap_or_else(|_| state.to_owned());
    RunClaim {
        run: identity::hash(format_args!("{command} {before}")),
        store: identity::hash(format_args!("{}", place.display())),
        command,
        store_path: state.display().to_string(),
    }
}

/// Loads the stream from a state file. Without a state file, returns a new stream.
pub(super) fn load(state: Option<&Path>, options: &StreamOptions) -> Result<Stream, StreamError> {
    Ok(match state {
        Some(state) if state.exists() => Stream::load(state, options.clone())?,
        _ => Stream::new(options.clone()),
    })
}

/// True if the killed run that left the claim `open` in the output directory of `job` had ended: the state file records
/// it.
pub(super) fn has_ended(job: &ClusterJob<'_>, open: &OpenClaim) -> Result<bool, StreamError> {
    match job.state {
        Some(state) if claim(job.command(), state, 0).store == open.claim.store => {
            // The state file is locked, so that no other run replaces it meanwhile.
            let held = StateFile::hold(state)?;
            Ok(load(Some(held.path()), job.stream)?.past.contain(open))
        }
        _ => Err(open.undecided(job.out).into()),
    }
}

/// Finishes the output of a run that was killed after it had ended. Returns the summary of that run if `job` is the
/// same run, with the same command and the same documents.
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
    let ended = "an earlier run had ended before it was killed; its result is now complete";
    progress.warn(&format!("{}: {ended}", dir.path().display()));
    Ok(stream.past.summary(open).filter(|_| same).cloned())
}

/// The key of the digests of documents. It need not be secret: a digest is compared only with others in the same state
/// file.
const DIGEST_KEY: DigestKey = DigestKey { k0: 0, k1: 0 };

/// A digest of the documents of a run, in the order of the documents.
#[derive(Debug)]
pub(super) struct StreamDigest(InputDigest);

impl StreamDigest {
    /// Makes the digest of an empty list of documents.
    pub(super) fn new() -> Self {
        Self(InputDigest::new(DIGEST_KEY))
    }

    /// Adds the next document to the digest.
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
