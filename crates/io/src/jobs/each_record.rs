//! The reading loop of jobs that compute something of every record by itself.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rayon::prelude::*;

use crate::JobError;
use crate::object_pool::ObjectPool;
use crate::progress::{Progress, Unit};
use crate::source::{Chunk, Intake, RecordKind, RejectReason, SourceOptions, Sources};
use crate::work::WorkDir;

/// The size of a batch of input, in bytes.
const BATCH_BYTES: usize = 8 << 20;

/// The inputs of a job, and how they are read.
pub(super) struct RecordJob<'a> {
    pub(super) inputs: &'a [String],
    pub(super) options: SourceOptions,
    pub(super) progress: &'a dyn Progress,
    pub(super) cancel: &'a Arc<AtomicBool>,
}

/// The result for one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordRow<T> {
    /// The id that the record states. A record without an id has `source:line`, or the path if the file is one
    /// document.
    pub id: String,
    /// The name of the input file, as in all output.
    pub source: String,
    /// The line of the record in the file, from 1.
    pub line: u64,
    /// The result for the record, or the reason why there is none.
    pub result: Result<T, RejectReason>,
}

impl RecordJob<'_> {
    /// Calls `row` for every record in input order, with the result of `compute` for the record's text. Records are
    /// computed in parallel; each thread has its own worker, which `new_worker` makes. Takes memory for a few batches
    /// of input.
    pub(super) fn run<W: Send, T: Send, E: From<JobError>>(
        &self,
        new_worker: impl Fn() -> Result<W, JobError> + Sync,
        compute: impl Fn(&mut W, &str) -> Result<T, String> + Sync,
        mut row: impl FnMut(RecordRow<T>) -> Result<(), E>,
    ) -> Result<Intake, E> {
        let workers = ObjectPool::new();
        // Created before any input is read, so that wrong options fail at once.
        workers.put(new_worker()?);
        let work = WorkDir::temporary().map_err(JobError::from)?;
        let cancel = Arc::clone(self.cancel);
        let sources = Sources::discover_cancellable(self.inputs, &self.options, work.path(), cancel)
            .map_err(JobError::from)?;
        sources
            .check_fields(|hint| self.progress.warn(hint))
            .map_err(JobError::from)?;
        let rows_of =
            |worker: &mut W, chunk: &Chunk| chunk_rows(chunk, &sources, |text| compute(worker, text));
        each_chunk(&sources, self.progress, &workers, &new_worker, rows_of, |rows| {
            rows.into_iter().try_for_each(&mut row)
        })?;
        Ok(sources.intake().map_err(JobError::from)?)
    }
}

/// Calls `take` for every chunk of the sources in input order, with the result of `compute`. Chunks are computed in
/// parallel; each thread has its own worker, from `workers` or else made by `new_worker`.
pub(super) fn each_chunk<W: Send, T: Send, E: From<JobError>>(
    sources: &Sources,
    progress: &dyn Progress,
    workers: &ObjectPool<W>,
    new_worker: &(impl Fn() -> Result<W, JobError> + Sync),
    compute: impl Fn(&mut W, &Chunk) -> T + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    progress.stage("read", sources.total_bytes(), Unit::Bytes);
    for batch in sources.read(BATCH_BYTES) {
        let batch = batch.map_err(JobError::from)?;
        let computed: Result<Vec<T>, JobError> = batch
            .chunks
            .par_iter()
            .map(|chunk| {
                let mut worker = workers.get().map_or_else(new_worker, Ok)?;
                let computed = compute(&mut worker, chunk);
                workers.put(worker);
                Ok(computed)
            })
            .collect();
        computed?.into_iter().try_for_each(&mut take)?;
        progress.advance(batch.input_bytes());
    }
    Ok(())
}

fn chunk_rows<T>(
    chunk: &Chunk,
    sources: &Sources,
    mut compute: impl FnMut(&str) -> Result<T, String>,
) -> Vec<RecordRow<T>> {
    let mut rows = Vec::with_capacity(chunk.records() as usize);
    chunk.documents(sources.options(), &mut |record| {
        let source = sources.file(record.source);
        let (id, result) = match record.kind {
            RecordKind::Blank | RecordKind::Other { .. } => return,
            RecordKind::Rejected { reason } => (None, Err(reason)),
            RecordKind::Document { id, text, .. } => {
                let result = compute(&text).map_err(|message| RejectReason::NoFingerprint { message });
                if let Err(reason) = &result {
                    chunk.refuse(record.source, record.line, reason);
                }
                (id, result)
            }
        };
        let id = id.map_or_else(|| source.name_of(record.line), Cow::into_owned);
        rows.push(RecordRow {
            id,
            source: source.label.clone(),
            line: record.line,
            result,
        });
    });
    rows
}
