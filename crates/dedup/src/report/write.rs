//! The report files. `report.json` is written last: if it exists, all files of the run are complete.

use std::time::Instant;

use serde::Serialize;

use twinprint_io::results::{Report, StageReport};

use super::{Shown, markdown, page};
use crate::error::DedupError;
use twinprint_io::progress::peak_memory;
use twinprint_io::sink::OutputDir;

/// Writes the report in all formats, and returns it.
pub(crate) fn write(shown: &Shown, dir: &OutputDir) -> Result<Report, DedupError> {
    let mut report = shown.report.clone();
    report.run.written_bytes = dir.written();
    put(
        dir,
        "report.html",
        page::html(&report, &shown.differences).as_bytes(),
    )?;
    put(
        dir,
        "report.md",
        markdown::text(&report, &shown.differences).as_bytes(),
    )?;
    put(dir, Report::FILE, &json(&report))?;
    Ok(report)
}

impl Shown {
    /// Adds the times of the run and its peak memory.
    pub(crate) fn timed(mut self, stages: Vec<StageReport>, started: Instant) -> Self {
        let run = &mut self.report.run;
        run.stages = stages;
        run.peak_memory_bytes = peak_memory();
        run.seconds = started.elapsed().as_secs_f64();
        self
    }

    /// The report.
    pub(crate) fn report(&self) -> &Report {
        &self.report
    }

    /// The report as a page of HTML.
    pub(crate) fn html(&self) -> String {
        page::html(&self.report, &self.differences)
    }

    /// The report as Markdown.
    pub(crate) fn markdown(&self) -> String {
        markdown::text(&self.report, &self.differences)
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
    // Serialising cannot fail: the report consists of strings, numbers, and lists and maps of these.
    let mut serializer = serde_json::Serializer::pretty(&mut json);
    if report.serialize(&mut serializer).is_ok() {
        json.push(b'\n');
    }
    json
}
