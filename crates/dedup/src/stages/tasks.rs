//! The tasks of a run on disk, and which of them a process runs.

use std::io::ErrorKind;
use std::path::Path;

use twinprint_io::JobError;
use twinprint_io::sink::OutputDir;
use twinprint_io::work::WorkError;

use super::examples::StagedReport;
use super::folder::{Stage, Task};
use super::job::StagedJob;
use super::join::BlockPair;
use super::outputs::VerifySummary;
use super::{
    against, analyse, candidates, classes, groups, items, join, lead, parameters, parts, passages, recall,
    shared, verify, winnow, write,
};
use crate::error::{DedupError, StageDamage};

/// The share of the tasks of a stage that one of several processes runs: every n-th task.
///
/// ```
/// use twinprint_dedup::TaskShare;
///
/// let second: TaskShare = "2/3".parse()?;
/// let tasks: Vec<u32> = second.tasks(8).collect();
/// assert_eq!(tasks, [1, 4, 7]);
/// assert!("4/3".parse::<TaskShare>().is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskShare {
    /// The number of the process, from 0.
    process: u32,
    /// The number of processes, at least 1.
    processes: u32,
}

impl TaskShare {
    /// All tasks.
    pub const ALL: Self = Self {
        process: 0,
        processes: 1,
    };

    /// The numbers of the tasks of this share among `count` tasks.
    pub fn tasks(self, count: u32) -> impl Iterator<Item = u32> {
        (self.process..count).step_by(self.processes as usize)
    }
}

impl std::str::FromStr for TaskShare {
    type Err = String;

    /// Parses `I/N`: process I of N, from 1.
    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/');
        let numbers = numbers.and_then(|(i, n)| Some((i.parse::<u32>().ok()?, n.parse::<u32>().ok()?)));
        match numbers {
            Some((process, processes)) if (1..=processes).contains(&process) => Ok(Self {
                process: process - 1,
                processes,
            }),
            _ => Err("not I/N with I from 1 to N, such as 2/8".to_owned()),
        }
    }
}

/// The number of tasks of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageStatus {
    /// The stage.
    pub stage: Stage,
    /// The number of tasks; `None` if it is not known before an earlier stage is whole.
    pub tasks: Option<u32>,
    /// The number of tasks whose output is whole.
    pub whole: u32,
}

impl StageStatus {
    /// True if all tasks are whole.
    pub fn is_whole(&self) -> bool {
        self.tasks == Some(self.whole)
    }
}

impl StagedJob<'_> {
    /// The number of tasks of a stage; `None` if it is not known before an earlier stage is whole.
    pub(super) fn tasks(&self, stage: Stage) -> Result<Option<u32>, DedupError> {
        let needs = |earlier: Stage| self.folder.is_whole(Task::only(earlier));
        Ok(match stage {
            Stage::Analyse => Some(self.spec.parts().len() as u32),
            Stage::Classes => Some(self.spec.ranges().len() as u32),
            Stage::Against if self.options.against.is_none() => Some(0),
            Stage::Against if needs(Stage::Items) => Some(self.items_summary()?.blocks.len()),
            Stage::Join if needs(Stage::Parameters) => {
                Some(BlockPair::all(self.row_blocks()?).count() as u32)
            }
            Stage::Verify if needs(Stage::Candidates) => Some(self.candidates()?.blocks.len() as u32),
            Stage::Recall if needs(Stage::Candidates) && self.measures_recall()? => {
                Some(self.items_summary()?.blocks.len())
            }
            Stage::Recall if needs(Stage::Candidates) => Some(0),
            Stage::Winnow | Stage::Shared | Stage::Passages | Stage::Parts
                if self.options.parts.is_none() =>
            {
                Some(0)
            }
            stage if stage.has_one_task() => Some(1),
            Stage::Winnow if needs(Stage::Items) => Some(self.items_summary()?.texts.len()),
            Stage::Parts if needs(Stage::Shared) => {
                Some(BlockPair::all(self.shared()?.blocks.len()).count() as u32)
            }
            _ => None,
        })
    }

    /// The state of a stage.
    pub(crate) fn status(&self, stage: Stage) -> Result<StageStatus, DedupError> {
        let tasks = self.tasks(stage)?;
        let is_whole = |&number: &u32| self.folder.is_whole(Task { stage, number });
        Ok(StageStatus {
            stage,
            tasks,
            whole: (0..tasks.unwrap_or(0)).filter(is_whole).count() as u32,
        })
    }

    /// Runs a share of the tasks of a stage, unless their output is whole.
    ///
    /// # Errors
    /// An earlier stage is not whole; a task fails.
    pub(crate) fn run(&self, stage: Stage, share: TaskShare) -> Result<(), DedupError> {
        for earlier in Stage::ALL.into_iter().take_while(|&earlier| earlier < stage) {
            let status = self.status(earlier)?;
            if !status.is_whole() {
                return Err(DedupError::StageMissing {
                    stage: earlier.name(),
                    whole: status.whole,
                    tasks: status.tasks,
                });
            }
        }
        let count = self.tasks(stage)?.unwrap_or(0);
        share.tasks(count).try_for_each(|number| {
            self.check_cancelled()?;
            self.run_task(stage, number).map_err(damaged_texts)
        })
    }

    fn run_task(&self, stage: Stage, number: u32) -> Result<(), DedupError> {
        match stage {
            Stage::Analyse => analyse::analyse(self, number).map(drop),
            Stage::Classes => classes::merge(self, number).map(drop),
            Stage::Items => items::number(self).map(drop),
            Stage::Against => against::look_up(self, number).map(drop),
            Stage::Parameters => parameters::choose(self).map(drop),
            Stage::Join => {
                let pair = BlockPair::all(self.row_blocks()?).nth(number as usize);
                pair.map_or(Ok(()), |pair| join::join(self, number, pair).map(drop))
            }
            Stage::Candidates => candidates::expand(self).map(drop),
            Stage::Verify => {
                let blocks = self.candidates()?.blocks.get(number as usize).copied();
                blocks.map_or(Ok(()), |blocks| verify::verify(self, number, blocks).map(drop))
            }
            Stage::Lead => lead::lead(self).map(drop),
            Stage::Groups => groups::decide(self).map(drop),
            Stage::Recall => recall::join(self, number).map(drop),
            Stage::Winnow => winnow::winnow(self, number).map(drop),
            Stage::Shared => shared::find(self).map(drop),
            Stage::Passages => passages::find(self).map(drop),
            Stage::Parts => {
                let pair = BlockPair::all(self.shared()?.blocks.len()).nth(number as usize);
                pair.map_or(Ok(()), |pair| parts::find(self, number, pair).map(drop))
            }
        }
    }

    /// The number of items.
    pub(crate) fn item_count(&self) -> Result<u64, DedupError> {
        Ok(self.items_summary()?.blocks.rows)
    }

    /// The number of candidates.
    pub(crate) fn candidate_count(&self) -> Result<u64, DedupError> {
        Ok(self
            .candidates()?
            .blocks
            .iter()
            .map(|blocks| blocks.to - blocks.from)
            .sum())
    }

    /// The counts of all verified candidates.
    pub(super) fn verified(&self) -> Result<VerifySummary, DedupError> {
        let mut sum = VerifySummary::default();
        for number in 0..self.candidates()?.blocks.len() as u32 {
            let summary: VerifySummary = self.folder.summary(Task::new(Stage::Verify, number))?;
            sum.verified += summary.verified;
            sum.duplicates += summary.duplicates;
        }
        Ok(sum)
    }

    /// Writes the output files to `dir`, with temporary files in `work`. Adds counts to `report`.
    pub(crate) fn write(
        &self,
        dir: &OutputDir,
        work: &Path,
        report: &mut StagedReport,
    ) -> Result<(), DedupError> {
        write::write(self, dir, work, report).map_err(damaged_texts)
    }
}

/// The texts of an ended stage are read as a spool, whose error does not tell that the stage is damaged.
fn damaged_texts(error: DedupError) -> DedupError {
    match error {
        DedupError::Job(JobError::Work(WorkError::Spool { path, source }))
            if matches!(
                source.kind(),
                ErrorKind::InvalidData
                    | ErrorKind::InvalidInput
                    | ErrorKind::UnexpectedEof
                    | ErrorKind::NotFound
            ) =>
        {
            DedupError::damaged_stage(&path, StageDamage::Content)
        }
        error => error,
    }
}
