//! The first stage: reads the records, groups their texts into classes with fingerprints, and writes the texts to the
//! spool.
//!
//! Each batch of input is [analysed](analysis) in parallel and [merged](merge) in input order, so the numbering does
//! not depend on the number of threads.

mod analysis;
mod counts;
mod merge;
mod rejects;
mod text_cache;

use std::path::Path;

use rayon::prelude::*;

use self::analysis::{AnalysedChunk, ChunkAnalysis, random_hasher};
pub(crate) use self::counts::ReadCounts;
use self::merge::Merger;
pub use self::rejects::RejectedRecord;
pub(crate) use self::rejects::Rejects;
use self::text_cache::TextCache;
use crate::corpus::Corpus;
use crate::error::DedupError;
use crate::known::RejectCheck;
use crate::memory::{self, Budget};
use crate::options::DedupOptions;
use twinprint_io::object_pool::ObjectPool;
use twinprint_io::progress::Progress;
use twinprint_io::runs::{DigestKey, InputDigest};
use twinprint_io::source::Sources;
use twinprint_io::work::{Spool, SpoolWriter};

/// The largest number of bytes of input that are analysed at a time.
const MAX_BATCH_BYTES: usize = 16 << 20;
/// The smallest number of bytes of input that are analysed at a time.
const MIN_BATCH_BYTES: usize = 256 << 10;

/// The result of reading: the tables, the spool, and the counts.
pub(crate) struct ReadOutcome {
    pub(crate) corpus: Corpus,
    /// The spool of texts; `None` in a run without verification.
    pub(crate) spool: Option<Spool>,
    pub(crate) counts: ReadCounts,
    /// The digest of the documents; `None` without [`ReadOptions::digest`].
    pub(crate) digest: Option<u128>,
}

/// The place of the spool of texts.
#[derive(Clone, Copy)]
pub(crate) struct SpoolPlace<'r> {
    /// The directory of the file.
    pub(crate) dir: &'r Path,
    /// The size in bytes up to which the spool stays in memory.
    pub(crate) in_memory: usize,
}

/// The options, limits and paths of reading.
#[derive(Clone, Copy)]
pub(crate) struct ReadOptions<'r> {
    pub(crate) options: &'r DedupOptions,
    /// The place of the spool of texts.
    pub(crate) spool: SpoolPlace<'r>,
    pub(crate) budget: Budget,
    /// The approximate number of bytes of records after which reading ends.
    pub(crate) max_record_bytes: u64,
    /// The key of the digest of the documents; `None` if no digest is wanted.
    pub(crate) digest: Option<DigestKey>,
    /// The check by the store that the run adds to; `None` if the run adds to no store.
    pub(crate) reject_check: Option<&'r RejectCheck<'r>>,
}

/// Reads the whole input, or about [`ReadOptions::max_record_bytes`] of it. Writes rejected records to `rejects`.
///
/// # Errors
/// An input cannot be read, a temporary file fails, or the tables exceed the memory limit.
pub(crate) fn read(
    sources: &Sources,
    reading: ReadOptions<'_>,
    rejects: &mut Rejects,
    progress: &dyn Progress,
) -> Result<ReadOutcome, DedupError> {
    let ReadOptions {
        options,
        budget,
        max_record_bytes,
        ..
    } = reading;
    let analyzers = ObjectPool::new();
    let cache = TextCache::new();
    let hasher = random_hasher();
    let SpoolPlace { dir, in_memory } = reading.spool;
    let spool = options.verify.then(|| SpoolWriter::create(dir, in_memory));
    let mut merger = Merger {
        sources,
        corpus: Corpus::default(),
        counts: ReadCounts::default(),
        spool,
        rejects,
        budget,
    };
    let mut digest = reading.digest.map(InputDigest::new);
    // While one batch is analysed, the batch before it is merged and its texts are compressed.
    let mut before: Vec<AnalysedChunk> = Vec::new();
    let batch_bytes = usize::try_from(max_record_bytes / 2)
        .unwrap_or(MAX_BATCH_BYTES)
        .clamp(MIN_BATCH_BYTES, MAX_BATCH_BYTES);
    let mut batches = sources.read(batch_bytes);
    for number in 1.. {
        let batch = if merger.counts.record_bytes < max_record_bytes {
            batches.next().transpose()?
        } else {
            None
        };
        let longest = budget.longest_record(memory::tables_of(&merger.corpus));
        let (analysed, merged) = rayon::join(
            || {
                let chunks = batch.as_ref().map_or(&[][..], |batch| &batch.chunks);
                let analysis = ChunkAnalysis {
                    options,
                    digest: reading.digest,
                    reject_check: reading.reject_check,
                    sources,
                    hasher,
                    cache: &cache,
                    batch: number,
                    longest,
                };
                let analyse_one = |chunk| {
                    let mut analyzer = analyzers.get().map_or_else(|| options.analyzer(), Ok)?;
                    let analysed = analysis.analyse(chunk, sources.options(), &mut analyzer);
                    analyzers.put(analyzer);
                    Ok(analysed)
                };
                chunks
                    .par_iter()
                    .map(analyse_one)
                    .collect::<Result<Vec<AnalysedChunk>, DedupError>>()
            },
            || {
                for chunk in std::mem::take(&mut before) {
                    for &document in &chunk.digests {
                        if let Some(digest) = &mut digest {
                            digest.push(document);
                        }
                    }
                    merger.merge(chunk)?;
                }
                Ok::<_, DedupError>(merger.spool.as_mut().map_or(Ok(()), SpoolWriter::flush)?)
            },
        );
        merged?;
        budget.check(memory::tables_of(&merger.corpus))?;
        before = analysed?;
        let Some(batch) = batch else { break };
        merger.counts.input_bytes += batch.input_bytes();
        progress.advance(batch.input_bytes());
    }
    let Merger {
        mut corpus,
        mut counts,
        spool,
        ..
    } = merger;
    counts.intake = sources.intake_so_far();
    corpus.classes.seal();
    let spool = spool.map(SpoolWriter::finish).transpose()?;
    Ok(ReadOutcome {
        corpus,
        spool,
        counts,
        digest: digest.map(|digest| digest.finish()),
    })
}
