//! Runs `dedup` over texts and reads its output.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use tempfile::TempDir;
use twinprint_dedup::{DedupJob, DedupOptions, Keep, dedup};
use twinprint_io::progress::Silent;
use twinprint_io::results::Report;
use twinprint_io::source::SourceOptions;

/// A row of `clusters.jsonl`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct ClusterRow {
    pub(crate) id: String,
    pub(crate) cluster_id: usize,
    pub(crate) cluster_size: usize,
    pub(crate) is_leader: bool,
    pub(crate) duplicate_of: Option<String>,
    pub(crate) hamming: u32,
    pub(crate) jaccard: Option<f64>,
}

/// A row of `pairs.jsonl`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct PairRow {
    pub(crate) a: usize,
    pub(crate) b: usize,
    pub(crate) hamming: u32,
    /// Absent if the pair was not verified.
    pub(crate) jaccard: Option<f64>,
    pub(crate) containment: Option<f64>,
}

/// The output and the report of a run.
pub(crate) struct Done {
    dir: TempDir,
    pub(crate) report: Report,
    pub(crate) clusters: Vec<ClusterRow>,
    /// Empty unless the options choose pairs.
    pub(crate) pairs: Vec<PairRow>,
}

impl Done {
    /// The records of `kept/` or `removed/`, by position.
    pub(crate) fn copied(&self, folder: &str) -> Vec<usize> {
        #[derive(Deserialize)]
        struct Record {
            id: usize,
        }
        let path = self.dir.path().join("out").join(folder).join("in.jsonl");
        rows::<Record>(&path).iter().map(|record| record.id).collect()
    }
}

/// Deduplicates `texts`. The id of a text is its position, and its `time` is from `times`.
pub(crate) fn run(texts: &[String], times: &[Option<u32>], options: &DedupOptions) -> Done {
    let dir = tempfile::tempdir().unwrap();
    let mut lines = String::new();
    for (id, text) in texts.iter().enumerate() {
        let mut record = serde_json::json!({"id": id, "text": text});
        if let Some(Some(time)) = times.get(id) {
            record["time"] = (*time).into();
        }
        writeln!(lines, "{record}").unwrap();
    }
    let input = dir.path().join("in.jsonl");
    fs::write(&input, lines).unwrap();
    let source = SourceOptions {
        sort_key: (options.keep == Keep::Newest).then(|| "time".to_owned()),
        ..SourceOptions::default()
    };
    let out = dir.path().join("out");
    let inputs = [input.to_str().unwrap().to_owned()];
    let job = DedupJob {
        inputs: &inputs,
        source: &source,
        options,
        out: &out,
    };
    let report = dedup(&job, &Silent, &Arc::default()).unwrap();
    let pairs = out.join("pairs.jsonl");
    Done {
        clusters: rows(&out.join("clusters.jsonl")),
        pairs: if pairs.exists() {
            pair_rows(&pairs)
        } else {
            Vec::new()
        },
        report,
        dir,
    }
}

fn rows<R: serde::de::DeserializeOwned>(path: &Path) -> Vec<R> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The rows of a file of pairs. It has ids as strings, whatever their type in the input.
fn pair_rows(path: &Path) -> Vec<PairRow> {
    let mut values: Vec<serde_json::Value> = rows(path);
    for value in &mut values {
        for side in ["a", "b"] {
            let id: usize = value[side].as_str().unwrap().parse().unwrap();
            value[side] = id.into();
        }
    }
    let parse = |value| serde_json::from_value(value).unwrap();
    values.into_iter().map(parse).collect()
}
