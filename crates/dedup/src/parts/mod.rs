//! Partial copies, for [`DedupOptions::parts`](crate::DedupOptions::parts): texts of which one contains a share of another.
//!
//! Winnowing (Schleimer, Wilkerson and Aiken 2003) selects rolling fingerprints of every text
//! ([`twinprint_text::passages`]). Texts that share enough fingerprints are candidates. The containment of a candidate
//! pair is measured exactly on the shingle sets: the shared shingles over those of the smaller text. So a copied
//! passage is found even between texts whose SimHash fingerprints are unrelated.
//!
//! A fingerprint that more than [`PartsReport::MAX_PAIRED_TEXTS`] texts have makes no pairs, since the number of pairs
//! would be quadratic. Instead, the passages around such fingerprints are reported with all their holders ([`shared`]),
//! if a passage makes up the wanted share of one of its holders ([`shares`]). Two texts that share nothing but such a
//! passage are not listed as a pair.
//!
//! One text stands for all equal texts. The search takes about 32 bytes of memory per fingerprint (one for every six
//! words or twelve letters), 128 bytes per text while the stage runs, and a few bytes for each byte of the longest
//! record (`memory::PARTS_BYTES_PER_RECORD_BYTE`). The rows of the result, and the passages that holders share with a
//! reference, are in temporary files. At the end, the passages in the rows are located in the original texts
//! ([`places`]).

mod candidates;
mod compared;
mod corpus_texts;
mod covered;
mod depth;
mod holders;
mod ids;
mod index;
mod numbers;
mod pairs;
mod places;
mod postings;
mod rows;
mod shared;
mod shares;
mod texts;
mod winnow;

use std::ops::Range;
use std::path::Path;

pub(crate) use self::candidates::Candidates;
use self::corpus_texts::CorpusTexts;
pub(crate) use self::covered::Covered;
use self::holders::FoundPassages;
pub(crate) use self::holders::Holder;
pub(crate) use self::ids::{FingerprintId, TextId};
pub(crate) use self::index::{FingerprintIndex, TextFingerprint};
pub(crate) use self::numbers::SortSpace;
use self::numbers::{MAX_SORT_BYTES, NumberReader, NumberWriter};
pub(crate) use self::pairs::{TextPair, find as find_pairs};
pub(crate) use self::postings::{FINGERPRINT_BYTES, Occurrence, Postings, TEXT_BYTES};
pub(crate) use self::rows::{FoundParts, RowInput, TextDocument, TextDocuments};
pub(crate) use self::shared::{PassageInput, find as find_passages};
pub(crate) use self::texts::{TextPlace, TextPlaces, Texts};
pub(crate) use self::winnow::fingerprints;
use crate::corpus::Corpus;
use crate::corpus::Names;
use crate::corpus::keep_order::KeepOrder;
use crate::corpus::shingle_sets;
use crate::error::DedupError;
use crate::memory::Budget;
use twinprint_io::results::PartsReport;
use twinprint_io::sink::OutputDir;
use twinprint_io::work::Spool;

/// The minimum number of fingerprints that two texts must share to be compared.
pub(crate) const MIN_SHARED: u32 = PartsReport::LEAST_SHARED;
/// The largest number of passages or places that one row lists; the longest are listed.
const MAX_PLACES: usize = 8;
/// The minimum number of texts per parallel task. Neighbouring short texts are in one block of the spool, which a
/// task reads once for all of them.
const MIN_TEXTS_PER_TASK: usize = 16;

/// A check that is called for every text. It returns an error, which ends the search, once the run is cancelled.
pub(crate) type CheckCancelled<'g> = &'g (dyn Fn() -> Result<(), DedupError> + Sync);

/// The arguments of the search for partial copies.
pub(crate) struct PartsSearch<'s> {
    pub(crate) corpus: &'s Corpus,
    pub(crate) spool: &'s Spool,
    pub(crate) keep: &'s KeepOrder,
    pub(crate) names: Names<'s>,
    /// The minimum containment of a reported pair.
    pub(crate) least: f64,
    pub(crate) budget: Budget,
    /// The bytes of the run's other tables, which stay in memory during the search.
    pub(crate) table_bytes: u64,
    /// The directory for temporary files.
    pub(crate) work: &'s Path,
    pub(crate) check_cancelled: CheckCancelled<'s>,
}

impl PartsSearch<'_> {
    /// Runs the search and writes its result: `parts.jsonl`, in input order, and `passages.jsonl`.
    pub(crate) fn write(&self, dir: &OutputDir) -> Result<PartsReport, DedupError> {
        let Self {
            least,
            work,
            check_cancelled,
            ..
        } = *self;
        let places = CorpusTexts::new(&self.corpus.classes, self.keep);
        let texts = Texts::new(&places, self.spool);
        let key = shingle_sets::key_of(&self.corpus.classes);
        let check_memory = |bytes| self.budget.check(self.table_bytes + bytes);
        let postings = Postings::of(
            &texts,
            key,
            PartsReport::MAX_PAIRED_TEXTS,
            &check_memory,
            check_cancelled,
        )?;
        let work = SortSpace::new(work, MAX_SORT_BYTES);
        let input = PassageInput {
            texts: &texts,
            index: &postings,
            key,
            work,
            check_cancelled,
        };
        let references = postings.references(MIN_SHARED).into_iter().map(Ok);
        let passages = find_passages(input, least, references)?;
        let mut pairs = NumberWriter::create(work.dir)?;
        let candidates = Candidates::new(&postings, &passages.covered, least);
        let push = |pair: TextPair| pair.write(&mut pairs);
        let candidates = find_pairs(&texts, &candidates, key, least, push, check_cancelled)?;
        let mut report = PartsReport {
            least,
            fingerprints: postings.picked,
            common: postings.common(),
            candidates,
            small_passages: passages.found.unreported(),
            phrases: passages.left.phrases,
            limited: passages.left.limited,
            ..PartsReport::default()
        };
        drop(postings);
        let mut found = TemporaryParts {
            pairs: pairs.finish()?,
            passages: passages.found,
        };
        let input = RowInput {
            documents: &places,
            names: &self.names,
            sources: self.names.sources,
            records: self.corpus.documents.record_order(),
            work,
        };
        input.write(dir, &mut found, &mut report)?;
        Ok(report)
    }
}

/// The pairs and passages that were found, in temporary files.
struct TemporaryParts {
    pairs: NumberReader,
    passages: FoundPassages,
}

impl FoundParts for TemporaryParts {
    fn each_pair(
        &mut self,
        f: &mut dyn FnMut(&TextPair) -> Result<(), DedupError>,
    ) -> Result<(), DedupError> {
        self.pairs.rewind()?;
        while let Some(pair) = TextPair::read(&mut self.pairs)? {
            f(&pair)?;
        }
        Ok(())
    }

    fn each_holder(
        &mut self,
        f: &mut dyn FnMut(u64, Holder) -> Result<(), DedupError>,
    ) -> Result<(), DedupError> {
        self.passages.each(f)
    }
}

/// Returns the longest passages, at most [`MAX_PLACES`], in the order of the text.
fn longest<T>(mut passages: Vec<T>, place: impl Fn(&T) -> &Range<u64>) -> Vec<T> {
    let length = |place: &Range<u64>| place.end - place.start;
    passages.sort_by_key(|passage| std::cmp::Reverse(length(place(passage))));
    passages.truncate(MAX_PLACES);
    passages.sort_by_key(|passage| place(passage).start);
    passages
}

#[cfg(test)]
mod tests;
