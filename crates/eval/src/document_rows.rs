//! Documents as they are read: their ids, canonical texts and fingerprints, in input order.

use rayon::prelude::*;
use twinprint_fingerprint::HashKey;
use twinprint_io::object_pool::ObjectPool;
use twinprint_io::progress::{Progress, Unit};
use twinprint_io::source::{Chunk, RecordKind, Sources};
use twinprint_text::{Analyzer, Measure, Profile};

use crate::error::EvalError;

/// The bytes of input that are read at a time.
const BATCH_BYTES: usize = 8 << 20;

/// A position in the input: the label of the source and the line.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct InputPosition {
    pub(crate) source: String,
    pub(crate) line: u64,
}

/// A document.
#[derive(Clone)]
pub(crate) struct DocumentRow {
    pub(crate) id: String,
    pub(crate) position: InputPosition,
    pub(crate) canonical: String,
    pub(crate) measure: Measure,
    pub(crate) features: u32,
    pub(crate) fingerprint: u128,
}

/// Calls `take` for batches of the documents of all sources, in order.
///
/// # Errors
/// The error of `take`; a source cannot be read; the reading is cancelled.
pub(crate) fn each_batch(
    sources: &Sources,
    profile: &Profile,
    progress: &dyn Progress,
    mut take: impl FnMut(Vec<DocumentRow>) -> Result<(), EvalError>,
) -> Result<(), EvalError> {
    progress.stage("read", sources.total_bytes(), Unit::Bytes);
    let analyzers = ObjectPool::new();
    let analyzer = || Analyzer::new(profile, HashKey::PUBLIC);
    let read = |chunk: &Chunk| analyzers.with(analyzer, |analyzer| rows_of(chunk, sources, analyzer));
    for batch in sources.read(BATCH_BYTES) {
        let batch = batch?;
        let chunks: Vec<Vec<DocumentRow>> = batch.chunks.par_iter().map(read).collect();
        take(chunks.into_iter().flatten().collect())?;
        progress.advance(batch.input_bytes());
    }
    Ok(())
}

fn rows_of(chunk: &Chunk, sources: &Sources, analyzer: &mut Analyzer) -> Vec<DocumentRow> {
    let mut rows = Vec::new();
    chunk.documents(sources.options(), &mut |record| {
        let RecordKind::Document { id, text, .. } = record.kind else {
            return;
        };
        let source = sources.file(record.source);
        let analysis = analyzer.analyze(&text);
        rows.push(DocumentRow {
            id: id.map_or_else(|| source.name_of(record.line), std::borrow::Cow::into_owned),
            position: InputPosition {
                source: source.label.clone(),
                line: record.line,
            },
            canonical: analysis.canonical.to_owned(),
            measure: analysis.measure,
            features: analysis.features,
            fingerprint: analysis.fingerprint,
        });
    });
    rows
}
