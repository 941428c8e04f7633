//! Work that is too long for one request: it goes on by itself, tells where it is, and can be cancelled.
//!
//! The list of jobs is a file in the directory of the service, written anew at each change: numbers go on after a restart, and a job
//! that was under way when the service ended is told as interrupted.

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

use crate::ServeError;
use crate::log::Log;
use crate::model::{Job, JobState};
use crate::problem::Problem;

/// The file of the list. No collection can have the name.
const FILE: &str = ".jobs.json";
/// Jobs remembered; the oldest that have ended are forgotten.
const REMEMBERED: usize = 1000;
/// Jobs under way at most.
const RUNNING: usize = 16;
/// Documents deleted with one commit.
const AT_A_TIME: usize = 1000;

struct Entry {
    job: Job,
    cancelled: Arc<AtomicBool>,
}

/// The jobs of a service.
pub(crate) struct Jobs {
    /// The file of the list. Held from a change until it is written, so that the file has the changes in order.
    file: Mutex<PathBuf>,
    /// Held for a look or a change in memory alone: who asks about jobs does not wait for the disk.
    entries: Mutex<BTreeMap<u64, Entry>>,
    stopping: Arc<AtomicBool>,
    log: Log,
}

/// A job under way.
struct Run<'a> {
    jobs: &'a Jobs,
    id: u64,
    cancelled: Arc<AtomicBool>,
}

impl Run<'_> {
    /// True once it is to end.
    fn is_ending(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed) || self.jobs.stopping.load(Ordering::Relaxed)
    }
}

impl Jobs {
    /// The jobs of a directory; they end early once `stopping` is set. What interrupted backups have left is deleted.
    pub(crate) fn open(
        dir: &Path,
        backups: Option<&Path>,
        stopping: Arc<AtomicBool>,
        log: Log,
    ) -> Result<Self, ServeError> {
        let file = dir.join(FILE);
        let list = read(&file).map_err(|source| ServeError::Jobs {
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
                    // Mostly it is gone already.
                    let _left = std::fs::remove_dir_all(backups.join(name));
                }
            }
            let cancelled = Arc::default();
            jobs.insert(job.id, Entry { job, cancelled });
        }
        Ok(Self {
            file: Mutex::new(file),
            entries: Mutex::new(jobs),
            stopping,
            log,
        })
    }

    /// A job of a number.
    pub(crate) fn get(&self, id: u64) -> Option<Job> {
        Some(self.entries.lock().ok()?.get(&id)?.job.clone())
    }

    /// Jobs before a number, the newest first, at most `limit`, and the number to go on after.
    pub(crate) fn list(&self, after: Option<u64>, limit: usize) -> (Vec<Job>, Option<u64>) {
        let Ok(jobs) = self.entries.lock() else {
            return (Vec::new(), None);
        };
        let mut rest = jobs.range(..after.unwrap_or(u64::MAX)).rev();
        let list: Vec<Job> = rest
            .by_ref()
            .take(limit)
            .map(|(_, entry)| entry.job.clone())
            .collect();
        let next = list.last().map(|job| job.id).filter(|_| rest.next().is_some());
        (list, next)
    }

    /// Jobs under way.
    pub(crate) fn running(&self) -> usize {
        self.entries.lock().map_or(0, |jobs| running(&jobs))
    }

    /// Tells a job to end; it does so at its next step.
    pub(crate) fn cancel(&self, id: u64) -> Option<Job> {
        let jobs = self.entries.lock().ok()?;
        let entry = jobs.get(&id)?;
        entry.cancelled.store(true, Ordering::Relaxed);
        Some(entry.job.clone())
    }

    fn change(&self, id: u64, change: impl FnOnce(&mut Job)) {
        let Ok(file) = self.file.lock() else {
            return;
        };
        let changed = self.entries.lock().ok().and_then(|mut jobs| {
            change(&mut jobs.get_mut(&id)?.job);
            Some(list(&jobs))
        });
        if let Some(list) = changed
            && let Err(error) = write(&file, &list)
        {
            // The job goes on. After a restart it may be told as it was before.
            self.log.error("jobs", json!({"error": error.to_string()}));
        }
    }

    /// Notes a job, which `describe` makes of its number.
    fn begin(&self, describe: impl FnOnce(u64) -> Job) -> Result<(Job, Arc<AtomicBool>), Problem> {
        let lost = || Problem::busy("the list of jobs is lost");
        let file = self.file.lock().map_err(|_| lost())?;
        let mut jobs = self.entries.lock().map_err(|_| lost())?;
        if running(&jobs) >= RUNNING {
            return Err(Problem {
                limit: Some(RUNNING as u64),
                ..Problem::busy("too many jobs at a time; try again in a moment")
            });
        }
        let id = jobs.last_key_value().map_or(1, |(last, _)| last + 1);
        let (job, cancelled) = (describe(id), Arc::<AtomicBool>::default());
        let entry = Entry {
            job: job.clone(),
            cancelled: Arc::clone(&cancelled),
        };
        jobs.insert(id, entry);
        if jobs.len() > REMEMBERED {
            let ended = jobs
                .iter()
                .find(|(_, entry)| entry.job.state != JobState::Running);
            if let Some(id) = ended.map(|(&id, _)| id) {
                jobs.remove(&id);
            }
        }
        let list = list(&jobs);
        drop(jobs);
        if let Err(error) = write(&file, &list) {
            // A number that is not kept could come again.
            self.entries.lock().map_err(|_| lost())?.remove(&id);
            let why = format!("the job cannot be noted: {error}");
            return Err(Problem::unavailable(why));
        }
        Ok((job, cancelled))
    }

    /// Begins to delete all documents of a source. Documents of it that come in meanwhile may go as well.
    pub(crate) fn delete_source(
        self: &Arc<Self>,
        name: &str,
        collection: Collection,
        source: String,
    ) -> Result<Job, Problem> {
        let shown: String = source.chars().take(100).collect();
        let describe = |id| Job {
            id,
            what: format!("delete the documents of {shown}"),
            collection: name.to_owned(),
            directory: None,
            done: 0,
            state: JobState::Running,
            problem: None,
        };
        self.spawn(describe, move |run, _| run.delete(&collection, &source))
    }

    /// Begins to copy a collection into a directory of its own among the backups, and reads the copy back.
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
        self.spawn(describe, move |run, job| {
            let to = backups.join(job.directory.as_deref().unwrap_or_default());
            run.back_up(&collection, &to)
        })
    }

    /// Begins a job.
    fn spawn(
        self: &Arc<Self>,
        describe: impl FnOnce(u64) -> Job,
        work: impl FnOnce(&Run<'_>, &Job) -> Result<(), CollectionError> + Send + 'static,
    ) -> Result<Job, Problem> {
        let (job, cancelled) = self.begin(describe)?;
        let jobs = Arc::clone(self);
        let begun = job.clone();
        tokio::task::spawn_blocking(move || {
            let run = Run {
                jobs: &jobs,
                id: begun.id,
                cancelled,
            };
            // The work shares things with others behind locks, which tell of a panic.
            let result = catch_unwind(AssertUnwindSafe(|| work(&run, &begun)));
            jobs.change(begun.id, |job| match result {
                Ok(Ok(())) => job.state = JobState::Done,
                Ok(Err(_)) if run.cancelled.load(Ordering::Relaxed) => job.state = JobState::Cancelled,
                Ok(Err(_)) if run.is_ending() => job.state = JobState::Interrupted,
                Ok(Err(error)) => {
                    job.state = JobState::Failed;
                    job.problem = Some(error.to_string());
                }
                Err(_) => {
                    job.state = JobState::Failed;
                    job.problem = Some("the job failed for a reason of ours; it is in the log".to_owned());
                }
            });
        });
        Ok(job)
    }
}

impl Run<'_> {
    fn delete(&self, collection: &Collection, source: &str) -> Result<(), CollectionError> {
        while !self.is_ending() {
            let ids = collection.of_source(source, AT_A_TIME)?;
            if ids.is_empty() {
                return Ok(());
            }
            match collection.delete(&ids, Durability::Synced) {
                Ok(deleted) => {
                    let deleted = deleted.iter().flatten().count() as u64;
                    self.jobs.change(self.id, |job| job.done += deleted);
                }
                Err(CollectionError::Busy { .. }) => std::thread::sleep(Duration::from_millis(100)),
                Err(error) => return Err(error),
            }
        }
        Err(CollectionError::Cancelled)
    }

    fn back_up(&self, collection: &Collection, to: &Path) -> Result<(), CollectionError> {
        // Ours alone, so that it may go again.
        std::fs::create_dir(to).map_err(|error| CollectionError::Io {
            path: to.to_owned(),
            why: error.to_string(),
        })?;
        let copied = collection.backup_unless(to, &|| self.is_ending());
        let copied = copied.and_then(|checked| {
            if self.is_ending() {
                return Err(CollectionError::Cancelled);
            }
            Ok(checked)
        });
        match copied {
            Ok(checked) => {
                self.jobs.change(self.id, |job| job.done = checked.documents);
                Ok(())
            }
            Err(error) => {
                // A copy that is not whole must not be taken for a backup. Where it stays, it says that it is no collection.
                let _stays = std::fs::remove_dir_all(to);
                Err(error)
            }
        }
    }
}

fn running(jobs: &BTreeMap<u64, Entry>) -> usize {
    let entries = jobs.values();
    entries
        .filter(|entry| entry.job.state == JobState::Running)
        .count()
}

fn read(file: &Path) -> io::Result<Vec<Job>> {
    match std::fs::read(file) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn list(jobs: &BTreeMap<u64, Entry>) -> Vec<Job> {
    jobs.values().map(|entry| entry.job.clone()).collect()
}

/// Writes the list beside its file and then in its place, so that there is a whole one at any time.
fn write(file: &Path, list: &[Job]) -> io::Result<()> {
    let new = file.with_extension("new");
    let mut to = File::create(&new)?;
    to.write_all(&serde_json::to_vec(list)?)?;
    to.sync_all()?;
    std::fs::rename(&new, file)?;
    // On systems that cannot sync a directory, the file's own sync is enough.
    if let Some(dir) = file.parent()
        && let Ok(dir) = File::open(dir)
    {
        let _unsynced = dir.sync_all();
    }
    Ok(())
}
