//! Writes the report. `report.json` comes last: where it stands, all that the run wrote is whole.

use std::time::Instant;

use serde::Serialize;

use super::{Report, Shown, Stage};
use crate::error::DedupError;
use crate::progress::peak_memory;
use crate::sink::OutputDir;

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
    #[cfg(feature = "report-pages")]
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
    put(dir, "report.json", &json(&report))?;
    Ok(report)
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
