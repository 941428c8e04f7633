//! The merge of analysed chunks into the tables of documents and classes, in input order.

use super::ReadCounts;
use super::analysis::{AnalysedChunk, AnalysedRecord};
use super::rejects::Rejects;
use crate::corpus::{Corpus, NewDocument, TextValues};
use crate::error::DedupError;
use crate::memory::{self, Budget};
use twinprint_io::source::{RejectReason, SourceError, Sources};
use twinprint_io::work::{SpoolWriter, TextRef};

/// Merges chunks into the tables of documents and classes, and into the spool.
pub(super) struct Merger<'m> {
    pub(super) sources: &'m Sources,
    pub(super) corpus: Corpus,
    pub(super) counts: ReadCounts,
    /// The spool of texts; `None` in a run without verification.
    pub(super) spool: Option<SpoolWriter>,
    pub(super) rejects: &'m mut Rejects,
    pub(super) budget: Budget,
    /// True if the tables are taken slice by slice, so that a class may have been added to an earlier one only.
    pub(super) in_slices: bool,
}

impl Merger<'_> {
    /// Merges one chunk. The caller merges chunks in input order.
    ///
    /// # Errors
    /// The run is cancelled, a record is too long for the memory limit, or a temporary or output file cannot be
    /// written.
    pub(super) fn merge(&mut self, chunk: AnalysedChunk) -> Result<(), DedupError> {
        let Self {
            sources,
            corpus,
            counts,
            spool,
            rejects,
            budget,
            in_slices,
        } = self;
        counts.longest = counts.longest.max(chunk.longest);
        counts.record_bytes += chunk.record_bytes;
        counts.text_bytes += chunk.text_bytes;
        counts.blank_lines += chunk.blank_lines;
        for (kind, n) in &chunk.other_records {
            *counts.other_records.entry(kind).or_default() += n;
        }
        let mut texts = spool.as_mut().map(|spool| spool.add(chunk.texts));
        let mut ids = chunk.ids.as_str();
        for record in chunk.records {
            match record {
                AnalysedRecord::Reject { source, line, reason } => {
                    if sources.cancelled() {
                        return Err(SourceError::Cancelled.into());
                    }
                    corpus.documents.reject();
                    let label = &sources.file(source).label;
                    if let RejectReason::BeyondMemory { bytes, limit } = reason {
                        let needed = budget.refusal(bytes.unwrap_or(limit), memory::tables_of(corpus));
                        return Err(DedupError::LongRecord {
                            label: label.clone(),
                            line,
                            source: Box::new(needed),
                        });
                    }
                    rejects.push(label, line, &reason)?;
                }
                AnalysedRecord::Document(document) => {
                    let (id, rest_ids) = ids.split_at(document.id_len);
                    ids = rest_ids;
                    let class = match (corpus.classes.join(document.key), document.first) {
                        (None, Some(first)) => {
                            let text = match &mut texts {
                                Some(texts) => texts.keep(first.text_len)?,
                                None => TextRef::NOWHERE,
                            };
                            let text = TextValues {
                                text,
                                features: first.features,
                                shingles: first.shingles,
                                measure: first.measure,
                            };
                            Some(corpus.classes.add(document.key, first.fingerprint, text))
                        }
                        (class, first) => {
                            if let (Some(texts), Some(first)) = (&mut texts, first) {
                                texts.skip(first.text_len);
                            }
                            class
                        }
                    };
                    let class =
                        class.or_else(|| in_slices.then(|| corpus.classes.add_unanalysed(document.key)));
                    let class = class.expect(
                        "a text that the cache has from an earlier batch was the first of its class there",
                    );
                    let id = (!id.is_empty()).then_some(id);
                    let document = NewDocument {
                        source: document.source,
                        line: document.line,
                        id,
                        id_type: chunk.id_type,
                        sort: document.sort,
                    };
                    corpus.documents.push(class, document)?;
                }
            }
        }
        Ok(())
    }
}
