//! The beginning of a run: the output directory is begun, the files of the inputs are found, their records are read.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use twinprint_index::storage::folder;

use super::Job;
use crate::error::DedupError;
use crate::known::append::Append;
use crate::read::{self, Read, Reading};
use twinprint_io::progress::Unit;
use twinprint_io::results::Report;
use twinprint_io::sink::{Existing, OpenClaim, OutputDir, RunStart};
use twinprint_io::source::{Sources, root_of};
use twinprint_io::work::WorkDir;

/// The beginning of a run.
pub(super) enum Beginning {
    /// With an empty output directory, a directory for temporary files, and the files of the inputs.
    New(OutputDir, WorkDir, Sources),
    /// It had ended before it was killed: its output is whole, and finished now.
    Ended(Box<Report>),
}

impl Job<'_> {
    pub(super) fn begin(
        &mut self,
        inputs: &[String],
        out: &Path,
        append: Option<&Append<'_>>,
    ) -> Result<Beginning, DedupError> {
        let from_stdin = inputs.iter().any(|input| input == "-");
        let named: Vec<_> = inputs
            .iter()
            .filter(|input| *input != "-")
            .map(|input| root_of(input))
            .collect();
        OutputDir::check_inputs(out, named.iter().map(PathBuf::as_path))?;
        // Inputs that are not there, and fields that no file has, are refused before anything is written. Stdin is copied to the
        // work directory.
        let found = if from_stdin {
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
                // Not in the output directory, which may be emptied before the inputs are read a second time.
                let work = self.work_dir(folder(out))?;
                let sources = found.map_or_else(|| self.discover(inputs, work.path()), Ok)?;
                if let Some(report) = self.finish_ended((&sources, &work), (dir, &open), append)? {
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

    /// The files of the inputs; stdin is copied to `work`.
    fn discover(&self, inputs: &[String], work: &Path) -> Result<Sources, DedupError> {
        let cancel = Arc::clone(self.cancel);
        let sources = Sources::discover_cancellable(inputs, self.source_options, work, cancel)?;
        sources.check_fields(|hint| self.progress.warn(hint))?;
        Ok(sources)
    }

    /// Reads all records, for a run that adds to a collection with a digest and without those that it would not take. Their texts go to
    /// the directory `work`.
    pub(super) fn read(
        &mut self,
        sources: &Sources,
        work: &Path,
        dir: &OutputDir,
        append: Option<&Append<'_>>,
    ) -> Result<Read, DedupError> {
        let refuses = append.map(Append::refuses);
        self.stage("read", sources.total_bytes(), Unit::Bytes, |job| {
            let mut rejects = dir.file("rejects.jsonl")?;
            let reading = Reading {
                options: job.options,
                spool: &work.join("texts"),
                budget: job.budget,
                most: u64::MAX,
                digest: append.map(Append::digest_key),
                refuses: refuses.as_deref(),
            };
            let read = read::read(sources, reading, &mut rejects, job.progress)?;
            rejects.finish()?;
            Ok(read)
        })
    }

    /// Finishes the output of a run that was killed after it had ended: all of it is there, and only the mark is to be removed. If that run
    /// was this one, its report is that of this run.
    fn finish_ended(
        &mut self,
        (sources, work): (&Sources, &WorkDir),
        (dir, open): (OutputDir, &OpenClaim),
        append: &Append<'_>,
    ) -> Result<Option<Report>, DedupError> {
        let elsewhere = work.path().join("read");
        let rejects = OutputDir::open(&elsewhere)?;
        let read = self.read(sources, &elsewhere, &rejects, Some(append))?;
        drop(rejects);
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
