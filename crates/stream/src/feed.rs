//! From a batch of input to documents ready to be placed, on all threads.

use rayon::prelude::*;
use twinprint_fingerprint::HashKey;
use twinprint_text::Profile;

use super::fields::{FieldKeys, records};
use super::prepare::{Document, Prepared, Preparer};
use super::{Stream, time};
use twinprint_io::object_pool::ObjectPool;
use twinprint_io::source::{Batch, Chunk, RecordKind, RejectReason, Sources};

/// A record on its way to the stream.
pub(super) enum Row {
    Document {
        source: u32,
        line: u64,
        label: Option<String>,
        /// Its time lies in the future, and counts for none.
        ahead: bool,
        prepared: Box<Prepared>,
    },
    Reject {
        source: u32,
        line: u64,
        reason: RejectReason,
    },
}

/// Prepares batches; lends its preparers, with their grown buffers, to whichever thread needs one.
pub(super) struct Feed<'f> {
    sources: &'f Sources,
    keys: &'f FieldKeys,
    profile: Profile,
    key: HashKey,
    /// The latest time that a document may have, in seconds: one wrong stamp would else end all stories and let none end later.
    latest: i64,
    /// Texts without features are rejected.
    reject_empty: bool,
    idle: ObjectPool<Preparer>,
}

impl<'f> Feed<'f> {
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
            latest: chrono::Utc::now().timestamp().saturating_add(time::AHEAD),
            reject_empty,
            idle: ObjectPool::new(),
        }
    }

    /// The records of a batch, in order.
    pub(super) fn prepare(&self, batch: &Batch) -> Vec<Row> {
        let rows: Vec<Vec<Row>> = batch.chunks.par_iter().map(|chunk| self.chunk(chunk)).collect();
        rows.into_iter().flatten().collect()
    }

    fn chunk(&self, chunk: &Chunk) -> Vec<Row> {
        let preparer = || Preparer::new(&self.profile, self.key);
        self.idle.with(preparer, |preparer| self.rows(chunk, preparer))
    }

    fn rows(&self, chunk: &Chunk, preparer: &mut Preparer) -> Vec<Row> {
        let mut rows = Vec::with_capacity(chunk.records() as usize);
        let options = self.sources.options();
        records(chunk, self.sources, options, self.keys, &mut |record, beside| {
            let (source, line) = (record.source, record.line);
            match record.kind {
                RecordKind::Blank | RecordKind::Other { .. } => {}
                RecordKind::Rejected { reason } => rows.push(Row::Reject { source, line, reason }),
                RecordKind::Document { id, text, .. } => {
                    let name =
                        id.unwrap_or_else(|| self.sources.list()[source as usize].name_of(line).into());
                    let time = beside.time.as_ref().and_then(time::seconds);
                    let ahead = time.is_some_and(|time| time > self.latest);
                    let document = Document {
                        name: &name,
                        text: &text,
                        title: beside.title,
                        url: beside.url,
                        time: time.filter(|_| !ahead),
                        score: beside.score,
                    };
                    let prepared = Box::new(preparer.prepare(&document));
                    if self.reject_empty && prepared.is_empty() {
                        let reason = RejectReason::EmptyText;
                        chunk.refuse(source, line, &reason);
                        return rows.push(Row::Reject { source, line, reason });
                    }
                    rows.push(Row::Document {
                        source,
                        line,
                        label: beside.label,
                        ahead,
                        prepared,
                    });
                }
            }
        });
        rows
    }
}
