//! The metrics of the service, for Prometheus.
//!
//! The metrics of collections are put into a new registry at each scrape, because collections are created and deleted
//! while the service runs.

use std::time::Duration;

use prometheus::{
    CounterVec, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts,
    Registry, TextEncoder,
};

use crate::registry::CollectionRegistry;

/// The upper bounds of the histogram buckets for the times of requests, in seconds.
const TIME_BUCKETS: [f64; 12] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 10.0, 60.0,
];

/// The metrics of a service.
pub(crate) struct Metrics {
    registry: Registry,
    requests: IntCounterVec,
    times: HistogramVec,
    verdicts: IntCounterVec,
    waiting: IntGauge,
    jobs: IntGauge,
    /// The number of open connections.
    pub(crate) connections: IntGauge,
    /// The number of connections that were closed or refused because too many were open.
    pub(crate) refused_connections: IntCounter,
    /// The number of connections that were closed because the client stopped reading.
    pub(crate) slow_connections: IntCounter,
}

/// The load of the service at the time of a scrape.
#[derive(Clone, Copy)]
pub(crate) struct ServiceLoad {
    /// The number of requests that are executed or wait for a worker thread.
    pub(crate) admitted_requests: usize,
    /// The number of jobs that are running.
    pub(crate) running_jobs: usize,
}

impl Metrics {
    /// Creates and registers all metrics of the service. All counters start at zero.
    pub(crate) fn new() -> Result<Self, prometheus::Error> {
        let registry = Registry::new();
        let metrics = Self {
            requests: IntCounterVec::new(
                Opts::new(
                    "twinprint_requests_total",
                    "Requests answered, by route and status.",
                ),
                &["route", "status"],
            )?,
            times: HistogramVec::new(
                HistogramOpts::new(
                    "twinprint_request_seconds",
                    "Time from a request to its answer, by route.",
                )
                .buckets(TIME_BUCKETS.to_vec()),
                &["route"],
            )?,
            verdicts: IntCounterVec::new(
                Opts::new("twinprint_verdicts_total", "Documents added, by verdict."),
                &["verdict"],
            )?,
            waiting: IntGauge::new("twinprint_requests_waiting", "Requests running or waiting.")?,
            jobs: IntGauge::new("twinprint_jobs_running", "Jobs running.")?,
            connections: IntGauge::new("twinprint_connections", "Open connections.")?,
            refused_connections: IntCounter::new(
                "twinprint_connections_refused_total",
                "Connections closed or refused because too many were open.",
            )?,
            slow_connections: IntCounter::new(
                "twinprint_connections_slow_total",
                "Connections closed because the client stopped reading.",
            )?,
            registry,
        };
        let build = IntGaugeVec::new(
            Opts::new("twinprint_build_info", "The running version; always 1."),
            &["version"],
        )?;
        build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        let registry = &metrics.registry;
        registry.register(Box::new(build))?;
        registry.register(Box::new(metrics.requests.clone()))?;
        registry.register(Box::new(metrics.times.clone()))?;
        registry.register(Box::new(metrics.verdicts.clone()))?;
        registry.register(Box::new(metrics.connections.clone()))?;
        registry.register(Box::new(metrics.refused_connections.clone()))?;
        registry.register(Box::new(metrics.slow_connections.clone()))?;
        registry.register(Box::new(metrics.waiting.clone()))?;
        registry.register(Box::new(metrics.jobs.clone()))?;
        // This collector reads `/proc`, which exists only on Linux.
        #[cfg(target_os = "linux")]
        registry.register(Box::new(
            prometheus::process_collector::ProcessCollector::for_self(),
        ))?;
        // The counters of all verdicts exist from the start, because Prometheus needs a first sample of zero to compute
        // a rate.
        for verdict in ["new", "exact", "near", "updated"] {
            metrics.count_verdicts(verdict, 0);
        }
        Ok(metrics)
    }

    /// Counts a request that was answered, and the time it took.
    pub(crate) fn count_request(&self, route: &str, status: u16, elapsed: Duration) {
        self.requests
            .with_label_values(&[route, &status.to_string()])
            .inc();
        self.times
            .with_label_values(&[route])
            .observe(elapsed.as_secs_f64());
    }

    /// Counts documents that were added with this verdict.
    pub(crate) fn count_verdicts(&self, verdict: &'static str, count: u64) {
        self.verdicts.with_label_values(&[verdict]).inc_by(count);
    }

    /// Returns all metrics in the text format of Prometheus. All lines of one metric are adjacent, as the format
    /// requires.
    pub(crate) fn text(
        &self,
        collections: &CollectionRegistry,
        load: ServiceLoad,
    ) -> Result<String, prometheus::Error> {
        self.waiting.set(load.admitted_requests as i64);
        self.jobs.set(load.running_jobs as i64);
        let mut families = self.registry.gather();
        families.extend(collection_metrics(collections)?.gather());
        families.sort_by(|a, b| a.name().cmp(b.name()));
        TextEncoder::new().encode_to_string(&families)
    }
}

/// Makes a registry with the metrics of the collections that exist now.
fn collection_metrics(collections: &CollectionRegistry) -> Result<Registry, prometheus::Error> {
    let gauge = |name: &str, help: &str| IntGaugeVec::new(Opts::new(name, help), &["collection"]);
    let documents = gauge("twinprint_collection_documents", "Documents stored.")?;
    let queue = gauge("twinprint_collection_queue", "Documents waiting to be written.")?;
    let refuses = gauge(
        "twinprint_collection_refuses_writes",
        "1 if the collection refuses writes or is not served.",
    )?;
    let commits = IntCounterVec::new(
        Opts::new(
            "twinprint_collection_commits_total",
            "Commits since the collection was opened.",
        ),
        &["collection"],
    )?;
    let seconds = CounterVec::new(
        Opts::new(
            "twinprint_collection_commit_seconds_total",
            "Time spent in commits, syncs included.",
        ),
        &["collection"],
    )?;
    for (name, opened) in collections.list() {
        let label = &[name.as_str()];
        let Ok(collection) = opened else {
            refuses.with_label_values(label).set(1);
            continue;
        };
        let commit_stats = collection.commits();
        documents.with_label_values(label).set(collection.len() as i64);
        queue.with_label_values(label).set(collection.waiting() as i64);
        refuses
            .with_label_values(label)
            .set(i64::from(collection.refusal().is_some()));
        commits.with_label_values(label).inc_by(commit_stats.count);
        seconds.with_label_values(label).inc_by(commit_stats.seconds);
    }
    let registry = Registry::new();
    registry.register(Box::new(documents))?;
    registry.register(Box::new(queue))?;
    registry.register(Box::new(refuses))?;
    registry.register(Box::new(commits))?;
    registry.register(Box::new(seconds))?;
    Ok(registry)
}
