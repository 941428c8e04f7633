//! Runs that a state remembers, so that a run that was killed after its end can be distinguished from one killed before.
//!
//! A run with a state has two results: its output and the next state. The output is whole, and marked with a [claim](twinprint_io::sink::RunClaim),
//! before the next state takes the place of the one before, which is the moment at which the run has ended; then the mark goes. The next
//! state names the run. So the same command after a kill either begins again from the state before, or finds that the run had ended and
//! finishes its output.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::feed::{Feed, Row};
use super::prepare::Prepared;
use super::run::{BATCH, ClusterRun, ClusterSummary};
use super::state_file::StateFile;
use super::{FieldKeys, Stream, StreamOptions};
use crate::StreamError;
use twinprint_io::progress::{Progress, Unit};
use twinprint_io::runs::InputDigest;
use twinprint_io::runs::identity;
use twinprint_io::sink::{Existing, OpenClaim, OutputDir, RunClaim};
use twinprint_io::source::{SourceOptions, Sources};

/// Runs remembered; a run is looked for soon after it was killed.
const KEPT: usize = 1000;

/// Records of the runs of a state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct PastRuns {
    /// Their names, the latest last.
    names: Vec<String>,
    /// Summary of the latest run.
    last: Option<ClusterSummary>,
}

fn name(run: u128, digest: u128) -> String {
    format!("{:032x}", identity::hash(format_args!("{run} {digest}")))
}

impl PastRuns {
    /// Remembers a run that ends.
    pub(super) fn push(&mut self, run: u128, digest: u128, summary: &ClusterSummary) {
        self.names.push(name(run, digest));
        let too_many = self.names.len().saturating_sub(KEPT);
        self.names.drain(..too_many);
        self.last = Some(summary.clone());
    }

    /// True if the run of a claim has ended.
    pub(super) fn contain(&self, open: &OpenClaim) -> bool {
        self.names.contains(&name(open.claim.run, open.digest))
    }

    /// Summary of the claimed run, if it is the latest.
    pub(super) fn summary(&self, open: &OpenClaim) -> Option<&ClusterSummary> {
        let last = *self.names.last()? == name(open.claim.run, open.digest);
        self.last.as_ref().filter(|_| last)
    }
}

/// The claim of a run on a state, of a stream of `before` documents.
pub(super) fn claim(command: u128, state: &Path, before: u64) -> RunClaim {
    let place = std::path::absolute(state).unwrap_or_else(|_| state.to_owned());
    RunClaim {
        run: identity::hash(format_args!("{command} {before}")),
        store: identity::hash(format_args!("{}", place.display())),
        command,
        store_path: state.display().to_string(),
    }
}

/// A hash of what decides the output of a run, besides the documents and the state.
pub(super) fn command(
    inputs: &[String],
    source: &SourceOptions,
    keys: &FieldKeys,
    options: &StreamOptions,
    how: ClusterRun,
) -> u128 {
    let described = options.describe();
    let deciding = ClusterRun {
        threads: 0,
        existing: Existing::Refuse,
        ..how
    };
    identity::hash(format_args!(
        "{inputs:?}\n{source:?}\n{keys:?}\n{described}\n{deciding:?}"
    ))
}

/// The stream that a state holds, or a new one.
pub(super) fn load(state: Option<&Path>, options: &StreamOptions) -> Result<Stream, StreamError> {
    Ok(match state {
        Some(state) if state.exists() => Stream::load(state, options.clone())?,
        _ => Stream::new(options.clone()),
    })
}

/// True if the run that left the whole output in `out` and was killed has ended, by the record in its state.
pub(super) fn has_ended(
    out: &Path,
    open: &OpenClaim,
    command: u128,
    state: Option<&Path>,
    options: &StreamOptions,
) -> Result<bool, StreamError> {
    match state {
        Some(state) if claim(command, state, 0).store == open.claim.store => {
            // Nobody may change it meanwhile.
            let held = StateFile::hold(state)?;
            Ok(load(Some(held.path()), options)?.past.contain(open))
        }
        _ => Err(open.undecided(out).into()),
    }
}

/// Finishes the output of a run that was killed after it had ended. If that run was this one, its summary is that of this run.
pub(super) fn finish_ended(
    (dir, open, command): (OutputDir, &OpenClaim, u128),
    sources: &Sources,
    keys: &FieldKeys,
    (options, how, state): (&StreamOptions, ClusterRun, Option<&Path>),
    progress: &dyn Progress,
) -> Result<Option<ClusterSummary>, StreamError> {
    let stream = load(state, options)?;
    progress.stage("read", sources.total_bytes(), Unit::Bytes);
    let feed = Feed::new(sources, keys, &stream, how.reject_empty);
    let mut digest = StreamDigest::new();
    for batch in sources.read(BATCH) {
        let batch = batch?;
        for row in feed.prepare(&batch) {
            if let Row::Document { prepared, .. } = row {
                digest.push(&prepared);
            }
        }
        progress.advance(batch.input_bytes());
    }
    let same = open.claim.command == command && open.digest == digest.finish();
    dir.finish()?;
    let ended = "a run had ended before it was killed; its result is finished now";
    progress.warn(&format!("{}: {ended}", dir.path().display()));
    Ok(stream.past.summary(open).filter(|_| same).cloned())
}

/// A digest of the documents of a run.
#[derive(Debug)]
pub(super) struct StreamDigest(InputDigest);

impl StreamDigest {
    pub(super) fn new() -> Self {
        Self(InputDigest::new((0, 0)))
    }

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
            .push(InputDigest::document((0, 0), name, document.text.canonical()));
        self.0.push(identity::hash(format_args!(
            "{title:?} {url:?} {time:?} {score:?}"
        )));
    }

    pub(super) fn finish(&self) -> u128 {
        self.0.finish()
    }
}
