//! The analysis of a chunk of input: turns its records into documents with class keys, or into rejects.

use twinprint_text::{Analysis, Analyzer, Measure};

use super::text_cache::TextCache;
use crate::corpus::keep_order::sort_key;
use crate::corpus::{ClassHasher, ClassKey, SortKey};
use crate::known::{OfferedDocument, RejectCheck};
use crate::options::{DedupOptions, EmptyTexts};
use twinprint_io::runs::{DigestKey, InputDigest};
use twinprint_io::source::{Chunk, IntegerType, RecordKind, RejectReason, SourceOptions, Sources};

/// The records of a chunk after analysis, in order.
#[derive(Default)]
pub(super) struct AnalysedChunk {
    pub(super) records: Vec<AnalysedRecord>,
    /// The canonical texts of the new classes of the chunk, one after another.
    pub(super) texts: String,
    /// The ids of the chunk's documents, one after another.
    pub(super) ids: String,
    /// The integer type of the column of ids; `None` for any other column.
    pub(super) id_type: Option<IntegerType>,
    /// A hash of each document, for the digest of the input; empty if no digest is wanted.
    pub(super) digests: Vec<u128>,
    pub(super) record_bytes: u64,
    pub(super) text_bytes: u64,
    /// The length in bytes of the longest record or text of the chunk.
    pub(super) longest: u64,
    pub(super) blank_lines: u64,
    pub(super) other_records: std::collections::BTreeMap<&'static str, u64>,
}

/// A record of an analysed chunk: a document or a reject.
pub(super) enum AnalysedRecord {
    Document(AnalysedDocument),
    Reject {
        source: u32,
        line: u64,
        reason: RejectReason,
    },
}

/// A document of an analysed chunk.
pub(super) struct AnalysedDocument {
    pub(super) source: u32,
    pub(super) line: u64,
    pub(super) id_len: usize,
    pub(super) key: ClassKey,
    /// The analysis of the text; `None` if the cache already had the class of the text.
    pub(super) first: Option<NewText>,
    pub(super) sort: SortKey,
}

/// The analysis of a text that may be the first of its class.
pub(super) struct NewText {
    pub(super) text_len: usize,
    pub(super) fingerprint: u128,
    pub(super) features: u32,
    pub(super) shingles: u32,
    pub(super) measure: Measure,
}

/// Draws the key of a hasher.
pub(crate) fn random_key() -> [u64; 2] {
    use std::hash::{BuildHasher, RandomState};
    [0, 1].map(|half| RandomState::new().hash_one(half))
}

/// The context in which the chunks of one batch are analysed.
#[derive(Clone, Copy)]
pub(super) struct ChunkAnalysis<'t> {
    pub(super) options: &'t DedupOptions,
    /// See [`ReadOptions::digest`](super::ReadOptions::digest).
    pub(super) digest: Option<DigestKey>,
    /// See [`ReadOptions::reject_check`](super::ReadOptions::reject_check).
    pub(super) reject_check: Option<&'t RejectCheck<'t>>,
    pub(super) sources: &'t Sources,
    pub(super) hasher: ClassHasher,
    pub(super) cache: &'t TextCache,
    /// The number of the batch, from 1, by which the cache orders texts.
    pub(super) batch: u32,
    /// The length in bytes of the longest record that fits into memory.
    pub(super) longest: u64,
}

impl ChunkAnalysis<'_> {
    /// Analyses the records of a chunk, in order.
    pub(super) fn analyse(
        &self,
        chunk: &Chunk,
        source_options: &SourceOptions,
        analyzer: &mut Analyzer,
    ) -> AnalysedChunk {
        // A canonical text is seldom longer than its record.
        let text_bytes = if self.options.verify {
            chunk.record_bytes()
        } else {
            0
        };
        let mut out = AnalysedChunk {
            records: Vec::with_capacity(chunk.records() as usize),
            texts: String::with_capacity(text_bytes),
            id_type: chunk.id_type(source_options),
            ..AnalysedChunk::default()
        };
        chunk.documents(source_options, &mut |record| match record.kind {
            RecordKind::Blank => out.blank_lines += 1,
            RecordKind::Other { kind } => *out.other_records.entry(kind).or_default() += 1,
            RecordKind::Rejected { reason } => {
                out.record_bytes += record.raw_len;
                out.records.push(AnalysedRecord::Reject {
                    source: record.source,
                    line: record.line,
                    reason,
                });
            }
            RecordKind::Document { id, text, sort_value } => {
                // The digest includes documents that the options reject, so that it does not depend on the options.
                let digest = |key| InputDigest::document(key, id.as_deref().unwrap_or_default(), &text);
                out.digests.extend(self.digest.map(digest));
                let length = record.raw_len.max(text.len() as u64);
                out.longest = out.longest.max(length);
                if length > self.longest {
                    out.records.push(AnalysedRecord::Reject {
                        source: record.source,
                        line: record.line,
                        reason: RejectReason::BeyondMemory {
                            bytes: Some(length),
                            limit: self.longest,
                        },
                    });
                    return;
                }
                out.record_bytes += record.raw_len;
                out.text_bytes += text.len() as u64;
                let reject = |out: &mut AnalysedChunk, reason| {
                    let (source, line) = (record.source, record.line);
                    chunk.refuse(source, line, &reason);
                    out.records.push(AnalysedRecord::Reject { source, line, reason });
                };
                // The store's check comes before the text is cached, because every cached text must belong to a
                // document.
                if let Some(reason) = self.refused(record.source, id.as_deref(), &text) {
                    return reject(&mut out, reason);
                }
                let (key, first) = self.class(&text, analyzer, &mut out.texts);
                if key == self.hasher.without_features() && self.options.empty == EmptyTexts::Reject {
                    return reject(&mut out, RejectReason::EmptyText);
                }
                let id = id.unwrap_or_default();
                out.ids.push_str(&id);
                out.records.push(AnalysedRecord::Document(AnalysedDocument {
                    source: record.source,
                    line: record.line,
                    id_len: id.len(),
                    key,
                    first,
                    sort: sort_key(self.options.keep, text.len() as u64, sort_value),
                }));
            }
        });
        out
    }

    /// The reason why the store would refuse a document; `None` if the store would accept it, or if the run adds to no
    /// store.
    fn refused(&self, source: u32, id: Option<&str>, text: &str) -> Option<RejectReason> {
        let check = self.reject_check?;
        let file = self.sources.file(source);
        let label = file.format.is_whole_file().then_some(file.label.as_str());
        check(&OfferedDocument {
            id: id.or(label),
            text,
            only_with_features: self.options.empty != EmptyTexts::Keep,
        })
    }

    /// Returns the class of a text, and its analysis unless the cache has the class. Adds the canonical text to `texts`
    /// in a run with verification.
    fn class(&self, text: &str, analyzer: &mut Analyzer, texts: &mut String) -> (ClassKey, Option<NewText>) {
        let hash = self.cache.hash(text);
        if let Some(class) = self.cache.class(hash, self.batch) {
            return (class, None);
        }
        let options = self.options;
        let analysis = analyzer.analyze(text);
        let class = if analysis.is_empty() {
            self.hasher.without_features()
        } else if options.verify {
            self.hasher.of_text(analysis.canonical)
        } else {
            // Without verification, texts with equal fingerprints are duplicates, so they form one class.
            let width = options.width_without_verification();
            let low = analysis.fingerprint & (u128::MAX >> (128 - width));
            [low as u64, (low >> 64) as u64]
        };
        self.cache.insert(hash, class, self.batch);
        let kept = if options.verify && !analysis.is_empty() {
            analysis.canonical
        } else {
            ""
        };
        texts.push_str(kept);
        let first = NewText {
            text_len: kept.len(),
            fingerprint: analysis.fingerprint,
            features: analysis.features,
            shingles: if analysis.features < options.min_features {
                let kept = Analysis {
                    canonical: kept,
                    ..analysis
                };
                kept.max_shingles()
            } else {
                0
            },
            measure: analysis.measure,
        };
        (class, Some(first))
    }
}
