//! Builds idf tables from documents. No other job collects statistics of a corpus for fingerprints.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rayon::prelude::*;
use twinprint_fingerprint::HashKey;
use twinprint_text::{Analyzer, Feature, IdfBuilder, IdfTable, Profile};

use crate::JobError;
use crate::object_pool::ObjectPool;
use crate::progress::{Progress, Unit};
use crate::source::{Chunk, Intake, RecordKind, SourceOptions, Sources};
use crate::work::WorkDir;

/// The name and the largest size of an idf table.
#[derive(Clone, Copy, Debug)]
pub struct IdfTableSize<'t> {
    /// The name by which profile ids refer to the table. It consists of letters and digits.
    pub name: &'t str,
    /// The largest number of words in the table. The most frequent words are stored.
    pub max_words: usize,
}

/// Counts the features of `profile` in all documents of `inputs`. Returns an idf table of the most frequent features,
/// and the intake. Memory is proportional to the number of distinct features of the input.
///
/// # Errors
/// The input cannot be read or has fewer than ten documents, or the name of the table contains characters other than
/// letters and digits.
pub fn build_idf(
    inputs: &[String],
    source_options: &SourceOptions,
    profile: &Profile,
    size: IdfTableSize<'_>,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<(IdfTable, Intake), JobError> {
    let work = WorkDir::temporary()?;
    let sources = Sources::discover_cancellable(inputs, source_options, work.path(), Arc::clone(cancel))?;
    sources.check_fields(|hint| progress.warn(hint))?;
    progress.stage("read", sources.total_bytes(), Unit::Bytes);
    let mut builder = IdfBuilder::default();
    let analyzers = ObjectPool::new();
    let analyzer = || Analyzer::new(profile, HashKey::PUBLIC);
    let explain = |chunk: &Chunk| analyzers.with(analyzer, |analyzer| features(chunk, &sources, analyzer));
    for batch in sources.read(8 << 20) {
        let batch = batch?;
        let chunks: Vec<Vec<Vec<Feature>>> = batch.chunks.par_iter().map(explain).collect();
        for features in chunks.iter().flatten() {
            builder.add(features);
        }
        progress.advance(batch.input_bytes());
    }
    let intake = sources.intake()?;
    let table = builder.finish(size.name, size.max_words)?;
    Ok((table, intake))
}

fn features(chunk: &Chunk, sources: &Sources, analyzer: &mut Analyzer) -> Vec<Vec<Feature>> {
    let mut documents = Vec::new();
    chunk.documents(sources.options(), &mut |record| {
        if let RecordKind::Document { text, .. } = record.kind {
            documents.push(analyzer.explain(&text));
        }
    });
    documents
}
