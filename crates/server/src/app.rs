//! The state of a service, which all requests share.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tokio::sync::Semaphore;

use crate::body_memory::BodyMemory;
use crate::directories;
use crate::error::ServeError;
use crate::idempotency::IdempotencyKeys;
use crate::jobs::Jobs;
use crate::limits::Limits;
use crate::log::Log;
use crate::metrics::Metrics;
use crate::options::ServiceOptions;
use crate::registry::CollectionRegistry;
use crate::tokens::Tokens;
use crate::worker_pool::WorkerPool;

/// The state of a service, which all requests share.
pub(crate) struct App {
    pub(crate) log: Log,
    pub(crate) registry: CollectionRegistry,
    pub(crate) limits: Limits,
    pub(crate) tokens: Option<Tokens>,
    pub(crate) metrics: Metrics,
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) idempotency: IdempotencyKeys,
    pub(crate) backup_dir: Option<PathBuf>,
    pub(crate) workers: WorkerPool,
    pub(crate) body_memory: BodyMemory,
    /// One permit for each export that may run at the same time.
    pub(crate) export_permits: Arc<Semaphore>,
    /// True once shutdown has begun. Running jobs check it at every step and end.
    pub(crate) shutting_down: Arc<AtomicBool>,
    /// The OpenAPI description of the service, as JSON.
    pub(crate) openapi: String,
}

/// The state of the service as request handlers receive it.
pub(crate) type SharedApp = Arc<App>;

impl App {
    /// Opens the collections and the job list, and creates the shared state.
    pub(crate) fn open(
        tokens: Option<Tokens>,
        options: &ServiceOptions,
        openapi: String,
    ) -> Result<Self, ServeError> {
        let (log, limits) = (Log::new(options.log_format), options.limits);
        let shutting_down = Arc::new(AtomicBool::new(false));
        let registry = CollectionRegistry::open(&options.dir, log)?;
        if let Some(backups) = &options.backup_dir {
            directories::create_backup_dir(&options.dir, backups)?;
        }
        let jobs = Jobs::open(
            &options.dir,
            options.backup_dir.as_deref(),
            Arc::clone(&shutting_down),
            log,
        )?;
        Ok(Self {
            registry,
            backup_dir: options.backup_dir.clone(),
            log,
            limits,
            tokens,
            metrics: Metrics::new()?,
            jobs: Arc::new(jobs),
            idempotency: IdempotencyKeys::default(),
            workers: WorkerPool::new(limits.requests, limits.request_timeout),
            body_memory: BodyMemory::new(limits.total_body_bytes),
            export_permits: Arc::new(Semaphore::new(limits.exports)),
            shutting_down,
            openapi,
        })
    }
}
