//! Stages of a run: their times in the report, and cancellation.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::Runner;
use crate::error::DedupError;
use twinprint_io::progress::{Unit, cpu_seconds, io_bytes, peak_memory};
use twinprint_io::results::StageReport;

impl Runner<'_> {
    /// Runs one stage and records its time, the bytes that it read and wrote, and its peak memory.
    pub(super) fn stage<T>(
        &mut self,
        name: &'static str,
        total: u64,
        unit: Unit,
        run: impl FnOnce(&mut Self) -> Result<T, DedupError>,
    ) -> Result<T, DedupError> {
        let (started, cpu_before, moved_before) = (Instant::now(), cpu_seconds(), io_bytes());
        self.progress.stage(name, total, unit);
        let result = run(self)?;
        let cpu = cpu_seconds()
            .zip(cpu_before)
            .map(|(after, before)| after - before);
        let moved = io_bytes()
            .zip(moved_before)
            .map(|(after, before)| (after.read - before.read, after.written - before.written));
        self.stages.push(StageReport {
            name: name.into(),
            seconds: started.elapsed().as_secs_f64(),
            cpu_seconds: cpu,
            read_bytes: moved.map(|moved| moved.0),
            written_bytes: moved.map(|moved| moved.1),
            peak_memory_bytes: peak_memory(),
        });
        self.check_cancelled()?;
        Ok(result)
    }

    /// Returns an error once the caller has cancelled the run.
    pub(super) fn check_cancelled(&self) -> Result<(), DedupError> {
        if self.cancel.load(Ordering::Relaxed) {
            Err(DedupError::cancelled())
        } else {
            Ok(())
        }
    }
}
