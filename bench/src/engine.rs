//! Runs of the engine's own command, as a user starts it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use serde::Deserialize;

use crate::clock::{Clock, Elapsed};

/// The command, and the directory of its temporary results.
#[derive(Debug)]
pub struct Engine {
    /// The program `twinprint`.
    pub program: PathBuf,
    /// A directory for results.
    pub work: PathBuf,
    /// Worker threads.
    pub threads: usize,
}

/// A finished run. Dropping it deletes its results.
#[derive(Debug)]
pub struct Finished {
    /// The output directory.
    pub directory: PathBuf,
    /// Its report.
    pub report: Report,
    /// Wall seconds of the process.
    pub wall: f64,
    /// CPU seconds of the process.
    pub cpu: f64,
}

impl Drop for Finished {
    fn drop(&mut self) {
        // If the removal fails, the next run refuses the directory with an error.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// The part of `report.json` that the benchmarks read.
#[derive(Debug, Deserialize)]
pub struct Report {
    /// Version of the engine.
    pub version: String,
    /// Documents read and kept.
    pub records: Records,
    /// Bytes read.
    pub input: Input,
    /// Width and radius.
    pub radius: Radius,
    /// The search.
    pub search: Search,
    /// Hot rows.
    pub hot_rows: Vec<HotRow>,
    /// Times and memory.
    pub run: Run,
}

/// See [`Report::records`].
#[derive(Debug, Deserialize)]
pub struct Records {
    /// Records read.
    pub read: u64,
    /// Records kept.
    pub kept: u64,
}

/// See [`Report::input`].
#[derive(Debug, Deserialize)]
pub struct Input {
    /// Bytes of the files.
    pub bytes: u64,
}

/// See [`Report::radius`].
#[derive(Debug, Deserialize)]
pub struct Radius {
    /// Width of the fingerprints.
    pub bits: u32,
    /// Radius.
    pub k: u32,
}

/// See [`Report::search`].
#[derive(Debug, Deserialize)]
pub struct Search {
    /// Different texts.
    pub texts: u64,
    /// Candidates a document.
    pub candidates_a_document: f64,
}

/// See [`Report::hot_rows`].
#[derive(Debug, Deserialize)]
pub struct HotRow {
    /// The fingerprint.
    pub fingerprint: String,
    /// Texts on it.
    pub texts: u64,
}

/// See [`Report::run`].
#[derive(Debug, Deserialize)]
pub struct Run {
    /// Level of the kernels.
    pub kernels: String,
    /// Stages in order.
    pub stages: Vec<Stage>,
    /// Peak memory in bytes.
    pub peak_memory_bytes: Option<u64>,
}

/// One stage of a run.
#[derive(Debug, Deserialize)]
pub struct Stage {
    /// Its name.
    pub name: String,
    /// Wall seconds.
    pub seconds: f64,
}

impl Report {
    /// Returns the peak memory in MB.
    pub fn peak_megabytes(&self) -> f64 {
        self.run.peak_memory_bytes.unwrap_or_default() as f64 / 1e6
    }

    /// Returns the seconds of each stage as text.
    pub fn stages(&self) -> String {
        let stages = self.run.stages.iter();
        let words: Vec<String> = stages.map(|s| format!("{} {:.1}", s.name, s.seconds)).collect();
        words.join(", ")
    }
}

impl Engine {
    /// Runs `dedup` on a file with further options. An earlier result of the same file is removed first.
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
