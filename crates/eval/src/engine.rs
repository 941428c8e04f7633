//! The engine itself, run as `dedup` at each threshold, and judged by the pairs it writes.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde::Deserialize;

use super::documents::Documents;
use super::error::EvalError;
use super::evaluation::{Bytes, Seconds, Setting};
use super::{EvalOptions, Judge};
use twinprint_dedup::{DedupJob, Mode, PairRows};
use twinprint_io::progress::Silent;
use twinprint_io::results::Report;
use twinprint_io::source::SourceOptions;
use twinprint_io::work::WorkDir;

#[derive(Deserialize)]
struct PairRow {
    a_source: String,
    a_line: u64,
    b_source: String,
    b_line: u64,
}

/// Runs it, adds its method, and gives back the bytes a document that it kept of texts.
pub(super) fn judge(
    judge: &mut Judge<'_>,
    inputs: &[String],
    source_options: &SourceOptions,
    options: &EvalOptions,
    cancel: &Arc<AtomicBool>,
) -> Result<f64, EvalError> {
    let work = WorkDir::temporary()?;
    let documents = judge.documents.len() as f64;
    let mut cells = Vec::new();
    let mut store = 0.0;
    for (i, &threshold) in judge.thresholds.iter().enumerate() {
        let mut options = options.dedup.clone();
        options.threshold = threshold;
        options.mode = Mode::Report;
        options.pairs = PairRows::All;
        let out = work.path().join(i.to_string());
        let job = DedupJob {
            inputs,
            source: source_options,
            options: &options,
            out: &out,
        };
        let report = twinprint_dedup::dedup(&job, &Silent, cancel)?;
        let called = pairs(&out, judge.documents)?;
        let search = &report.search;
        let candidates = search.fingerprint_candidates + search.shingle_candidates;
        let judged = judge
            .truth
            .judge(&called, threshold)
            .of(candidates as usize, judge.documents.len());
        let (bits, k) = (report.radius.bits, report.radius.k);
        store = if options.verify {
            report.run.spool_bytes as f64 / documents
        } else {
            0.0
        };
        let bytes = Bytes {
            fingerprint: f64::from(bits / 8),
            tables: tables(&report, documents),
            verification: store,
        };
        cells.push(judged.with(Setting::Radius { bits, k }, bytes, seconds(&report)));
    }
    let name = if options.dedup.verify {
        "twinprint: SimHash + verification"
    } else {
        "twinprint, not verified"
    };
    judge.push_cells(name, cells);
    Ok(store)
}

/// Bytes a document of what the join holds beside the fingerprints; 0 where it compares all with all.
fn tables(report: &Report, documents: f64) -> f64 {
    report
        .run
        .plans
        .first()
        .map_or(0.0, |plan| plan.bytes / documents)
}

fn seconds(report: &Report) -> Seconds {
    let stage = |name: &str| {
        let stages = report.run.stages.iter().filter(|stage| stage.name == name);
        stages.map(|stage| stage.seconds).sum()
    };
    Seconds {
        made: stage("read"),
        found: stage("match"),
        verified: stage("verify"),
    }
}

/// The pairs written, by document numbers.
fn pairs(out: &Path, documents: &Documents) -> Result<Vec<(u32, u32)>, EvalError> {
    let path = out.join("pairs.jsonl");
    let text = std::fs::read_to_string(&path).map_err(|source| EvalError::Read {
        path: path.clone(),
        source,
    })?;
    let pair = |(line, row): (usize, &str)| {
        let wrong = |what: String| EvalError::Row {
            path: path.clone(),
            line,
            what,
        };
        let row: PairRow = serde_json::from_str(row).map_err(|error| wrong(error.to_string()))?;
        let unknown = || wrong("the input has changed while it was evaluated".to_owned());
        let a = documents.at(&row.a_source, row.a_line).ok_or_else(unknown)?;
        let b = documents.at(&row.b_source, row.b_line).ok_or_else(unknown)?;
        Ok((a, b))
    };
    (1..).zip(text.lines()).map(pair).collect()
}
