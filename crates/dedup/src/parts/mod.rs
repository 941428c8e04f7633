//! Partial copies: texts of which one holds a share of another, whatever stands around it, for `--parts`.
//!
//! Rolling fingerprints are picked out of every text by its content ([`twinprint_text::passages`]), and texts that share enough of them are
//! candidates. What a pair of candidates shares is measured exactly on its shingle sets: containment is the shared shingles over those of
//! the smaller text. So a copied passage is found however little the whole texts are alike, where the fingerprint of a whole text is blind.
//!
//! Fingerprints that more than [`PartsReport::MAX_PAIRED_TEXTS`] texts have make no pairs, which would grow with the square of the texts. They make passages with
//! all their holders ([`shared`]). A passage is reported if it makes up the share asked for of one of its holders ([`shares`]). Two texts that share
//! nothing but such a passage are not listed as a pair.
//!
//! Of equal texts one stands for all. Memory: about 32 bytes a fingerprint, one for every six words or twelve letters, and 128 bytes a text
//! while the stage runs, and some for each byte of the longest record (`memory::PARTS_BYTES_PER_RECORD_BYTE`). Rows and what holders share with a reference wait in temporary files.
//! Rows are located in the original texts at the end ([`places`]).

mod candidates;
mod compared;
mod depth;
mod holders;
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
use self::places::Requests;
use self::postings::Postings;
use self::rows::Found;
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

/// Fingerprints that texts must have in common to be compared.
const MIN_SHARED: u32 = PartsReport::LEAST_SHARED;
/// Places of passages reported of a row, the longest ones.
const REPORTED: usize = 8;
/// Texts handed to one task at least: those of one block of the spool go together.
const MIN_TEXTS_PER_TASK: usize = 16;

/// Asked for every text: an error ends the search.
type CheckCancelled<'g> = &'g (dyn Fn() -> Result<(), DedupError> + Sync);

/// The input of the search.
pub(crate) struct Search<'s> {
    pub(crate) corpus: &'s Corpus,
    pub(crate) spool: &'s Spool,
    pub(crate) keep: &'s KeepOrder,
    pub(crate) names: Names<'s>,
    /// Least containment reported.
    pub(crate) least: f64,
    pub(crate) budget: Budget,
    /// Bytes of the tables that are held beside it.
    pub(crate) held: u64,
    /// Directory for temporary files.
    pub(crate) work: &'s Path,
    pub(crate) check_cancelled: CheckCancelled<'s>,
}

impl Search<'_> {
    /// Writes `parts.jsonl`, in input order, and `passages.jsonl`.
    pub(crate) fn write(&self, dir: &OutputDir) -> Result<PartsReport, DedupError> {
        let Self {
            least,
            work,
            check_cancelled,
            ..
        } = *self;
        let texts = Texts::new(&self.corpus.classes, self.spool, self.keep);
        let key = shingle_sets::key_of(&self.corpus.classes);
        let postings = Postings::of(
            &texts,
            key,
            PartsReport::MAX_PAIRED_TEXTS,
            (self.budget, self.held),
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
        let mut found = Found {
            pairs: pairs.finish()?,
            passages: passages.found,
        };
        let mut requests = Requests::new(work);
        found.request(&texts, &mut requests)?;
        let places = requests.find(work, self.names.sources, &self.corpus.documents)?;
        found.write(dir, &texts, &self.names, places, &mut report)?;
        Ok(report)
    }
}

/// The longest few places, in the order of the text.
fn longest<T>(mut passages: Vec<T>, place: impl Fn(&T) -> &Range<u64>) -> Vec<T> {
    let length = |place: &Range<u64>| place.end - place.start;
    passages.sort_by_key(|passage| std::cmp::Reverse(length(place(passage))));
    passages.truncate(REPORTED);
    passages.sort_by_key(|passage| place(passage).start);
    passages
}

#[cfg(test)]
mod tests;
