//! The thread that encodes the row groups of a table and writes them to its file.
//!
//! The file is finished only if the table is. If a run ends early, the thread ends before the output directory is deleted.

use std::io;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, Builder, JoinHandle};

use parquet::file::writer::SerializedFileWriter;
use twinprint_io::sink::{OutputFile, SinkError, parquet_failed};

use super::RowGroupColumns;

/// The file of a table.
pub(super) struct Encoder {
    pub(super) writer: SerializedFileWriter<OutputFile>,
    pub(super) path: PathBuf,
    pub(super) bits: u32,
    pub(super) verified: bool,
}

/// The work of the thread.
pub(super) enum EncoderStep {
    /// Encode a row group and write it.
    Group(Box<RowGroupColumns>),
    /// Finish the file.
    Finish,
}

/// The thread, and the way to it.
pub(super) struct EncoderThread {
    /// `None` once the thread shall end.
    steps: Option<SyncSender<EncoderStep>>,
    /// `None` once the thread has ended.
    thread: Option<JoinHandle<Result<(), SinkError>>>,
}

impl EncoderThread {
    pub(super) fn start(encoder: Encoder) -> io::Result<Self> {
        // A row group waits until the one before it is written, so at most two are in memory.
        let (steps, received) = sync_channel(0);
        let thread = Builder::new().name("clusters.parquet".to_owned());
        Ok(Self {
            steps: Some(steps),
            thread: Some(thread.spawn(move || encoder.run(&received))?),
        })
    }

    /// Gives the thread a step. After an error the thread takes no more steps, and [`finish`](Self::finish) returns the error.
    pub(super) fn send(&self, step: EncoderStep) {
        if let Some(steps) = &self.steps {
            let _ = steps.send(step);
        }
    }

    /// Finishes the file. Returns the first error of any step.
    pub(super) fn finish(mut self) -> Result<(), SinkError> {
        self.send(EncoderStep::Finish);
        let ended = self.end().unwrap_or(Ok(Ok(())));
        ended.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Waits for the end of the thread. `None` if it has ended before.
    fn end(&mut self) -> Option<thread::Result<Result<(), SinkError>>> {
        self.steps = None;
        self.thread.take().map(JoinHandle::join)
    }
}

impl Drop for EncoderThread {
    fn drop(&mut self) {
        // The error with which the run ends is another one.
        let _ = self.end();
    }
}

impl Encoder {
    fn run(mut self, steps: &Receiver<EncoderStep>) -> Result<(), SinkError> {
        let failed = |error| parquet_failed(error, &self.path);
        for step in steps {
            let EncoderStep::Group(rows) = step else {
                self.writer.into_inner().map_err(failed)?.finish()?;
                return Ok(());
            };
            let group = self.writer.next_row_group();
            let written = group.and_then(|group| rows.write(group, self.bits, self.verified));
            written.map_err(failed)?;
        }
        Ok(())
    }
}
