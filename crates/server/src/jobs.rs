//! Jobs: work that continues after its request was answered. Clients can query and cancel jobs.
//!
//! The list of jobs is a file in the directory of the service, which is rewritten at each change. So job numbers stay
//! unique across restarts, and a job that was running when the service ended is reported as interrupted.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;
use twinprint_collection::{Collection, CollectionError, Durability};

use crate::error::ServeError;
use crate::log::Log;
use crate::model::{Job, JobList, JobState};
use crate::problem::Problem;

/// The file name of the job list. It is not a valid name of a collection.
const LIST_FILE: &str = ".jobs.json";
/// The maximum number of jobs in the list. When the list is full, a new job replaces the oldest job that has ended.
const MAX_LISTED_JOBS: usize = 1000;
/// The maximum number of jobs that run at the same time.
const MAX_RUNNING_JOBS: usize = 16;
/// The number of documents that the deletion of a source deletes per commit.
const DELETE_BATCH_DOCUMENTS: usize = 1000;
/// The pause before a deletion is tried again because the collection's queue of writes was full.
const BUSY_RETRY_DELAY: Duration = Duration::from_millis(100);
/// The maximum length of a source's name in the description of a job, in characters.
const MAX_SOURCE_CHARS: usize = 100;

struct JobEntry {
    job: Job,
    cancelled: Arc<AtomicBool>,
}

/// The jobs of a service: those that are running, and the latest that have ended.
pub(crate) struct Jobs {
    /// The path of the list's file. A thread keeps this lock from changing a job until the list is written, so that the
    /// changes are written in order.
    file: Mutex<PathBuf>,
    /// The jobs by number. A thread keeps this lock only while it accesses memory, so that queries never wait for the
    /// disk.
    entries: Mutex<BTreeMap<u64, JobEntry>>,
    shutting_down: Arc<AtomicBool>,
    log: Log,
}

/// A job while it is running, as its work sees it.
struct RunningJob<'a> {
    jobs: &'a Jobs,
    id: u64,
    cancelled: Arc<AtomicBool>,
}

impl RunningJob<'_> {
    /// True once the job must end, because it was cancelled or the service is shutting down.
    fn must_end(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed) || self.jobs.shutting_down.load(Ordering::Relaxed)
    }
}

impl Jobs {
    /// Reads the job list in `dir`. Jobs that were running when the service ended become interrupted, and their
    /// unfinished backups are removed from `backups`. Jobs that are started later end soon after `shutting_down`
    /// becomes true.
    pub(crate) fn open(
        dir: &Path,
        backups: Option<&Path>,
        shutting_down: Arc<AtomicBool>,
        log: Log,
    ) -> Result<Self, ServeError> {
        let file = dir.join(LIST_FILE);
        let list = read_list(&file).map_err(|source| ServeError::JobList {
            path: file.clone(),
            source,
        })?;
        let mut jobs = BTreeMap::new();
        for mut job in list {
            if job.state == JobState::Running {
                job.state = JobState::Interrupted;
                if let (Some(backups), Some(name)) = (backups, &job.directory)
                    && Path::new(name).file_name() == Some(name.as_ref())
                {
                    // The error is ignored, because the directory usually does not exist any more.
                    let _missing = std::fs::remove_dir_all(backups.join(name));
                }
            }
            let cancelled = Arc::default();
            jobs.insert(job.id, JobEntry { job, cancelled });
        }
        Ok(Self {
            file: Mutex::new(file),
            entries: Mutex::new(jobs),
            shutting_down,
            log,
        })
    }

    /// Returns the job with this number.
    pub(crate) fn get(&self, id: u64) -> Option<Job> {
        Some(self.entries.lock().ok()?.get(&id)?.job.clone())
    }

    /// Returns at most `limit` jobs, the newest first. If `after` is given, only jobs with smaller numbers are
    /// returned.
    pub(crate) fn list(&self, after: Option<u64>, limit: usize) -> JobList {
        let Ok(entries) = self.entries.lock() else {
            return JobList {
                jobs: Vec::new(),
                next_after: None,
            };
        };
        let mut rest = entries.range(..after.unwrap_or(u64::MAX)).rev();
        let jobs: Vec<Job> = rest
            .by_ref()
            .take(limit)
            .map(|(_, entry)| entry.job.clone())
            .collect();
        let next_after = jobs.last().map(|job| job.id).filter(|_| rest.next().is_some());
        JobList { jobs, next_after }
    }

    /// The number of jobs that are running.
    pub(crate) fn running(&self) -> usize {
        self.entries.lock().map_or(0, |entries| count_running(&entries))
    }

    /// Cancels a job. The job ends at its next step. Returns the present description of the job.
    pub(crate) fn cancel(&self, id: u64) -> Option<Job> {
        let entries = self.entries.lock().ok()?;
        let entry = entries.get(&id)?;
        entry.cancelled.store(true, Ordering::Relaxed);
        Some(entry.job.clone())
    }

    /// Changes the description of a job and writes the list to its file.
    fn update(&self, id: u64, change: impl FnOnce(&mut Job)) {
        let Ok(file) = self.file.lock() else {
            return;
        };
        let changed = self.entries.lock().ok().and_then(|mut entries| {
            change(&mut entries.get_mut(&id)?.job);
            Some(all_jobs(&entries))
        });
        if let Some(list) = changed
            && let Err(error) = write_list(&file, &list)
        {
            // The job continues although the change was not written. After a restart, the service may report an older
            // state of the job.
            self.log.error("jobs", json!({"error": error.to_string()}));
        }
    }

    /// Adds a new job to the list. `describe` makes the job's description from its number.
    ///
    /// # Errors
    /// 429 if too many jobs are running, 503 if the list cannot be written to its file.
    fn register(&self, describe: impl FnOnce(u64) -> Job) -> Result<(Job, Arc<AtomicBool>), Problem> {
        let lost = || Problem::busy("the job list is lost after an internal error; restart the service");
        let file = self.file.lock().map_err(|_| lost())?;
        let mut entries = self.entries.lock().map_err(|_| lost())?;
        if count_running(&entries) >= MAX_RUNNING_JOBS {
            return Err(Problem {
                limit: Some(MAX_RUNNING_JOBS as u64),
                ..Problem::busy("too many jobs are running; retry when one of them has ended")
            });
        }
        let id = entries.last_key_value().map_or(1, |(last, _)| last + 1);
        let (job, cancelled) = (describe(id), Arc::<AtomicBool>::default());
        let entry = JobEntry {
            job: job.clone(),
            cancelled: Arc::clone(&cancelled),
        };
        entries.insert(id, entry);
        if entries.len() > MAX_LISTED_JOBS {
            let ended = entries
                .iter()
                .find(|(_, entry)| entry.job.state != JobState::Running);
            if let Some(id) = ended.map(|(&id, _)| id) {
                entries.remove(&id);
            }
        }
        let list = all_jobs(&entries);
        drop(entries);
        if let Err(error) = write_list(&file, &list) {
            // The job must be removed again: after a restart its number, which is not on disk, could be given to
            // another job.
            self.entries.lock().map_err(|_| lost())?.remove(&id);
            let detail = format!("the job list cannot be written: {error}");
            return Err(Problem::unavailable(detail));
        }
        Ok((job, cancelled))
    }

    /// Starts a job that deletes all documents of a source. Documents that are added to the source while the job runs
    /// may be deleted as well.
    pub(crate) fn delete_source(
        self: &Arc<Self>,
        name: &str,
        collection: Collection,
        source: String,
    ) -> Result<Job, Problem> {
        let shown: String = source.chars().take(MAX_SOURCE_CHARS).collect();
        let describe = |id| Job {
            id,
            what: format!("delete the documents of {shown}"),
            collection: name.to_owned(),
            directory: None,
            done: 0,
            state: JobState::Running,
            problem: None,
        };
        self.spawn(describe, move |running, _| {
            running.delete_source(&collection, &source)
        })
    }

    /// Starts a job that copies a collection into a new directory under `backups` and verifies the copy.
    pub(crate) fn back_up(
        self: &Arc<Self>,
        name: &str,
        collection: Collection,
        backups: PathBuf,
    ) -> Result<Job, Problem> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let describe = |id| {
            let directory = format!("{name}-{}-{id}", since.as_secs());
            Job {
                id,
                what: format!("back up to {directory}"),
                collection: name.to_owned(),
                directory: Some(directory),
                done: 0,
                state: JobState::Running,
                problem: None,
            }
        };
        self.spawn(describe, move |running, job| {
            let to = backups.join(job.directory.as_deref().unwrap_or_default());
            running.back_up(&collection, &to)
        })
    }

    /// Adds a job to the list and runs `work` on a blocking thread.
    fn spawn(
        self: &Arc<Self>,
        describe: impl FnOnce(u64) -> Job,
        work: impl FnOnce(&RunningJob<'_>, &Job) -> Result<(), CollectionError> + Send + 'static,
    ) -> Result<Job, Problem> {
        let (job, cancelled) = self.register(describe)?;
        let jobs = Arc::clone(self);
        let registered = job.clone();
        tokio::task::spawn_blocking(move || {
            let running = RunningJob {
                jobs: &jobs,
                id: registered.id,
                cancelled,
            };
            // `AssertUnwindSafe` is justified: all state that `work` shares is behind locks, which are poisoned by a
            // panic.
            let result = catch_unwind(AssertUnwindSafe(|| work(&running, &registered)));
            jobs.update(registered.id, |job| match result {
                Ok(Ok(())) => job.state = JobState::Done,
                Ok(Err(_)) if running.cancelled.load(Ordering::Relaxed) => job.state = JobState::Cancelled,
                Ok(Err(_)) if running.must_end() => job.state = JobState::Interrupted,
                Ok(Err(error)) => {
                    job.state = JobState::Failed;
                    job.problem = Some(error.to_string());
                }
                Err(_) => {
                    job.state = JobState::Failed;
                    job.problem =
                        Some("internal error: the job failed; the log contains the cause".to_owned());
                }
            });
        });
        Ok(job)
    }
}

impl RunningJob<'_> {
    fn delete_source(&self, collection: &Collection, source: &str) -> Result<(), CollectionError> {
        while !self.must_end() {
            let ids = collection.ids_of_source(source, DELETE_BATCH_DOCUMENTS)?;
            if ids.is_empty() {
                return Ok(());
            }
            match collection.delete(&ids, Durability::Synced) {
                Ok(deleted) => {
                    let deleted = deleted.iter().flatten().count() as u64;
                    self.jobs.update(self.id, |job| job.done += deleted);
                }
                Err(CollectionError::Busy { .. }) => std::thread::sleep(BUSY_RETRY_DELAY),
                Err(error) => return Err(error),
            }
        }
        Err(CollectionError::Cancelled)
    }

    fn back_up(&self, collection: &Collection, to: &Path) -> Result<(), CollectionError> {
        // `create_dir` fails if the directory exists. So a failed backup never removes a directory that it has not
        // created.
        std::fs::create_dir(to).map_err(|error| CollectionError::Io {
            path: to.to_owned(),
            why: error.to_string(),
        })?;
        let copied = collection.backup_unless(to, &|| self.must_end());
        let copied = copied.and_then(|checked| {
            if self.must_end() {
                return Err(CollectionError::Cancelled);
            }
            Ok(checked)
        });
        match copied {
            Ok(checked) => {
                self.jobs.update(self.id, |job| job.done = checked.documents);
                Ok(())
            }
            Err(error) => {
                // The incomplete copy is removed, so that nobody takes it for a backup. If it cannot be removed, it
                // still cannot be opened as a collection.
                let _stays = std::fs::remove_dir_all(to);
                Err(error)
            }
        }
    }
}

fn count_running(entries: &BTreeMap<u64, JobEntry>) -> usize {
    entries
        .values()
        .filter(|entry| entry.job.state == JobState::Running)
        .count()
}

fn read_list(file: &Path) -> io::Result<Vec<Job>> {
    match std::fs::read(file) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn all_jobs(entries: &BTreeMap<u64, JobEntry>) -> Vec<Job> {
    entries.values().map(|entry| entry.job.clone()).collect()
}

/// Replaces the file of the job list atomically: writes a temporary file and renames it.
fn write_list(file: &Path, list: &[Job]) -> io::Result<()> {
    let new = file.with_extension("new");
    let mut to = File::create(&new)?;
    to.write_all(&serde_json::to_vec(list)?)?;
    to.sync_all()?;
    std::fs::rename(&new, file)?;
    // Some systems cannot sync a directory. On these, the sync of the file alone is sufficient.
    if let Some(dir) = file.parent()
        && let Ok(dir) = File::open(dir)
    {
        let _unsynced = dir.sync_all();
    }
    Ok(())
}
