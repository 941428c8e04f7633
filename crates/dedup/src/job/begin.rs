//! The start of a run: begins the output directory, finds the files of the inputs, and reads their records.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use twinprint_index::storage::folder;

use super::{DedupJob, Runner};
use crate::corpus::ClassHasher;
use crate::error::DedupError;
use crate::known::append::Append;
use crate::read::{self, ReadOptions, ReadOutcome, Rejects, SpoolPlace};
use twinprint_io::progress::Unit;
use twinprint_io::results::Report;
use twinprint_io::sink::{Existing, OpenClaim, OutputDir, RunStart};
use twinprint_io::source::{Sources, input_root, is_remote};
use twinprint_io::work::WorkDir;

/// The outcome of the preparations of a run, before it reads its input.
pub(super) enum Beginning {
    /// A new run: an empty output directory, a work directory, and the files of the inputs.
    New(OutputDir, WorkDir, Sources),
    /// An earlier run of the same command was killed after it had ended. Its output, which was complete, is now
    /// finished.
    Ended(Box<Report>),
}

impl Runner<'_> {
    /// Begins the output directory, creates the work directory and finds the files of the inputs.
    pub(super) fn begin(
        &mut self,
        job: &DedupJob<'_>,
        append: Option<&Append<'_>>,
    ) -> Result<Beginning, DedupError> {
        let (inputs, out) = (job.inputs, job.out);
        let is_copied = |input: &&String| *input == "-" || is_remote(input);
        let named: Vec<_> = inputs
            .iter()
            .filter(|input| !is_copied(input))
            .map(|input| input_root(input))
            .collect();
        OutputDir::check_inputs(out, named.iter().map(PathBuf::as_path))?;
        // Missing inputs, and fields that no file has, are reported before anything is written. Stdin and objects are copied
        // to the work directory.
        let found = if inputs.iter().any(|input| is_copied(&input)) {
            None
        } else {
            Some(self.discover(inputs, out)?)
        };
        let existing = self.options.existing;
        let begun = match append {
            Some(append) => append.begin(out, existing)?,
            None => RunStart::New(OutputDir::begin(out, existing)?),
        };
        let (dir, work, sources) = match (begun, append) {
            (RunStart::Ended(dir, open), Some(append)) => {
                // The copy of stdin is not in the output directory, which may be emptied before the inputs are read a
                // second time.
                let work = self.work_dir(folder(out))?;
                let sources = found.map_or_else(|| self.discover(inputs, work.path()), Ok)?;
                let report = self.finish_ended(&sources, &work, &dir, &open, append)?;
                drop(dir);
                if let Some(report) = report {
                    return Ok(Beginning::Ended(Box::new(report)));
                }
                self.stages.clear();
                (append.begin_again(out, existing)?, work, sources)
            }
            (RunStart::New(dir) | RunStart::Ended(dir, _), _) => {
                let work = self.work_dir(dir.files_dir())?;
                let sources = found.map_or_else(|| self.discover(inputs, work.path()), Ok)?;
                (dir, work, sources)
            }
        };
        if dir.replaced() && existing == Existing::Refuse {
            let deleted = "the files of an unfinished run are deleted";
            self.progress.warn(&format!("{}: {deleted}", out.display()));
        }
        Ok(Beginning::New(dir, work, sources))
    }

    fn work_dir(&self, out: &Path) -> Result<WorkDir, DedupError> {
        Ok(WorkDir::create(self.options.work_dir.as_deref().unwrap_or(out))?)
    }

    /// Finds the files of the inputs. Stdin and objects are copied to the directory `work`.
    pub(super) fn discover(&self, inputs: &[String], work: &Path) -> Result<Sources, DedupError> {
        let cancel = Arc::clone(self.cancel);
        let sources = Sources::discover_cancellable(inputs, self.source_options, work, cancel)?;
        sources.check_fields(|hint| self.progress.warn(hint))?;
        Ok(sources)
    }

    /// Reads all records; their texts go to `spool`, and the rejected ones to `rejects`. A run that adds to a collection
    /// computes a digest of the input and rejects the records that the collection would refuse.
    pub(super) fn read(
        &mut self,
        sources: &Sources,
        spool: SpoolPlace<'_>,
        rejects: &mut Rejects,
        append: Option<&Append<'_>>,
    ) -> Result<ReadOutcome, DedupError> {
        let reject_check = append.map(Append::reject_check);
        self.stage("read", sources.total_bytes(), Unit::Bytes, |job| {
            let reading = ReadOptions {
                options: job.options,
                hasher: ClassHasher::for_one_run(read::random_key()),
                spool,
                budget: job.budget,
                max_record_bytes: u64::MAX,
                digest: append.map(Append::digest_key),
                reject_check: reject_check.as_deref(),
            };
            read::read(sources, reading, rejects, job.progress)
        })
    }

    /// Finishes the output of a run that was killed after it had ended: the output is complete, and only the marker is
    /// removed. Returns the report of that run if it had the same command and the same input.
    fn finish_ended(
        &mut self,
        sources: &Sources,
        work: &WorkDir,
        dir: &OutputDir,
        open: &OpenClaim,
        append: &Append<'_>,
    ) -> Result<Option<Report>, DedupError> {
        let spool = SpoolPlace::Unnamed {
            dir: work.path(),
            in_memory: 0,
        };
        let read = self.read(sources, spool, &mut Rejects::Nowhere, Some(append))?;
        let digest = read.digest.filter(|&digest| append.is_same(open, digest));
        dir.finish()?;
        let ended = "a run had ended before it was killed; its result is finished now";
        self.progress.warn(&format!("{}: {ended}", dir.path().display()));
        let Some(digest) = digest else { return Ok(None) };
        Ok(Some(Report {
            intake: read.counts.intake,
            appended: append.ended(digest)?,
            ..Report::read(dir.path())?
        }))
    }
}
