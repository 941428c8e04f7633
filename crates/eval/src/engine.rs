//! Evaluates the engine: runs `dedup` at each threshold and evaluates the pairs that it writes.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde::Deserialize;

use super::documents::Documents;
use super::error::EvalError;
use super::evaluation::{BytesPerDocument, MethodSeconds, MethodSetting};
use super::evaluator::Evaluator;
use super::options::EvalJob;
use super::pair::DocumentPair;
use twinprint_dedup::{DedupJob, Mode, PairRows};
use twinprint_io::progress::Silent;
use twinprint_io::results::{RadiusChoice, Report};
use twinprint_io::work::WorkDir;

#[derive(Deserialize)]
struct PairRow {
    a_source: String,
    a_line: u64,
    b_source: String,
    b_line: u64,
}

/// Runs the engine at each threshold and adds the results to the evaluation. Returns the bytes per document of the
/// texts that the engine kept for verification.
pub(super) fn evaluate_engine(
    evaluator: &mut Evaluator<'_>,
    job: &EvalJob<'_>,
    cancel: &Arc<AtomicBool>,
) -> Result<f64, EvalError> {
    let work = WorkDir::temporary()?;
    let documents = evaluator.documents.len() as f64;
    let mut results = Vec::new();
    let mut text_bytes = 0.0;
    for (i, &threshold) in evaluator.thresholds.iter().enumerate() {
        let mut options = job.options.dedup.clone();
        options.threshold = threshold;
        options.mode = Mode::Report;
        options.pairs = PairRows::All;
        let out = work.path().join(i.to_string());
        let run = DedupJob {
            inputs: job.inputs,
            source: job.source,
            options: &options,
            out: &out,
        };
        let report = twinprint_dedup::dedup(&run, &Silent, cancel)?;
        let called = written_pairs(&out, evaluator.documents)?;
        let search = &report.search;
        let candidates = search.fingerprint_candidates + search.shingle_candidates;
        let quality = evaluator
            .truth
            .quality(&called, threshold)
            .with_candidates(candidates as usize, evaluator.documents.len());
        let (bits, k) = (report.radius.bits, report.radius.k);
        let setting = match report.radius.choice {
            RadiusChoice::Exact => MethodSetting::Shingles,
            _ => MethodSetting::Radius { bits, k },
        };
        text_bytes = if options.verify {
            report.run.spool_bytes as f64 / documents
        } else {
            0.0
        };
        let bytes = BytesPerDocument {
            fingerprint: f64::from(bits / 8),
            tables: table_bytes(&report, documents),
            verification: text_bytes,
        };
        results.push(quality.with(setting, bytes, seconds(&report)));
    }
    let name = if job.options.dedup.verify {
        "twinprint: SimHash + verification"
    } else {
        "twinprint, not verified"
    };
    evaluator.push_results(name, results);
    Ok(text_bytes)
}

/// The bytes per document of the tables of the join; 0 if the join compares all pairs without tables.
fn table_bytes(report: &Report, documents: f64) -> f64 {
    report
        .run
        .plans
        .first()
        .map_or(0.0, |plan| plan.bytes / documents)
}

/// The times of the stages of a run, in seconds.
fn seconds(report: &Report) -> MethodSeconds {
    let stage = |name: &str| {
        let stages = report.run.stages.iter().filter(|stage| stage.name == name);
        stages.map(|stage| stage.seconds).sum()
    };
    MethodSeconds {
        made: stage("read"),
        found: stage("match") + stage("shingles"),
        verified: stage("verify"),
    }
}

/// Reads the pairs that the engine wrote to the directory `out`, as document numbers.
fn written_pairs(out: &Path, documents: &Documents) -> Result<Vec<DocumentPair>, EvalError> {
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
        let unknown = || wrong("the input changed during the evaluation; evaluate it again".to_owned());
        let a = documents.at(&row.a_source, row.a_line).ok_or_else(unknown)?;
        let b = documents.at(&row.b_source, row.b_line).ok_or_else(unknown)?;
        Ok(DocumentPair { a, b })
    };
    (1..).zip(text.lines()).map(pair).collect()
}
