//! Counters and times, for Prometheus.

use std::time::Duration;

use prometheus::{
    CounterVec, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts,
    Registry, TextEncoder,
};

use crate::registry::Registry as Collections;

/// Upper bounds of the buckets of durations, in seconds.
const BUCKETS: [f64; 12] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 10.0, 60.0,
];

/// The counters of a service.
pub(crate) struct Metrics {
    registry: Registry,
    requests: IntCounterVec,
    times: HistogramVec,
    verdicts: IntCounterVec,
    waiting: IntGauge,
    jobs: IntGauge,
    /// Connections open now.
    pub(crate) connections: IntGauge,
    /// Connections closed at once because too many were open.
    pub(crate) refused: IntCounter,
    /// Connections closed because the client did not take its answer.
    pub(crate) slow: IntCounter,
}

impl Metrics {
    /// All at zero.
    pub(crate) fn new() -> Result<Self, prometheus::Error> {
        let registry = Registry::new();
        let made = Self {
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
                .buckets(BUCKETS.to_vec()),
                &["route"],
            )?,
            verdicts: IntCounterVec::new(
                Opts::new("twinprint_verdicts_total", "Documents taken in, by verdict."),
                &["verdict"],
            )?,
            waiting: IntGauge::new("twinprint_requests_waiting", "Requests worked on or waiting.")?,
            jobs: IntGauge::new("twinprint_jobs_running", "Jobs under way.")?,
            connections: IntGauge::new("twinprint_connections", "Connections open.")?,
            refused: IntCounter::new(
                "twinprint_connections_refused_total",
                "Connections closed or told to come again because too many were open.",
            )?,
            slow: IntCounter::new(
                "twinprint_connections_slow_total",
                "Connections closed because the client did not take its answer.",
            )?,
            registry,
        };
        let build = IntGaugeVec::new(
            Opts::new("twinprint_build_info", "The version that runs; always 1."),
            &["version"],
        )?;
        build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        let registry = &made.registry;
        registry.register(Box::new(build))?;
        registry.register(Box::new(made.requests.clone()))?;
        registry.register(Box::new(made.times.clone()))?;
        registry.register(Box::new(made.verdicts.clone()))?;
        registry.register(Box::new(made.connections.clone()))?;
        registry.register(Box::new(made.refused.clone()))?;
        registry.register(Box::new(made.slow.clone()))?;
        registry.register(Box::new(made.waiting.clone()))?;
        registry.register(Box::new(made.jobs.clone()))?;
        // Elsewhere the system does not tell in /proc.
        #[cfg(target_os = "linux")]
        registry.register(Box::new(
            prometheus::process_collector::ProcessCollector::for_self(),
        ))?;
        // A rate can be taken of what begins at zero.
        for verdict in ["new", "exact", "near", "updated"] {
            made.verdict(verdict, 0);
        }
        Ok(made)
    }

    /// Notes a request that was answered.
    pub(crate) fn request(&self, route: &str, status: u16, took: Duration) {
        self.requests
            .with_label_values(&[route, &status.to_string()])
            .inc();
        self.times.with_label_values(&[route]).observe(took.as_secs_f64());
    }

    /// Notes a verdict.
    pub(crate) fn verdict(&self, verdict: &'static str, more: u64) {
        self.verdicts.with_label_values(&[verdict]).inc_by(more);
    }

    /// All of it, family by family, in the text format of Prometheus.
    pub(crate) fn text(
        &self,
        collections: &Collections,
        waiting: usize,
        jobs: usize,
    ) -> Result<String, prometheus::Error> {
        self.waiting.set(waiting as i64);
        self.jobs.set(jobs as i64);
        let mut families = self.registry.gather();
        families.extend(of_collections(collections)?.gather());
        families.sort_by(|a, b| a.name().cmp(b.name()));
        TextEncoder::new().encode_to_string(&families)
    }
}

/// The figures of the collections, gathered at each scrape: collections come and go.
fn of_collections(collections: &Collections) -> Result<Registry, prometheus::Error> {
    let gauge = |name: &str, help: &str| IntGaugeVec::new(Opts::new(name, help), &["collection"]);
    let documents = gauge("twinprint_collection_documents", "Documents there are.")?;
    let queue = gauge("twinprint_collection_queue", "Documents that wait to be written.")?;
    let refuses = gauge(
        "twinprint_collection_refuses_writes",
        "1 where a collection takes no writes or is not served.",
    )?;
    let commits = IntCounterVec::new(
        Opts::new(
            "twinprint_collection_commits_total",
            "Commits since it was opened.",
        ),
        &["collection"],
    )?;
    let seconds = CounterVec::new(
        Opts::new(
            "twinprint_collection_commit_seconds_total",
            "Time that its commits took, syncs included.",
        ),
        &["collection"],
    )?;
    for (name, opened) in collections.list() {
        let label = &[name.as_str()];
        let Ok(collection) = opened else {
            refuses.with_label_values(label).set(1);
            continue;
        };
        let done = collection.commits();
        documents.with_label_values(label).set(collection.len() as i64);
        queue.with_label_values(label).set(collection.waiting() as i64);
        refuses
            .with_label_values(label)
            .set(i64::from(collection.refusal().is_some()));
        commits.with_label_values(label).inc_by(done.count);
        seconds.with_label_values(label).inc_by(done.seconds);
    }
    let registry = Registry::new();
    registry.register(Box::new(documents))?;
    registry.register(Box::new(queue))?;
    registry.register(Box::new(refuses))?;
    registry.register(Box::new(commits))?;
    registry.register(Box::new(seconds))?;
    Ok(registry)
}
