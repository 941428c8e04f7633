//! A run on disk: the stages of a run whose tables do not fit into memory.

use std::path::Path;

use super::end::end_output;
use super::{DedupJob, Runner};
use crate::config::Config;
use crate::error::DedupError;
use crate::known::KnownStore;
use crate::recall;
use crate::report;
use crate::stages::{Stage, StageStatus, StagedInput, StagedJob, TaskShare};
use twinprint_io::progress::Unit;
use twinprint_io::results::Report;
use twinprint_io::sink::OutputDir;
use twinprint_io::source::Sources;
use twinprint_io::work::WorkDir;

impl<'j> Runner<'j> {
    /// Runs all stages and writes the result to `dir`. If the run is interrupted, the folder of the stages stays.
    pub(super) fn run_on_disk(
        &mut self,
        job: &DedupJob<'_>,
        staged: StagedInput<'_>,
        dir: &OutputDir,
        work: WorkDir,
    ) -> Result<Report, DedupError> {
        let (folder, progress) = (staged.folder, staged.progress);
        let result = staged.open().and_then(|staged| {
            let report = self.run_stages(job, &staged, dir, work.path())?;
            let copy = self.copy_result(dir)?;
            Ok((report, staged, copy))
        });
        drop(work);
        match result {
            Ok((report, staged, copy)) => {
                // A whole result would refuse the same command. So the folder is deleted first, and a run that is killed
                // meanwhile makes the deleted stages again.
                staged.end()?;
                end_output(dir, copy)?;
                Ok(report)
            }
            Err(error) => {
                let is_unusable = matches!(
                    error,
                    DedupError::DamagedStage { .. } | DedupError::OtherRun { .. }
                );
                if folder.exists() && !is_unusable {
                    let kept =
                        "the stages that have ended are kept here; the same command resumes after them";
                    progress.warn(&format!("{}: {kept}", folder.display()));
                }
                Err(error)
            }
        }
    }

    /// Runs on disk after a run in memory has exceeded its limit.
    pub(super) fn begin_again_on_disk(
        &mut self,
        job: &DedupJob<'_>,
        staged: StagedInput<'_>,
        dir: &OutputDir,
        work: WorkDir,
    ) -> Result<Report, DedupError> {
        self.progress
            .warn("the tables do not fit into the memory limit; the run begins again on disk");
        self.stages.clear();
        self.run_on_disk(job, staged, dir, work)
    }

    /// The input of a run on disk with its files in `folder`. Only the stage `against` needs `against`.
    pub(super) fn staged<'s>(
        &self,
        sources: &'s Sources,
        folder: &'s Path,
        against: Option<&'s KnownStore<'s>>,
    ) -> StagedInput<'s>
    where
        'j: 's,
    {
        StagedInput {
            sources,
            source_options: self.source_options,
            options: self.options,
            against,
            budget: self.budget,
            memory: self.budget.for_stages(),
            progress: self.progress,
            cancel: self.cancel,
            folder,
        }
    }

    /// Runs a share of the tasks of one stage, and returns the state of the stage.
    pub(super) fn run_stage(
        &self,
        staged: StagedInput<'_>,
        stage: Stage,
        share: TaskShare,
    ) -> Result<StageStatus, DedupError> {
        let staged = staged.open()?;
        staged.run(stage, share)?;
        if staged.status(stage)?.is_whole() {
            match stage {
                Stage::Analyse => {
                    let counts = staged.counts()?;
                    self.warn_about_undated(counts.undated, counts.documents)?;
                }
                Stage::Against => self.warn_about_keep(staged.known()?.known),
                _ => {}
            }
        }
        staged.status(stage)
    }

    fn run_stages(
        &mut self,
        job: &DedupJob<'_>,
        staged: &StagedJob<'_>,
        dir: &OutputDir,
        work: &Path,
    ) -> Result<Report, DedupError> {
        let input_bytes = staged.input_bytes();
        let run = |stage| staged.run(stage, TaskShare::ALL);
        self.stage("analyse", input_bytes, Unit::Bytes, |_| run(Stage::Analyse))?;
        let counts = staged.counts()?;
        self.warn_about_undated(counts.undated, counts.documents)?;
        self.stage("classes", 0, Unit::Steps, |_| run(Stage::Classes))?;
        self.stage("items", 0, Unit::Steps, |_| run(Stage::Items))?;
        if self.options.against.is_some() {
            let texts = staged.item_count()?;
            self.stage("against", texts, Unit::Documents, |_| run(Stage::Against))?;
            self.warn_about_keep(staged.known()?.known);
        }
        self.stage("parameters", 0, Unit::Steps, |_| run(Stage::Parameters))?;
        self.stage("join", 0, Unit::Steps, |_| run(Stage::Join))?;
        self.stage("candidates", 0, Unit::Steps, |_| run(Stage::Candidates))?;
        let candidates = staged.candidate_count()?;
        self.stage("verify", candidates, Unit::Documents, |_| run(Stage::Verify))?;
        self.stage("lead", 0, Unit::Steps, |_| run(Stage::Lead))?;
        self.stage("groups", 0, Unit::Steps, |_| run(Stage::Groups))?;
        if staged.measures_recall()? {
            let texts = staged.item_count()?;
            self.stage("recall", texts, Unit::Documents, |_| run(Stage::Recall))?;
        }
        if self.options.parts.is_some() {
            let texts = staged.item_count()?;
            self.stage("winnow", texts, Unit::Documents, |_| run(Stage::Winnow))?;
            self.stage("shared", 0, Unit::Steps, |_| run(Stage::Shared))?;
            self.stage("passages", 0, Unit::Steps, |_| run(Stage::Passages))?;
            self.stage("parts", 0, Unit::Steps, |_| run(Stage::Parts))?;
        }
        let mut report = staged.report(job.inputs)?;
        recall::warn_if_low(report.report.recall.as_ref(), self.progress);
        self.stage("write", input_bytes, Unit::Bytes, |_| {
            staged.write(dir, work, &mut report)
        })?;
        let config = Config::of(job.inputs, self.source_options, self.options, staged.radius()?);
        let mut file = dir.file("config.toml")?;
        file.append(config.to_toml().as_bytes())?;
        file.finish()?;
        let shown = report
            .shown(staged)?
            .timed(std::mem::take(&mut self.stages), self.started);
        let report = report::write(&shown, dir)?;
        Ok(report)
    }
}
