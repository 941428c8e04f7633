//! Writes the report. `report.json` comes last: where it stands, all that the run wrote is whole.

use std::fs;
use std::path::Path;
use std::time::Instant;

use serde::Serialize;

use super::{Report, Shown, Stage};
use crate::error::DedupError;
use twinprint_io::progress::peak_memory;
use twinprint_io::sink::{OutputDir, SinkError};

/// The report as JSON.
const FILE: &str = "report.json";

/// Adds the times, writes all forms of the report and gives it back.
pub(crate) fn write(
    shown: Shown,
    stages: Vec<Stage>,
    started: Instant,
    dir: &OutputDir,
) -> Result<Report, DedupError> {
    let mut report = shown.report;
    report.run.stages = stages;
    report.run.written_bytes = dir.written();
    report.run.peak_memory_bytes = peak_memory();
    report.run.seconds = started.elapsed().as_secs_f64();
    {
        put(
            dir,
            "report.html",
            super::page::html(&report, &shown.differences).as_bytes(),
        )?;
        put(
            dir,
            "report.md",
            super::markdown::text(&report, &shown.differences).as_bytes(),
        )?;
    }
    put(dir, FILE, &json(&report))?;
    Ok(report)
}

impl Report {
    /// Reads the report of a finished run from its output directory.
    ///
    /// # Errors
    /// A file that cannot be read, or is no report.
    pub(crate) fn read(dir: &Path) -> Result<Self, DedupError> {
        let path = dir.join(FILE);
        let failed = |source| SinkError::Io {
            path: path.clone(),
            action: "read it",
            source,
        };
        let json = fs::read(&path).map_err(failed)?;
        let report = serde_json::from_slice(&json).map_err(|error| failed(error.into()))?;
        Ok(report)
    }
}

fn put(dir: &OutputDir, name: &str, bytes: &[u8]) -> Result<(), DedupError> {
    let mut file = dir.file(name)?;
    file.append(bytes)?;
    file.finish()?;
    Ok(())
}

fn json(report: &Report) -> Vec<u8> {
    let mut json = Vec::new();
    // A report is strings, numbers and maps of them, which always serialise.
    let mut serializer = serde_json::Serializer::pretty(&mut json);
    if report.serialize(&mut serializer).is_ok() {
        json.push(b'\n');
    }
    json
}
