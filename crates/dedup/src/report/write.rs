//! The report files. `report.json` is written last: if it exists, all files of the run are complete.

use std::time::Instant;

use serde::Serialize;

use twinprint_io::results::{Report, StageReport};

use super::Shown;
use crate::error::DedupError;
use twinprint_io::progress::peak_memory;
use twinprint_io::sink::OutputDir;

/// Adds the times to the report, writes it in all formats, and returns it.
pub(crate) fn write(
    shown: Shown,
    stages: Vec<StageReport>,
    started: Instant,
    dir: &OutputDir,
) -> Result<Report, DedupError> {
    let mut report = shown.report;
    report.run.stages = stages;
    report.run.written_bytes = dir.written();
    report.run.peak_memory_bytes = peak_memory();
    report.run.seconds = started.elapsed().as_secs_f64();
    let html = super::page::html(&report, &shown.differences);
    put(dir, "report.html", html.as_bytes())?;
    let markdown = super::markdown::text(&report, &shown.differences);
    put(dir, "report.md", markdown.as_bytes())?;
    put(dir, Report::FILE, &json(&report))?;
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
    // Serialising cannot fail: the report consists of strings, numbers, and lists and maps of these.
    let mut serializer = serde_json::Serializer::pretty(&mut json);
    if report.serialize(&mut serializer).is_ok() {
        json.push(b'\n');
    }
    json
}
