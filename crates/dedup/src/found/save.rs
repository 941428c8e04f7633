//! Writes the result of a search to a directory.

use std::path::Path;

use super::Found;
use crate::error::DedupError;
use crate::options::Mode;
use crate::report;
use crate::write::{self, pairs};
use twinprint_io::progress::{Progress, Unit};
use twinprint_io::results::Report;
use twinprint_io::rows;
use twinprint_io::sink::OutputDir;
use twinprint_io::work::WorkDir;

impl Found {
    /// Writes the files of the result to the directory `out`: the report, the clusters, the pairs, the rejects and the
    /// configuration, as [`dedup`](crate::dedup()) does. With [`Mode::Remove`] and [`Mode::Annotate`] it also copies the
    /// records, which must be those of files then.
    ///
    /// # Errors
    /// The directory has files, or cannot be written; an input has changed; the records are in memory and the mode
    /// copies them.
    pub fn save(&self, out: &Path, progress: &dyn Progress) -> Result<Report, DedupError> {
        let dir = OutputDir::begin(out, self.options.existing)?;
        let run = self.tables.finished(self.input());
        progress.stage("write", write::bytes_to_write(&run), Unit::Bytes);
        if self.options.mode != Mode::Report {
            let work = WorkDir::create(self.options.work_dir.as_deref().unwrap_or(dir.files_dir()))?;
            write::copy_records(&run, &dir, work.path(), progress)?;
        }
        write::write_clusters(&run, &dir)?;
        write::write_config(&run, &dir)?;
        let mut file = dir.file("rejects.jsonl")?;
        for rejected in self.rejected() {
            rows::write_reject(&mut file, &rejected.source, rejected.line, &rejected.reason)?;
        }
        file.finish()?;
        if let Some(pairs) = &self.tables.pairs.pairs {
            pairs::write_all(&dir, pairs, &run.names, self.options.verify)?;
        }
        let report = report::write(&self.shown, &dir)?;
        dir.finish()?;
        Ok(report)
    }
}
