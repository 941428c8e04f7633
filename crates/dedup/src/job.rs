//! The main job and its stages: read, choose a radius, join, verify and group, write.

mod begin;
mod end;
mod find;
mod group;
mod on_disk;
mod stage;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use self::begin::Beginning;
use self::end::end_output;
pub(crate) use self::find::{Search, Searched};

use crate::error::DedupError;
use crate::known::append::Append;
use crate::known::{DocumentStores, KnownStore, NoStores};
use crate::memory::{self, Budget};
use crate::options::{DedupOptions, Mode, OnDisk, Order};
use crate::parts;
use crate::read::SpoolPlace;
use crate::report::{self, Shown};
use crate::stages::{self, Stage, StageStatus, TaskShare};
use crate::write::{self, FinishedRun, RunInput};
use twinprint_io::progress::{Progress, Unit};
use twinprint_io::results::{Report, StageReport};
use twinprint_io::sink::ObjectFolder;
use twinprint_io::source::{SourceOptions, Sources, is_remote};
use twinprint_io::threads;
use twinprint_io::work::{Spool, WorkDir};

/// A run of [`dedup`]: the inputs, the options and the output directory.
#[derive(Clone, Copy, Debug)]
pub struct DedupJob<'j> {
    /// Files, folders and globs; `-` is standard input.
    pub inputs: &'j [String],
    /// The formats and fields of the inputs.
    pub source: &'j SourceOptions,
    /// The options of the run, which decide what a duplicate is and what is written.
    pub options: &'j DedupOptions,
    /// The output directory: new or empty, unless [`DedupOptions::existing`] replaces an earlier result.
    pub out: &'j Path,
}

impl DedupJob<'_> {
    /// The folder of the stages of a run on disk: beside the output directory, or in the directory of temporary files. It stays
    /// if the run is interrupted.
    pub fn stage_folder(&self) -> PathBuf {
        let name = self.out.file_name().unwrap_or_default();
        let mut name = name.to_owned();
        name.push(".stages");
        match &self.options.work_dir {
            Some(dir) => dir.join(name),
            None => self.out.with_file_name(name),
        }
    }
}

/// Finds the near-duplicates among the documents of a job and writes the result to its output directory.
///
/// A run that fails removes what it has written and leaves an earlier result unchanged. The files of a run that was
/// killed are replaced by the next run.
///
/// Deterministic: the same input, options and version give byte-identical files on any number of threads and any CPU,
/// except for the `run` object of `report.json`. Work is about linear in the input plus the join (see
/// [`twinprint_index::planner`]); memory is about 95 bytes per document plus 300 MB. Setting `cancel` to true
/// ends the run with an error for which [`DedupError::is_cancelled`] is true.
///
/// # Errors
/// An error that stops the whole run. A record that cannot be used is no error: it is rejected, counted and listed in
/// `rejects.jsonl`.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use twinprint_dedup::{DedupJob, DedupOptions, dedup};
/// use twinprint_io::progress::Silent;
/// use twinprint_io::source::{SourceOptions, Sources};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let dir = tempfile::tempdir()?;
/// let notes = dir.path().join("notes.jsonl");
/// std::fs::write(
///     &notes,
///     r#"{"id": "draft", "text": "The lamp room of the old lighthouse was rebuilt in oak, the lens was cleaned and set back."}
/// {"id": "ferry", "text": "The ferry to the northern islands runs every other hour until the end of the season."}
/// {"id": "copy", "text": "The lamp room of the old lighthouse was rebuilt in oak, the lens was cleaned and set back."}
/// "#,
/// )?;
///
/// let out = dir.path().join("out");
/// let job = DedupJob {
///     inputs: &[notes.display().to_string()],
///     source: &SourceOptions::default(),
///     options: &DedupOptions::new()?,
///     out: &out,
/// };
/// let report = dedup(&job, &Silent, &Arc::default())?;
/// assert_eq!((report.records.kept, report.records.removed), (2, 1));
///
/// let removed = std::fs::read_to_string(out.join("removed/notes.jsonl"))?;
/// assert!(removed.starts_with(r#"{"id": "copy""#));
/// # Ok(())
/// # }
/// ```
pub fn dedup(
    job: &DedupJob<'_>,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<Report, DedupError> {
    dedup_with_stores(job, &NoStores, progress, cancel)
}

/// Fails if a run on disk does not offer an option of the job, or if it reads stdin.
fn check_on_disk(job: &DedupJob<'_>) -> Result<(), DedupError> {
    if let Some(option) = stages::refused_option(job.options) {
        let problem = "a run on disk does not offer this option; leave it out, or run in memory";
        return Err(DedupError::option(option, problem));
    }
    if job.inputs.iter().any(|input| input == "-") {
        let problem = "a run on disk can resume after an interruption, so it cannot read stdin; write the records to a file";
        return Err(DedupError::option("inputs", problem));
    }
    Ok(())
}

/// The input of a process that runs stages.
struct StageInput {
    sources: Sources,
    /// The place of the copies of objects, which is deleted after them.
    _work: Option<WorkDir>,
}

/// Runs a share of the tasks of one stage of a run on disk, and returns the state of the stage.
///
/// Several processes, also on several machines with a shared file system, can run the tasks of a stage at the same time: with
/// the same job, each with a [share](TaskShare) of its own. A task whose output is whole is not run again, so a process that
/// was killed is simply started again. Once all stages are whole, [`dedup`] with [`OnDisk::Always`] writes the result.
///
/// [`DedupOptions::against`] may also name a document store, which `stores` opens. It must not change before the stage
/// [`Stage::Against`] has ended.
///
/// # Errors
/// The errors of [`dedup`]; an earlier stage is not whole.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use twinprint_dedup::known::NoStores;
/// use twinprint_dedup::{DedupJob, DedupOptions, OnDisk, Stage, TaskShare, dedup, dedup_stage};
/// use twinprint_io::progress::Silent;
/// use twinprint_io::source::{SourceOptions, Sources};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let dir = tempfile::tempdir()?;
/// let notes = dir.path().join("notes.jsonl");
/// std::fs::write(&notes, "{\"text\": \"The ferry runs until May.\"}\n".repeat(3))?;
/// let options = DedupOptions { on_disk: OnDisk::Always, ..DedupOptions::new()? };
/// let job = DedupJob {
///     inputs: &[notes.display().to_string()],
///     source: &SourceOptions::default(),
///     options: &options,
///     out: &dir.path().join("out"),
/// };
/// for stage in Stage::ALL {
///     for share in ["1/2", "2/2"] {
///         dedup_stage(&job, &NoStores, stage, share.parse::<TaskShare>()?, &Silent, &Arc::default())?;
///     }
/// }
/// assert_eq!(dedup(&job, &Silent, &Arc::default())?.records.kept, 1);
/// # Ok(())
/// # }
/// ```
pub fn dedup_stage(
    job: &DedupJob<'_>,
    stores: &dyn DocumentStores,
    stage: Stage,
    share: TaskShare,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<StageStatus, DedupError> {
    in_pool(job.options, cancel, |budget| {
        let source = source_within(budget, job);
        let runner = Runner::new(&source, job.options, budget, progress, cancel);
        let (folder, input) = runner.stage_input(job)?;
        let against = match stage {
            Stage::Against => KnownStore::open(job.options, stores)?,
            _ => None,
        };
        let staged = runner.staged(&input.sources, &folder, against.as_ref());
        runner.run_stage(staged, stage, share)
    })
}

/// The state of every stage of a run on disk. Begins the run if it has not begun.
///
/// # Errors
/// The inputs cannot be found, or the folder of the run cannot be read.
pub fn dedup_status(
    job: &DedupJob<'_>,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<Vec<StageStatus>, DedupError> {
    in_pool(job.options, cancel, |budget| {
        let source = source_within(budget, job);
        let runner = Runner::new(&source, job.options, budget, progress, cancel);
        let (folder, input) = runner.stage_input(job)?;
        let staged = runner.staged(&input.sources, &folder, None).open()?;
        Stage::ALL.into_iter().map(|stage| staged.status(stage)).collect()
    })
}

/// Like [`dedup`], but [`DedupOptions::against`] may also name a document store, which `stores` opens.
///
/// # Errors
/// The errors of [`dedup`], and an error if the store cannot be used.
pub fn dedup_with_stores(
    job: &DedupJob<'_>,
    stores: &dyn DocumentStores,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<Report, DedupError> {
    in_pool(job.options, cancel, |budget| {
        let source = source_within(budget, job);
        Runner::new(&source, job.options, budget, progress, cancel).run(job, stores)
    })
}

/// Like [`dedup_with_stores`], but copies the result to a folder of object storage at the end. Its files are on disk in the output
/// directory of the job until then, and are deleted afterwards. A run that fails while they are copied deletes them, too; a run
/// on disk then resumes after its stages.
///
/// # Errors
/// The errors of [`dedup_with_stores`]; those of [`ObjectFolder::check`] and [`ObjectFolder::copy`]; the option `append`.
pub fn dedup_to_objects(
    job: &DedupJob<'_>,
    to: &ObjectFolder,
    stores: &dyn DocumentStores,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<Report, DedupError> {
    if job.options.append {
        let problem = "a run that adds to a collection writes its result to a directory; choose one";
        return Err(DedupError::option("append", problem));
    }
    in_pool(job.options, cancel, |budget| {
        to.check(job.inputs, job.options.existing)?;
        let source = source_within(budget, job);
        let mut runner = Runner::new(&source, job.options, budget, progress, cancel);
        runner.to = Some(to);
        let report = runner.run(job, stores)?;
        // The directory is empty now. It is still there if a run that was killed had made it.
        let _ = std::fs::remove_dir(job.out);
        Ok(report)
    })
}

/// The options of the source. Records that are too long for the budget are rejected.
fn source_within(budget: Budget, job: &DedupJob<'_>) -> SourceOptions {
    SourceOptions {
        max_held: budget.longest_record(0),
        ..job.source.clone()
    }
}

/// Checks the options and calls `run` with the memory budget, on the threads that the options ask for. Any error counts
/// as the cancellation of a cancelled run.
pub(crate) fn in_pool<T: Send>(
    options: &DedupOptions,
    cancel: &AtomicBool,
    run: impl FnOnce(Budget) -> Result<T, DedupError> + Send,
) -> Result<T, DedupError> {
    options.check()?;
    let pool = threads::pool(options.threads)?;
    let result = pool.install(|| {
        let budget = Budget::new(options.memory, rayon::current_num_threads())?;
        run(if options.parts.is_some() {
            budget.with_parts()
        } else {
            budget
        })
    });
    if cancel.load(Ordering::Relaxed) && result.is_err() {
        Err(DedupError::cancelled())
    } else {
        result
    }
}

/// A run in progress.
pub(crate) struct Runner<'j> {
    source_options: &'j SourceOptions,
    options: &'j DedupOptions,
    budget: Budget,
    progress: &'j dyn Progress,
    cancel: &'j Arc<AtomicBool>,
    started: Instant,
    stages: Vec<StageReport>,
    /// The folder of object storage to which the result is copied, if it does not stay on disk.
    to: Option<&'j ObjectFolder>,
}

impl<'j> Runner<'j> {
    pub(crate) fn new(
        source_options: &'j SourceOptions,
        options: &'j DedupOptions,
        budget: Budget,
        progress: &'j dyn Progress,
        cancel: &'j Arc<AtomicBool>,
    ) -> Self {
        Self {
            source_options,
            options,
            budget,
            progress,
            cancel,
            started: Instant::now(),
            stages: Vec::new(),
            to: None,
        }
    }

    /// The folder of the stages of a run on disk, and its input.
    fn stage_input(&self, job: &DedupJob<'_>) -> Result<(PathBuf, StageInput), DedupError> {
        check_on_disk(job)?;
        if self.options.on_disk == OnDisk::Anew {
            return Err(DedupError::option(
                "fresh",
                "the processes of a stage share one folder, which each of them would empty; delete the folder before the \
                 first stage begins",
            ));
        }
        let folder = job.stage_folder();
        let is_copied = job.inputs.iter().any(|input| is_remote(input));
        let work = is_copied.then(|| WorkDir::create(&folder)).transpose()?;
        let sources = self.discover(job.inputs, work.as_ref().map_or(&*folder, WorkDir::path))?;
        Ok((folder, StageInput { sources, _work: work }))
    }

    fn run(mut self, job: &DedupJob<'_>, stores: &dyn DocumentStores) -> Result<Report, DedupError> {
        let (inputs, budget) = (job.inputs, self.budget);
        let against = KnownStore::open(self.options, stores)?;
        let mut append = match &against {
            Some(KnownStore { path, store: against }) if self.options.append => Some(Append::new(
                against,
                path,
                inputs,
                self.source_options,
                self.options,
            )?),
            _ => None,
        };
        let (dir, work, sources) = match self.begin(job, append.as_ref())? {
            Beginning::New(dir, work, sources) => (dir, work, sources),
            Beginning::Ended(report) => return Ok(*report),
        };

        if let Some(columns) = self.options.added_columns() {
            write::check_columns(&sources, columns, self.options)?;
        }
        if self.options.order == Order::Similar {
            write::check_order(&sources, self.progress)?;
        }
        let folder = job.stage_folder();
        let always = self.options.on_disk != OnDisk::AsNeeded;
        if always {
            check_on_disk(job)?;
        }
        let staged = self.staged(&sources, &folder, against.as_ref());
        if always || staged.continues() {
            return self.run_on_disk(job, staged, &dir, work);
        }
        let searched = self.find(Search {
            sources: &sources,
            against: against.as_ref(),
            append: append.as_mut(),
            spool: SpoolPlace::Unnamed {
                dir: work.path(),
                in_memory: 0,
            },
            dir: Some(&dir),
        });
        let Searched {
            tables,
            spool,
            digest,
        } = match searched {
            Err(DedupError::Memory { .. }) if check_on_disk(job).is_ok() => {
                return self.begin_again_on_disk(job, staged, &dir, work);
            }
            searched => searched?,
        };
        let names = tables.names(&sources);
        let part_counts = match (self.options.parts, &spool) {
            (Some(least), Some(spool)) => self.stage("parts", 0, Unit::Steps, |job| {
                let search = parts::PartsSearch {
                    corpus: &tables.corpus,
                    spool,
                    keep: &tables.keep,
                    names,
                    least,
                    budget,
                    table_bytes: tables.bytes() + memory::long_parts(tables.counts.longest),
                    work: work.path(),
                    check_cancelled: &|| job.check_cancelled(),
                };
                search.write(&dir).map(Some)
            }),
            _ => Ok(None),
        };
        let part_counts = match part_counts {
            Err(DedupError::Memory { .. }) if check_on_disk(job).is_ok() => {
                drop((tables, spool));
                return self.begin_again_on_disk(job, staged, &dir, work);
            }
            part_counts => part_counts?,
        };
        let run = FinishedRun {
            parts: part_counts,
            ..tables.finished(RunInput {
                inputs,
                sources: &sources,
                source_options: self.source_options,
                options: self.options,
            })
        };
        let shown = self.stage("write", write::bytes_to_write(&run), Unit::Bytes, |job| {
            let records = || match job.options.mode {
                Mode::Remove | Mode::Annotate => write::copy_records(&run, &dir, work.path(), job.progress),
                Mode::Report => Ok(None),
            };
            let others = || {
                write::write_clusters(&run, &dir)?;
                let shown = Shown::collect(&run, spool.as_ref())?;
                // No text is needed any more. To delete a spool of a gigabyte takes a tenth of a second.
                drop(spool);
                Ok::<Shown, DedupError>(shown)
            };
            let (order, shown) = rayon::join(records, others);
            let shown = shown?;
            let order = order?;
            write::write_config(&run, &dir)?;
            Ok(shown.ordered(order))
        })?;
        let shown = shown.timed(std::mem::take(&mut self.stages), self.started);
        let (Some(mut append), Some(digest)) = (append, digest) else {
            // The tables are freed meanwhile.
            let (report, ()) = rayon::join(|| report::write(&shown, &dir), || drop(tables));
            let report = report?;
            drop(work);
            let copy = self.copy_result(&dir)?;
            end_output(&dir, copy)?;
            return Ok(report);
        };
        let mut report = report::write(&shown, &dir)?;
        let is_kept = |document| run.verdict(document).kept();
        let appended = append.add(&sources, &tables.corpus.documents, &is_kept, self.progress)?;
        self.check_cancelled()?;
        report.appended = Some(appended);
        drop(work);
        append.conclude(digest, &dir)?;
        Ok(report)
    }

    /// Collects the report of a search whose result stays in memory, with the times of its stages.
    pub(crate) fn shown(
        &mut self,
        run: &FinishedRun<'_>,
        spool: Option<&Spool>,
    ) -> Result<Shown, DedupError> {
        let shown = self.stage("report", 0, Unit::Steps, |_| Shown::collect(run, spool))?;
        Ok(shown.timed(std::mem::take(&mut self.stages), self.started))
    }
}
