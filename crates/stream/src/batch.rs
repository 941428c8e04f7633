//! Prepares batches of input on all threads: turns records into documents that are ready to be placed.

use rayon::prelude::*;
use twinprint_fingerprint::HashKey;
use twinprint_text::Profile;

use super::fields::{FieldKeys, for_each_record};
use super::prepare::{Document, Prepared, Preparer};
use super::{Stream, time};
use twinprint_io::object_pool::ObjectPool;
use twinprint_io::source::{Batch, Chunk, RecordKind, RejectReason, Sources};

/// The bytes of input that are prepared at a time.
pub(super) const BATCH_BYTES: usize = 8 << 20;

/// A record that is ready for the stream: a prepared document, or a reject.
pub(super) enum PreparedRecord {
    Document {
        /// The index of the record's source file.
        source: u32,
        line: u64,
        label: Option<String>,
        /// True if the document's time is too far in the future. The time is then ignored.
        is_future: bool,
        prepared: Box<Prepared>,
    },
    Reject {
        /// The index of the record's source file.
        source: u32,
        line: u64,
        reason: RejectReason,
    },
}

/// Prepares batches on all threads. Its preparers are reused, so that their buffers stay allocated.
pub(super) struct BatchPreparer<'f> {
    sources: &'f Sources,
    keys: &'f FieldKeys,
    profile: Profile,
    key: HashKey,
    /// The latest time that is accepted, in seconds since 1970. A wrong time in the far future would end all stories,
    /// and no later story would ever end.
    latest_time: i64,
    /// True if texts without features are rejected.
    reject_empty: bool,
    preparers: ObjectPool<Preparer>,
}

impl<'f> BatchPreparer<'f> {
    /// Makes a preparer of batches for the stream `stream`.
    pub(super) fn new(
        sources: &'f Sources,
        keys: &'f FieldKeys,
        stream: &Stream,
        reject_empty: bool,
    ) -> Self {
        Self {
            sources,
            keys,
            profile: stream.options.profile.clone(),
            key: stream.key,
            latest_time: chrono::Utc::now()
                .timestamp()
                .saturating_add(time::MAX_FUTURE_SECONDS),
            reject_empty,
            preparers: ObjectPool::new(),
        }
    }

    /// Prepares the records of a batch, and returns them in order.
    pub(super) fn prepare(&self, batch: &Batch) -> Vec<PreparedRecord> {
        let rows: Vec<Vec<PreparedRecord>> = batch
            .chunks
            .par_iter()
            .map(|chunk| self.prepare_chunk(chunk))
            .collect();
        rows.into_iter().flatten().collect()
    }

    fn prepare_chunk(&self, chunk: &Chunk) -> Vec<PreparedRecord> {
        let preparer = || Preparer::new(&self.profile, self.key);
        self.preparers
            .with(preparer, |preparer| self.records(chunk, preparer))
    }

    fn records(&self, chunk: &Chunk, preparer: &mut Preparer) -> Vec<PreparedRecord> {
        let mut rows = Vec::with_capacity(chunk.records() as usize);
        let options = self.sources.options();
        for_each_record(chunk, self.sources, options, self.keys, &mut |record, fields| {
            let (source, line) = (record.source, record.line);
            match record.kind {
                RecordKind::Blank | RecordKind::Other { .. } => {}
                RecordKind::Rejected { reason } => rows.push(PreparedRecord::Reject { source, line, reason }),
                RecordKind::Document { id, text, .. } => {
                    let name = id.unwrap_or_else(|| self.sources.file(source).name_of(line).into());
                    let time = fields.time.as_ref().and_then(time::seconds);
                    let is_future = time.is_some_and(|time| time > self.latest_time);
                    let document = Document {
                        name: &name,
                        text: &text,
                        title: fields.title,
                        url: fields.url,
                        time: time.filter(|_| !is_future),
                        score: fields.score,
                    };
                    let prepared = Box::new(preparer.prepare(&document));
                    if self.reject_empty && prepared.is_empty() {
                        let reason = RejectReason::EmptyText;
                        chunk.refuse(source, line, &reason);
                        return rows.push(PreparedRecord::Reject { source, line, reason });
                    }
                    rows.push(PreparedRecord::Document {
                        source,
                        line,
                        label: fields.label,
                        is_future,
                        prepared,
                    });
                }
            }
        });
        rows
    }
}
