//! Work that is too long for one request: it goes on by itself, and tells where it is.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use twinprint::collection::{Collection, CollectionError, Durability};

use crate::model::{Job, JobState};
use crate::problem::Problem;

/// Jobs remembered; the oldest that have ended are forgotten.
const REMEMBERED: usize = 1000;
/// Jobs under way at most.
const RUNNING: usize = 16;
/// Documents deleted with one commit.
const AT_A_TIME: usize = 1000;

/// The jobs of a service.
pub(crate) struct Jobs {
    jobs: Mutex<BTreeMap<u64, Job>>,
    stopping: Arc<AtomicBool>,
}

impl Jobs {
    /// None yet; they end early once `stopping` is set.
    pub(crate) fn new(stopping: Arc<AtomicBool>) -> Self {
        Self {
            jobs: Mutex::default(),
            stopping,
        }
    }

    /// A job of a number.
    pub(crate) fn get(&self, id: u64) -> Option<Job> {
        self.jobs.lock().ok()?.get(&id).cloned()
    }

    fn change(&self, id: u64, change: impl FnOnce(&mut Job)) {
        if let Ok(mut jobs) = self.jobs.lock()
            && let Some(job) = jobs.get_mut(&id)
        {
            change(job);
        }
    }

    fn begin(&self, what: String) -> Result<Job, Problem> {
        let mut jobs = self
            .jobs
            .lock()
            .map_err(|_| Problem::busy("the list of jobs is lost"))?;
        let running = jobs.values().filter(|job| job.state == JobState::Running).count();
        if running >= RUNNING {
            return Err(Problem::busy("too many jobs at a time; try again in a moment"));
        }
        if jobs.len() >= REMEMBERED {
            let ended = jobs.iter().find(|(_, job)| job.state != JobState::Running);
            if let Some(id) = ended.map(|(&id, _)| id) {
                jobs.remove(&id);
            }
        }
        let id = jobs.last_key_value().map_or(1, |(last, _)| last + 1);
        let job = Job {
            id,
            what,
            done: 0,
            state: JobState::Running,
            problem: None,
        };
        jobs.insert(id, job.clone());
        Ok(job)
    }

    /// Begins to delete every document of a source.
    pub(crate) fn delete_source(
        self: &Arc<Self>,
        collection: Collection,
        source: String,
    ) -> Result<Job, Problem> {
        let shown: String = source.chars().take(100).collect();
        let what = format!("delete the documents of {shown}");
        self.spawn(what, move |jobs, id| jobs.delete(&collection, &source, id))
    }

    /// Begins to copy a collection into a directory, and reads the copy back.
    pub(crate) fn back_up(self: &Arc<Self>, collection: Collection, to: PathBuf) -> Result<Job, Problem> {
        let name = to.file_name().unwrap_or_default().to_string_lossy();
        let what = format!("back up to {name}");
        self.spawn(what, move |jobs, id| {
            let checked = collection.backup(&to)?;
            jobs.change(id, |job| job.done = checked.documents);
            Ok(())
        })
    }

    /// Begins a job.
    fn spawn(
        self: &Arc<Self>,
        what: String,
        work: impl FnOnce(&Self, u64) -> Result<(), CollectionError> + Send + 'static,
    ) -> Result<Job, Problem> {
        let job = self.begin(what)?;
        let jobs = Arc::clone(self);
        let id = job.id;
        tokio::task::spawn_blocking(move || {
            let result = work(&jobs, id);
            jobs.change(id, |job| match result {
                Ok(()) => job.state = JobState::Done,
                Err(error) => {
                    job.state = JobState::Failed;
                    job.problem = Some(error.to_string());
                }
            });
        });
        Ok(job)
    }

    fn delete(&self, collection: &Collection, source: &str, id: u64) -> Result<(), CollectionError> {
        while !self.stopping.load(Ordering::Relaxed) {
            let ids = collection.of_source(source, AT_A_TIME)?;
            if ids.is_empty() {
                return Ok(());
            }
            match collection.delete(&ids, Durability::Synced) {
                Ok(deleted) => {
                    let deleted = deleted.iter().flatten().count() as u64;
                    self.change(id, |job| job.done += deleted);
                }
                Err(CollectionError::Busy { .. }) => std::thread::sleep(Duration::from_millis(100)),
                Err(error) => return Err(error),
            }
        }
        Err(CollectionError::Closed)
    }
}
