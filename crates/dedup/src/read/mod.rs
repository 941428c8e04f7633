//! The first stage: reads the records, groups their texts into classes with fingerprints, and writes the texts to the
//! spool.
//!
//! Several batches of input are [analysed](analysis) [in parallel](ahead), and each is [merged](merge) in input order, so the
//! numbering does not depend on the number of threads.

mod ahead;
mod analysis;
mod counts;
mod merge;
mod rejects;
mod text_cache;

use std::path::Path;

use self::ahead::{BATCHES_AT_A_TIME, BatchInWork, BatchesInWork};
pub(crate) use self::analysis::random_key;
use self::analysis::{AnalysedChunk, ChunkAnalysis};
pub(crate) use self::counts::ReadCounts;
use self::merge::Merger;
pub use self::rejects::RejectedRecord;
pub(crate) use self::rejects::Rejects;
use self::text_cache::TextCache;
use crate::corpus::{ClassHasher, Corpus};
use crate::error::DedupError;
use crate::known::RejectCheck;
use crate::memory::{self, Budget};
use crate::options::DedupOptions;
use twinprint_io::object_pool::ObjectPool;
use twinprint_io::progress::Progress;
use twinprint_io::runs::{DigestKey, InputDigest};
use twinprint_io::source::{BLOCK_BYTES, Chunk, Sources};
use twinprint_io::work::{Spool, SpoolWriter};

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
pub(crate) enum SpoolPlace<'r> {
    /// Memory, and from a size on a file without a name.
    Unnamed {
        /// The directory of the file.
        dir: &'r Path,
        /// The size in bytes up to which the spool stays in memory.
        in_memory: usize,
    },
    /// A file, which other processes open.
    File(&'r Path),
}

impl<'r> SpoolPlace<'r> {
    /// The directory of temporary files.
    pub(crate) fn dir(self) -> &'r Path {
        match self {
            Self::Unnamed { dir, .. } => dir,
            Self::File(path) => path.parent().unwrap_or(path),
        }
    }
}

/// The slices of a part of a corpus: its documents are numbered from 0 in each slice, so that the tables of one slice fit
/// into memory.
pub(crate) trait Slices {
    /// True if the current slice should end.
    fn is_full(&self, corpus: &Corpus) -> bool;

    /// Takes the tables of a slice.
    fn end(&mut self, corpus: Corpus) -> Result<(), DedupError>;
}

/// The options, limits and paths of reading.
#[derive(Clone, Copy)]
pub(crate) struct ReadOptions<'r> {
    pub(crate) options: &'r DedupOptions,
    /// The hasher of texts. No output depends on its key.
    pub(crate) hasher: ClassHasher,
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
    read_slices(sources, reading, None, rejects, progress)
}

/// Like [`read`], but passes the tables of each slice to `slices`, if there are any. The returned tables are empty then.
/// A class of a later slice may be one that an earlier slice has [analysed](crate::corpus::Classes::is_analysed).
///
/// # Errors
/// The same as for [`read`]; the errors of `slices`.
pub(crate) fn read_slices(
    sources: &Sources,
    reading: ReadOptions<'_>,
    mut slices: Option<&mut dyn Slices>,
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
    let [[a, b], [c, d]] = [random_key(), random_key()];
    let cache = TextCache::new([a, b, c, d]);
    let hasher = reading.hasher;
    let create = || match reading.spool {
        SpoolPlace::Unnamed { dir, in_memory } => Ok(SpoolWriter::create(dir, in_memory)),
        SpoolPlace::File(path) => SpoolWriter::create_file(path),
    };
    let spool = options.verify.then(create).transpose()?;
    let mut merger = Merger {
        sources,
        corpus: Corpus::default(),
        counts: ReadCounts::default(),
        spool,
        rejects,
        budget,
        in_slices: slices.is_some(),
    };
    let mut digest = reading.digest.map(InputDigest::new);
    let most = memory::batch_bytes(rayon::current_num_threads() as u64);
    let batch_bytes = most.min(max_record_bytes / 2).max(BLOCK_BYTES as u64);
    memory::keep_freed_blocks();
    let mut batches = sources.read(batch_bytes as usize);
    rayon::in_place_scope_fifo(|scope| {
        let most_bytes = BATCHES_AT_A_TIME as u64 * batch_bytes;
        let mut in_work = BatchesInWork::<Result<AnalysedChunk, DedupError>>::new(most_bytes);
        let mut begun_bytes = 0;
        for number in 1.. {
            // Both numbers follow from the input alone. The sizes of some batches are estimates.
            let batch = if merger.counts.record_bytes.max(begun_bytes) < max_record_bytes {
                batches.next().transpose()?
            } else {
                None
            };
            let bytes = batch.as_ref().map(|batch| batch.record_bytes() as u64);
            while let Some((oldest, input_bytes)) = in_work.pop_for(bytes) {
                let Some(chunks) = oldest.finish() else {
                    // A task has panicked. The end of the scope passes the panic on.
                    return Ok(());
                };
                for chunk in chunks {
                    let chunk = chunk?;
                    for &document in &chunk.digests {
                        if let Some(digest) = &mut digest {
                            digest.push(document);
                        }
                    }
                    merger.merge(chunk)?;
                }
                if let Some(spool) = &mut merger.spool {
                    spool.flush()?;
                }
                if let Some(slices) = &mut slices
                    && slices.is_full(&merger.corpus)
                {
                    slices.end(std::mem::take(&mut merger.corpus))?;
                }
                budget.check(memory::tables_of(&merger.corpus))?;
                merger.counts.input_bytes += input_bytes;
                progress.advance(input_bytes);
            }
            let (Some(batch), Some(bytes)) = (batch, bytes) else {
                break;
            };
            begun_bytes += bytes;
            let analysis = ChunkAnalysis {
                options,
                digest: reading.digest,
                reject_check: reading.reject_check,
                sources,
                hasher,
                cache: &cache,
                batch: number,
                longest: budget.longest_record(memory::tables_of(&merger.corpus)),
            };
            let analyzers = &analyzers;
            let analyse = move |chunk: Chunk| {
                let mut analyzer = analyzers.get().map_or_else(|| options.analyzer(), Ok)?;
                let analysed = analysis.analyse(&chunk, sources.options(), &mut analyzer);
                analyzers.put(analyzer);
                Ok::<_, DedupError>(analysed)
            };
            let input_bytes = batch.input_bytes();
            in_work.push(
                BatchInWork::begin(batch.chunks, scope, analyse),
                bytes,
                input_bytes,
            );
        }
        Ok::<_, DedupError>(())
    })?;
    let Merger {
        mut corpus,
        mut counts,
        spool,
        ..
    } = merger;
    counts.intake = sources.intake_so_far();
    match slices {
        Some(slices) if corpus.documents.records() > 0 => slices.end(std::mem::take(&mut corpus))?,
        _ => corpus.classes.seal(),
    }
    let spool = spool.map(SpoolWriter::finish).transpose()?;
    Ok(ReadOutcome {
        corpus,
        spool,
        counts,
        digest: digest.map(|digest| digest.finish()),
    })
}
