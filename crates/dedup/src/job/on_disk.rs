//! A run on disk: the stages of a run whose tables do not fit into memory.

use std::path::Path;

use super::{DedupJob, Runner};
use crate::config::Config;
use crate::error::DedupError;
use crate::report::{self, Shown};
use crate::stages::StagedInput;
use twinprint_io::progress::Unit;
use twinprint_io::results::Report;
use twinprint_io::sink::OutputDir;
use twinprint_io::source::Sources;
use twinprint_io::work::WorkDir;

impl Runner<'_> {
    /// Runs all stages with their files in `folder`, and writes the result to `dir`. If the run is interrupted, the folder
    /// stays.
    pub(super) fn run_on_disk(
        &mut self,
        job: &DedupJob<'_>,
        sources: &Sources,
        dir: &OutputDir,
        work: WorkDir,
        folder: &Path,
    ) -> Result<Report, DedupError> {
        let report = self.run_stages(job, sources, dir, work.path(), folder);
        drop(work);
        match report {
            Ok(report) => {
                dir.finish()?;
                Ok(report)
            }
            Err(error) => {
                if folder.exists() {
                    let kept =
                        "the stages that have ended are kept here; the same command goes on after them";
                    self.progress.warn(&format!("{}: {kept}", folder.display()));
                }
                Err(error)
            }
        }
    }

    fn run_stages(
        &mut self,
        job: &DedupJob<'_>,
        sources: &Sources,
        dir: &OutputDir,
        work: &Path,
        folder: &Path,
    ) -> Result<Report, DedupError> {
        let staged = StagedInput {
            sources,
            source_options: self.source_options,
            options: self.options,
            budget: self.budget,
            progress: self.progress,
            cancel: self.cancel,
            folder,
        };
        let staged = staged.open()?;
        self.stage("analyse", sources.total_bytes(), Unit::Bytes, |_| {
            staged.analyse_all()
        })?;
        let counts = staged.counts()?;
        self.warn_about_undated(counts.undated, counts.documents)?;
        self.stage("items", 0, Unit::Steps, |_| staged.number_items())?;
        self.stage("match", 0, Unit::Steps, |_| staged.find_candidates())?;
        let candidates = staged.candidate_count()?;
        self.stage("verify", candidates, Unit::Documents, |_| {
            staged.verify_all().map(drop)
        })?;
        self.stage("lead", 0, Unit::Steps, |_| staged.decide())?;
        let mut report = staged.report(job.inputs)?;
        self.stage("write", sources.total_bytes(), Unit::Bytes, |_| {
            staged.write(dir, work, &mut report)
        })?;
        let config = Config::of(job.inputs, self.source_options, self.options, staged.radius()?);
        let mut file = dir.file("config.toml")?;
        file.append(config.to_toml().as_bytes())?;
        file.finish()?;
        let shown = Shown::without_examples(report).timed(std::mem::take(&mut self.stages), self.started);
        let report = report::write(&shown, dir)?;
        staged.remove()?;
        Ok(report)
    }
}
