//! The first stage: from records to classes with fingerprints, texts in the spool.
//!
//! A batch of input is analysed in parallel and merged in input order, so that numbering does not depend on threads.

mod known_texts;

use std::path::Path;

use rayon::prelude::*;
use twinprint_text::{Analysis, Analyzer, KeyedHasher, Measure};

use crate::corpus::keep_order::sort_key;
use crate::corpus::{ClassKey, Corpus, NewClass, NewDocument, SortKey};
use crate::error::DedupError;
use crate::known::{OfferedDocument, RejectCheck};
use crate::memory::{self, Budget};
use crate::options::{DedupOptions, EmptyTexts};
use known_texts::KnownTexts;
use twinprint_io::object_pool::ObjectPool;
use twinprint_io::progress::Progress;
use twinprint_io::runs::{DigestKey, InputDigest};
use twinprint_io::sink::OutputFile;
use twinprint_io::source::{
    Chunk, Intake, IntegerType, RecordKind, RejectReason, SourceError, SourceOptions, Sources,
};
use twinprint_io::work::{Spool, SpoolWriter, TextRef};

/// Bytes of input analysed at a time.
const BATCH: usize = 16 << 20;
/// The least worth handing to another thread.
const PIECE: usize = 256 << 10;

/// What reading leaves.
pub(crate) struct Read {
    pub(crate) corpus: Corpus,
    /// Absent when nothing will be verified.
    pub(crate) spool: Option<Spool>,
    pub(crate) counts: Counts,
    /// Made under [`Reading::digest`].
    pub(crate) digest: Option<u128>,
}

/// The options, limits and paths for reading.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'r> {
    pub(crate) options: &'r DedupOptions,
    /// The path of the spool of texts.
    pub(crate) spool: &'r Path,
    pub(crate) budget: Budget,
    /// The largest number of bytes of records to read, approximately.
    pub(crate) max_record_bytes: u64,
    /// The key of a digest of the documents, where one is wanted.
    pub(crate) digest: Option<DigestKey>,
    /// The check of the store that the run adds to, if there is one.
    pub(crate) reject_check: Option<&'r RejectCheck<'r>>,
}

/// What was read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    /// Bytes of input, packed where it is packed.
    pub(crate) input_bytes: u64,
    /// Bytes of records, unpacked.
    pub(crate) record_bytes: u64,
    /// Bytes of text.
    pub(crate) text_bytes: u64,
    /// Bytes of the longest record or text.
    pub(crate) longest: u64,
    pub(crate) blank_lines: u64,
    /// Records that are no documents by their kind, by kind.
    pub(crate) other_records: std::collections::BTreeMap<&'static str, u64>,
    /// The account of the records taken and not taken.
    pub(crate) intake: Intake,
}

impl Counts {
    /// Adds what was read elsewhere.
    pub(crate) fn add(&mut self, other: Self) {
        self.input_bytes += other.input_bytes;
        self.record_bytes += other.record_bytes;
        self.text_bytes += other.text_bytes;
        self.longest = self.longest.max(other.longest);
        self.blank_lines += other.blank_lines;
        self.intake.add(other.intake);
    }
}

/// One analysed chunk: rows in order over one text.
#[derive(Default)]
struct Analysed {
    rows: Vec<Row>,
    texts: String,
    ids: String,
    /// That of the column of ids, where it has whole numbers.
    id_type: Option<IntegerType>,
    /// Hashes of all documents, where a digest is wanted.
    digests: Vec<u128>,
    record_bytes: u64,
    text_bytes: u64,
    longest: u64,
    blank_lines: u64,
    other_records: std::collections::BTreeMap<&'static str, u64>,
}

enum Row {
    Document(DocumentRow),
    Reject {
        source: u32,
        line: u64,
        reason: RejectReason,
    },
}

struct DocumentRow {
    source: u32,
    line: u64,
    id_len: usize,
    key: ClassKey,
    /// Nothing where the class is known to be there.
    first: Option<First>,
    sort: SortKey,
}

/// What the first document of a class brings.
struct First {
    text_len: usize,
    fingerprint: u128,
    features: u32,
    shingles: u32,
    measure: Measure,
}

/// Reads everything, or as much as asked for. Rejected records go to `rejects` as they are met.
pub(crate) fn read(
    sources: &Sources,
    reading: Reading<'_>,
    rejects: &mut OutputFile,
    progress: &dyn Progress,
) -> Result<Read, DedupError> {
    let Reading {
        options,
        budget,
        max_record_bytes,
        ..
    } = reading;
    let idle = ObjectPool::new();
    let hasher = random_hasher();
    let known = KnownTexts::new();
    let mut corpus = Corpus::default();
    let mut counts = Counts::default();
    let mut spool = if options.verify {
        Some(SpoolWriter::create(reading.spool)?)
    } else {
        None
    };
    let mut digest = reading.digest.map(InputDigest::new);
    // While one batch is analysed, the one before it is merged and its texts are packed.
    let mut before: Vec<Analysed> = Vec::new();
    let batch_bytes = usize::try_from(max_record_bytes / 2)
        .unwrap_or(BATCH)
        .clamp(PIECE, BATCH);
    let mut batches = sources.read(batch_bytes);
    for number in 1.. {
        let batch = if counts.record_bytes < max_record_bytes {
            batches.next().transpose()?
        } else {
            None
        };
        let longest = budget.longest_record(memory::tables_of(&corpus));
        let (analysed, merged) = rayon::join(
            || {
                let chunks = batch.as_ref().map_or(&[][..], |batch| &batch.chunks);
                let texts = Texts {
                    options,
                    digest: reading.digest,
                    reject_check: reading.reject_check,
                    sources,
                    hasher,
                    known: &known,
                    batch: number,
                    longest,
                };
                let analyse_one = |chunk| {
                    let mut analyzer = idle.get().map_or_else(|| options.analyzer(), Ok)?;
                    let analysed = texts.analyse(chunk, sources.options(), &mut analyzer);
                    idle.put(analyzer);
                    Ok(analysed)
                };
                chunks
                    .par_iter()
                    .map(analyse_one)
                    .collect::<Result<Vec<Analysed>, DedupError>>()
            },
            || {
                for chunk in std::mem::take(&mut before) {
                    for &document in &chunk.digests {
                        if let Some(digest) = &mut digest {
                            digest.push(document);
                        }
                    }
                    merge(
                        chunk,
                        sources,
                        &mut corpus,
                        &mut counts,
                        spool.as_mut(),
                        (rejects, budget),
                    )?;
                }
                Ok::<_, DedupError>(spool.as_mut().map_or(Ok(()), SpoolWriter::flush)?)
            },
        );
        merged?;
        budget.check(memory::tables_of(&corpus))?;
        before = analysed?;
        let Some(batch) = batch else { break };
        counts.input_bytes += batch.input_bytes();
        progress.advance(batch.input_bytes());
    }
    counts.intake = sources.intake_so_far();
    corpus.classes.seal();
    let spool = spool.map(SpoolWriter::finish).transpose()?;
    Ok(Read {
        corpus,
        spool,
        counts,
        digest: digest.map(|digest| digest.finish()),
    })
}

/// A hasher under a key that is different in every run; the key decides nothing that is written.
fn random_hasher() -> KeyedHasher {
    use std::hash::{BuildHasher, RandomState};
    KeyedHasher::new(RandomState::new().hash_one(0), RandomState::new().hash_one(1))
}

/// The key of a text; texts of different domains never have one key.
fn class_key(hasher: KeyedHasher, text: &str, domain: u8) -> ClassKey {
    let hash = hasher.hash(text.as_bytes(), domain);
    [hash as u64, (hash >> 64) as u64]
}

/// What texts are analysed by.
struct Texts<'t> {
    options: &'t DedupOptions,
    /// See [`Reading::digest`].
    digest: Option<DigestKey>,
    /// See [`Reading::reject_check`].
    reject_check: Option<&'t RejectCheck<'t>>,
    sources: &'t Sources,
    hasher: KeyedHasher,
    known: &'t KnownTexts,
    /// The number of the batch at hand.
    batch: u32,
    /// Bytes of the longest record that there is memory for.
    longest: u64,
}

impl Texts<'_> {
    fn analyse(&self, chunk: &Chunk, source_options: &SourceOptions, analyzer: &mut Analyzer) -> Analysed {
        let mut out = Analysed {
            rows: Vec::with_capacity(chunk.records() as usize),
            id_type: chunk.id_type(source_options),
            ..Analysed::default()
        };
        chunk.documents(source_options, &mut |record| match record.kind {
            RecordKind::Blank => out.blank_lines += 1,
            RecordKind::Other { kind } => *out.other_records.entry(kind).or_default() += 1,
            RecordKind::Rejected { reason } => {
                out.record_bytes += record.raw_len;
                out.rows.push(Row::Reject {
                    source: record.source,
                    line: record.line,
                    reason,
                });
            }
            RecordKind::Document { id, text, sort_value } => {
                // Documents that the options reject count as well: options are no part of a digest.
                let digest = |key| InputDigest::document(key, id.as_deref().unwrap_or_default(), &text);
                out.digests.extend(self.digest.map(digest));
                let length = record.raw_len.max(text.len() as u64);
                out.longest = out.longest.max(length);
                if length > self.longest {
                    out.rows.push(Row::Reject {
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
                let reject = |out: &mut Analysed, reason| {
                    let (source, line) = (record.source, record.line);
                    chunk.refuse(source, line, &reason);
                    out.rows.push(Row::Reject { source, line, reason });
                };
                // Before its text is noted as known: a text that is known has a document.
                if let Some(reason) = self.refused(record.source, id.as_deref(), &text) {
                    return reject(&mut out, reason);
                }
                let (key, first) = self.class(&text, analyzer, &mut out.texts);
                if key == self.empty_text() && self.options.empty == EmptyTexts::Reject {
                    return reject(&mut out, RejectReason::EmptyText);
                }
                let id = id.unwrap_or_default();
                out.ids.push_str(&id);
                out.rows.push(Row::Document(DocumentRow {
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

    /// The objection of the store that the run adds to, if it has one.
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

    /// The class of a text, and what it brings if it is the first there. Its canonical text goes to `texts` if it may be asked for.
    fn class(&self, text: &str, analyzer: &mut Analyzer, texts: &mut String) -> (ClassKey, Option<First>) {
        let hash = class_key(self.hasher, text, 2);
        if let Some(class) = self.known.class(hash, self.batch) {
            return (class, None);
        }
        let options = self.options;
        let analysis = analyzer.analyze(text);
        let class = if analysis.is_empty() {
            self.empty_text()
        } else if options.verify {
            class_key(self.hasher, analysis.canonical, 1)
        } else {
            // Without verification the fingerprint is all that counts.
            let width = options.width_without_verification();
            let low = analysis.fingerprint & (u128::MAX >> (128 - width));
            [low as u64, (low >> 64) as u64]
        };
        self.known.keep(hash, class, self.batch);
        let kept = if options.verify && !analysis.is_empty() {
            analysis.canonical
        } else {
            ""
        };
        texts.push_str(kept);
        let first = First {
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

    /// The class of the texts without features.
    fn empty_text(&self) -> ClassKey {
        class_key(self.hasher, "", 0)
    }
}

fn merge(
    chunk: Analysed,
    sources: &Sources,
    corpus: &mut Corpus,
    counts: &mut Counts,
    mut spool: Option<&mut SpoolWriter>,
    (rejects, budget): (&mut OutputFile, Budget),
) -> Result<(), DedupError> {
    counts.longest = counts.longest.max(chunk.longest);
    counts.record_bytes += chunk.record_bytes;
    counts.text_bytes += chunk.text_bytes;
    counts.blank_lines += chunk.blank_lines;
    for (kind, n) in &chunk.other_records {
        *counts.other_records.entry(kind).or_default() += n;
    }
    let (mut texts, mut ids) = (chunk.texts.as_str(), chunk.ids.as_str());
    for row in chunk.rows {
        match row {
            Row::Reject { source, line, reason } => {
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
                twinprint_io::rows::write_reject(rejects, label, line, &reason)?;
            }
            Row::Document(row) => {
                let (text, rest) = texts.split_at(row.first.as_ref().map_or(0, |first| first.text_len));
                let (id, rest_ids) = ids.split_at(row.id_len);
                (texts, ids) = (rest, rest_ids);
                let class = corpus.classes.join(row.key).or_else(|| {
                    let first = row.first?;
                    let text = spool.as_mut().map_or(TextRef::NOWHERE, |spool| spool.push(text));
                    let class = NewClass {
                        fingerprint: first.fingerprint,
                        features: first.features,
                        shingles: first.shingles,
                        measure: first.measure,
                        text,
                    };
                    Some(corpus.classes.add(row.key, class))
                });
                let class = class.expect("a text known from a batch before was the first of its class there");
                let id = (!id.is_empty()).then_some(id);
                let document = NewDocument {
                    source: row.source,
                    line: row.line,
                    id,
                    id_type: chunk.id_type,
                    sort: row.sort,
                };
                corpus.documents.push(class, document)?;
            }
        }
    }
    Ok(())
}
