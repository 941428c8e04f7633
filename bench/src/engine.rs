//! Runs the `twinprint` command, as a user starts it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use serde::Deserialize;

use crate::clock::{Clock, Elapsed};

/// The `twinprint` command, with the settings of its runs.
#[derive(Debug)]
pub struct Engine {
    /// Path of the program `twinprint`.
    pub program: PathBuf,
    /// The directory for results and temporary files.
    pub work: PathBuf,
    /// Number of worker threads.
    pub threads: usize,
}

/// A run that has finished. Dropping this value deletes the results of the run.
#[derive(Debug)]
pub struct Finished {
    /// The output directory of the run.
    pub directory: PathBuf,
    /// The report of the run.
    pub report: Report,
    /// Wall time of the process in seconds.
    pub wall: f64,
    /// CPU time of the process in seconds.
    pub cpu: f64,
}

impl Drop for Finished {
    fn drop(&mut self) {
        // An error is ignored: if the directory remains, the next run refuses it with an error.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// The fields of `report.json` that the benchmarks read.
#[derive(Debug, Deserialize)]
pub struct Report {
    /// Version of the engine.
    pub version: String,
    /// Numbers of documents read and kept.
    pub records: Records,
    /// The size of the input.
    pub input: Input,
    /// Width and radius of the fingerprints.
    pub radius: Radius,
    /// The measured recall. `None` in older versions.
    pub recall: Option<Recall>,
    /// The numbers of texts and candidates.
    pub search: Search,
    /// The fingerprints with very many texts.
    pub hot_rows: Vec<HotRow>,
    /// Times and memory of the run.
    pub run: Run,
}

/// The numbers of records, in [`Report::records`].
#[derive(Debug, Deserialize)]
pub struct Records {
    /// Number of records read.
    pub read: u64,
    /// Number of records kept.
    pub kept: u64,
}

/// The size of the input, in [`Report::input`].
#[derive(Debug, Deserialize)]
pub struct Input {
    /// Size of the input files in bytes.
    pub bytes: u64,
}

/// Width and radius, in [`Report::radius`].
#[derive(Debug, Deserialize)]
pub struct Radius {
    /// Width of the fingerprints in bits.
    pub bits: u32,
    /// The largest Hamming distance that was searched.
    pub k: u32,
    /// The criterion that decided the radius.
    pub choice: Option<String>,
}

impl Radius {
    /// Width and radius with the criterion, as text.
    pub fn described(&self) -> String {
        match self.choice.as_deref() {
            Some("exact") => "exact".to_owned(),
            choice => format!("{} / {} {}", self.bits, self.k, choice.unwrap_or_default()),
        }
    }
}

/// The measured recall, in [`Report::recall`].
#[derive(Debug, Deserialize)]
pub struct Recall {
    /// True if the search finds every pair.
    pub exact: bool,
    /// Number of drawn pairs.
    pub trials: u64,
    /// Number of drawn pairs that were found.
    pub found: u64,
    /// The ends of the interval.
    pub low: f64,
    /// See `low`.
    pub high: f64,
}

/// The numbers of the search, in [`Report::search`].
#[derive(Debug, Deserialize)]
pub struct Search {
    /// Number of different texts.
    pub texts: u64,
    /// Number of candidates per document.
    pub candidates_a_document: f64,
}

/// A hot row, in [`Report::hot_rows`].
#[derive(Debug, Deserialize)]
pub struct HotRow {
    /// The fingerprint of the row.
    pub fingerprint: String,
    /// Number of texts with this fingerprint.
    pub texts: u64,
}

/// Times and memory, in [`Report::run`].
#[derive(Debug, Deserialize)]
pub struct Run {
    /// The CPU level of the SIMD kernels.
    pub kernels: String,
    /// The stages of the run, in order.
    pub stages: Vec<Stage>,
    /// Peak memory in bytes.
    pub peak_memory_bytes: Option<u64>,
}

/// One stage of a run.
#[derive(Debug, Deserialize)]
pub struct Stage {
    /// The name of the stage.
    pub name: String,
    /// Wall time of the stage in seconds.
    pub seconds: f64,
}

impl Report {
    /// Returns the peak memory in MB.
    pub fn peak_megabytes(&self) -> f64 {
        self.run.peak_memory_bytes.unwrap_or_default() as f64 / 1e6
    }

    /// Returns the measured recall with its interval, as text.
    pub fn recall_text(&self) -> String {
        match &self.recall {
            None => "none".to_owned(),
            Some(recall) if recall.exact => "1".to_owned(),
            Some(Recall {
                trials,
                found,
                low,
                high,
                ..
            }) => format!("{found} of {trials} ({low:.4} to {high:.4})"),
        }
    }

    /// Returns the names of the stages with their seconds, as text.
    pub fn stages(&self) -> String {
        let stages = self.run.stages.iter();
        let words: Vec<String> = stages.map(|s| format!("{} {:.1}", s.name, s.seconds)).collect();
        words.join(", ")
    }
}

impl Engine {
    /// Runs `dedup` on a file with additional options. First deletes an earlier result for the same file.
    pub fn dedup(&self, input: &Path, options: &[String]) -> anyhow::Result<Finished> {
        let directory = self.work.join("dedup-result");
        if directory.exists() {
            std::fs::remove_dir_all(&directory)?;
        }
        let clock = Clock::start();
        let status = Command::new(&self.program)
            .arg("dedup")
            .arg(input)
            .args(["--quiet", "--threads", &self.threads.to_string(), "--output"])
            .arg(&directory)
            .args(options)
            .stdin(Stdio::null())
            .status()
            .with_context(|| format!("running {}", self.program.display()))?;
        let Elapsed { wall, children, .. } = clock.elapsed();
        anyhow::ensure!(status.success(), "dedup of {} failed: {status}", input.display());
        let report = std::fs::read_to_string(directory.join("report.json"))?;
        Ok(Finished {
            report: serde_json::from_str(&report)?,
            directory,
            wall,
            cpu: children,
        })
    }
}
