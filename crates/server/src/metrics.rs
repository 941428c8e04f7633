//! What is counted, in the text form of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::registry::Registry;

/// Upper bounds of the buckets of durations, in seconds.
const BUCKETS: [f64; 11] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 10.0,
];

#[derive(Clone, Default)]
struct Histogram {
    /// How many lie within each bucket's bound, and beyond the last.
    within: [u64; BUCKETS.len()],
    count: u64,
    sum: f64,
}

/// The counters of a service.
#[derive(Default)]
pub(crate) struct Metrics {
    /// By route and status.
    requests: Mutex<BTreeMap<(String, u16), u64>>,
    /// By route.
    times: Mutex<BTreeMap<String, Histogram>>,
    /// By verdict.
    verdicts: Mutex<BTreeMap<&'static str, u64>>,
    /// Connections open now.
    pub(crate) connections: AtomicU64,
    /// Connections closed at once because too many were open.
    pub(crate) refused: AtomicU64,
    /// Connections closed because the client did not take its answer.
    pub(crate) slow: AtomicU64,
}

impl Metrics {
    /// Notes a request that was answered.
    pub(crate) fn request(&self, route: &str, status: u16, took: Duration) {
        if let Ok(mut requests) = self.requests.lock() {
            *requests.entry((route.to_owned(), status)).or_default() += 1;
        }
        if let Ok(mut times) = self.times.lock() {
            let histogram = times.entry(route.to_owned()).or_default();
            let seconds = took.as_secs_f64();
            histogram.count += 1;
            histogram.sum += seconds;
            for (bound, within) in BUCKETS.iter().zip(&mut histogram.within) {
                *within += u64::from(seconds <= *bound);
            }
        }
    }

    /// Notes a verdict.
    pub(crate) fn verdict(&self, verdict: &'static str, more: u64) {
        if let Ok(mut verdicts) = self.verdicts.lock() {
            *verdicts.entry(verdict).or_default() += more;
        }
    }

    /// All of it.
    pub(crate) fn text(&self, registry: &Registry, waiting: usize) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = self.write(&mut text, registry, waiting);
        text
    }

    fn write(&self, out: &mut String, registry: &Registry, waiting: usize) -> std::fmt::Result {
        writeln!(out, "# TYPE twinprint_requests_total counter")?;
        for ((route, status), count) in self.requests.lock().iter().flat_map(|requests| requests.iter()) {
            writeln!(
                out,
                "twinprint_requests_total{{route=\"{route}\",status=\"{status}\"}} {count}"
            )?;
        }
        writeln!(out, "# TYPE twinprint_request_seconds histogram")?;
        for (route, histogram) in self.times.lock().iter().flat_map(|times| times.iter()) {
            let name = "twinprint_request_seconds";
            for (bound, within) in BUCKETS.iter().zip(&histogram.within) {
                writeln!(out, "{name}_bucket{{route=\"{route}\",le=\"{bound}\"}} {within}")?;
            }
            let Histogram { count, sum, .. } = histogram;
            writeln!(out, "{name}_bucket{{route=\"{route}\",le=\"+Inf\"}} {count}")?;
            writeln!(
                out,
                "{name}_sum{{route=\"{route}\"}} {sum}\n{name}_count{{route=\"{route}\"}} {count}"
            )?;
        }
        writeln!(out, "# TYPE twinprint_verdicts_total counter")?;
        for (verdict, count) in self.verdicts.lock().iter().flat_map(|verdicts| verdicts.iter()) {
            writeln!(out, "twinprint_verdicts_total{{verdict=\"{verdict}\"}} {count}")?;
        }
        let gauges = [
            ("connections", self.connections.load(Ordering::Relaxed)),
            ("requests_waiting", waiting as u64),
        ];
        for (name, value) in gauges {
            writeln!(out, "# TYPE twinprint_{name} gauge\ntwinprint_{name} {value}")?;
        }
        for (name, count) in [("refused", &self.refused), ("slow", &self.slow)] {
            let count = count.load(Ordering::Relaxed);
            let name = format!("twinprint_connections_{name}_total");
            writeln!(out, "# TYPE {name} counter\n{name} {count}")?;
        }
        for kind in ["documents", "queue", "refuses_writes"] {
            writeln!(out, "# TYPE twinprint_collection_{kind} gauge")?;
        }
        for kind in ["commits_total", "commit_seconds_total"] {
            writeln!(out, "# TYPE twinprint_collection_{kind} counter")?;
        }
        for (name, opened) in registry.list() {
            let label = format!("{{collection=\"{name}\"}}");
            let Ok(collection) = opened else {
                writeln!(out, "twinprint_collection_refuses_writes{label} 1")?;
                continue;
            };
            let commits = collection.commits();
            let refuses = u8::from(collection.refusal().is_some());
            writeln!(out, "twinprint_collection_documents{label} {}", collection.len())?;
            writeln!(out, "twinprint_collection_queue{label} {}", collection.waiting())?;
            writeln!(out, "twinprint_collection_refuses_writes{label} {refuses}")?;
            writeln!(out, "twinprint_collection_commits_total{label} {}", commits.count)?;
            writeln!(
                out,
                "twinprint_collection_commit_seconds_total{label} {}",
                commits.seconds
            )?;
        }
        Ok(())
    }
}
