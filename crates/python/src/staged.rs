//! A run on disk in stages, whose tasks any processes can run.

use std::path::PathBuf;

use pyo3::prelude::*;
use twinprint::sink::Existing;
use twinprint::source::SourceOptions;
use twinprint::{
    ClusterFiles, DedupJob, DedupOptions, Mode, OnDisk, Stage, StageStatus, TaskShare, dedup_stage,
    dedup_status,
};

use crate::dedup::{Arguments, choice};
use crate::errors::{argument, dedup_exception, exception};
use crate::run::run;

/// The names of all stages, in order, and whether they have one task in any run.
#[pyfunction]
pub(crate) fn stages() -> [(&'static str, bool); Stage::ALL.len()] {
    Stage::ALL.map(|stage| (stage.name(), stage.has_one_task()))
}

/// The places of a run and the files that it writes, by the names that the package gives them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Places {
    inputs: Vec<String>,
    out: PathBuf,
    mode: String,
    clusters: String,
    blocks: u32,
    parts: Option<f64>,
    overwrite: bool,
    incremental: bool,
}

/// The state of a stage: its name, the number of its tasks if it is known, and the number of tasks that have ended.
type State = (&'static str, Option<u32>, u32);

fn state(status: StageStatus) -> State {
    (status.stage.name(), status.tasks, status.whole)
}

/// A run on disk.
#[pyclass(module = "twinprint._twinprint", frozen)]
pub(crate) struct StagedRun {
    inputs: Vec<String>,
    source: SourceOptions,
    options: DedupOptions,
    out: PathBuf,
}

impl StagedRun {
    fn job(&self) -> DedupJob<'_> {
        DedupJob {
            inputs: &self.inputs,
            source: &self.source,
            options: &self.options,
            out: &self.out,
        }
    }
}

#[pymethods]
impl StagedRun {
    #[new]
    fn new(arguments: Arguments, places: Places) -> PyResult<Self> {
        let mut options = arguments.options()?;
        options.on_disk = OnDisk::Always;
        options.incremental = places.incremental;
        options.blocks = places.blocks;
        options.parts = places.parts;
        options.mode = choice(
            "mode",
            &places.mode,
            &[
                ("remove", Mode::Remove),
                ("annotate", Mode::Annotate),
                ("report", Mode::Report),
            ],
        )?;
        options.clusters = choice(
            "clusters",
            &places.clusters,
            &[
                ("parquet", ClusterFiles::Parquet),
                ("jsonl", ClusterFiles::Jsonl),
                ("both", ClusterFiles::Both),
                ("none", ClusterFiles::None),
            ],
        )?;
        if places.overwrite {
            options.existing = Existing::Replace;
        }
        options.check().map_err(|error| dedup_exception(&error))?;
        Ok(Self {
            source: arguments.fields(options.keep).options(),
            inputs: places.inputs,
            options,
            out: places.out,
        })
    }

    /// The states of all stages, in order.
    fn states(&self, py: Python<'_>) -> PyResult<Vec<State>> {
        let states = run(py, None, |progress, cancel| {
            dedup_status(&self.job(), progress, cancel)
        })?;
        let states = states.map_err(|error| dedup_exception(&error))?;
        Ok(states.into_iter().map(state).collect())
    }

    /// Runs a share of the tasks of a stage: every task whose number modulo `processes` is `process`.
    #[pyo3(signature = (stage, process, processes, progress))]
    fn run_stage(
        &self,
        py: Python<'_>,
        stage: &str,
        process: u32,
        processes: u32,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<State> {
        let stages = Stage::ALL.map(|stage| (stage.name(), stage));
        let stage = choice("stage", stage, &stages)?;
        let share = format!("{}/{processes}", process.saturating_add(1));
        let share: TaskShare = share.parse().map_err(|error| argument("task", error))?;
        let ended = run(py, progress.as_ref(), |progress, cancel| {
            dedup_stage(&self.job(), stage, share, progress, cancel)
        })?;
        ended.map(state).map_err(|error| dedup_exception(&error))
    }

    /// Runs the tasks that have not ended and writes the result. Returns the report as JSON.
    #[pyo3(signature = (progress))]
    fn write(&self, py: Python<'_>, progress: Option<Bound<'_, PyAny>>) -> PyResult<String> {
        let report = run(py, progress.as_ref(), |progress, cancel| {
            twinprint::dedup(&self.job(), progress, cancel)
        })?;
        let report = report.map_err(|error| dedup_exception(&error))?;
        serde_json::to_string(&report).map_err(|error| exception(&error))
    }
}
