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
mod depth;
mod holders;
mod ids;
mod numbers;
mod pairs;
mod places;
mod postings;
mod rows;
mod shared;
mod shares;
mod texts;

use std::ops::Range;
use std::path::Path;

use self::candidates::Candidates;
use self::numbers::NumberWriter;
use self::places::PlaceRequests;
use self::postings::Postings;
use self::rows::FoundParts;
use self::texts::Texts;
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
const MIN_SHARED: u32 = PartsReport::LEAST_SHARED;
/// The largest number of passages or places that one row lists; the longest are listed.
const MAX_PLACES: usize = 8;
/// The minimum number of texts per parallel task. Neighbouring texts are in one compressed block of the spool, which a
/// task decompresses once for all of them.
const MIN_TEXTS_PER_TASK: usize = 16;

/// A check that is called for every text. It returns an error, which ends the search, once the run is cancelled.
type CheckCancelled<'g> = &'g (dyn Fn() -> Result<(), DedupError> + Sync);

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
        let texts = Texts::new(&self.corpus.classes, self.spool, self.keep);
        let key = shingle_sets::key_of(&self.corpus.classes);
        let check_memory = |bytes| self.budget.check(self.table_bytes + bytes);
        let postings = Postings::of(
            &texts,
            key,
            PartsReport::MAX_PAIRED_TEXTS,
            &check_memory,
            check_cancelled,
        )?;
        let passages = shared::find(&texts, &postings, key, least, work, check_cancelled)?;
        let mut pairs = NumberWriter::create(work)?;
        let candidates = Candidates::new(&postings, &passages.covered, least);
        let candidates = pairs::find(&texts, &candidates, key, least, &mut pairs, check_cancelled)?;
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
        let mut found = FoundParts {
            pairs: pairs.finish()?,
            passages: passages.found,
        };
        let mut requests = PlaceRequests::new(work);
        found.request(&texts, &mut requests)?;
        let places = requests.find(work, self.names.sources, &self.corpus.documents)?;
        found.write(dir, &texts, &self.names, places, &mut report)?;
        Ok(report)
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
