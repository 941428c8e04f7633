//! Texts that are known from before: an index of fingerprints or a store of documents is asked about every text of a run before the texts
//! are compared with one another. Known texts are removed, and take no part in the grouping.
//!
//! Answers do not depend on the run's threshold; [`KnownClasses::at_least`] applies it.

mod against;
pub(crate) mod append;
mod store;

use twinprint_io::runs::KnownDocument;

pub(crate) use against::Against;
pub use store::{
    Access, AddedRecords, DocumentStore, DocumentStores, KeptRecords, NoStores, Objection, OfferedDocument,
    StoreFailure, TextAnswer,
};

use crate::corpus::{Corpus, Names};

/// What a text duplicates.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Known {
    /// The id of the document that is known.
    pub(crate) id: String,
    /// Bits in which the fingerprints differ.
    pub(crate) hamming: u32,
    /// Exact, where it was verified.
    pub(crate) jaccard: Option<f64>,
    /// True if the store holds the same text now; always false for stored answers.
    pub(crate) equal: bool,
}

/// The answers for all classes of a run, in order: one entry each, or no entries if nothing was asked.
#[derive(Debug, Default)]
pub(crate) struct KnownClasses(Vec<Option<Box<Known>>>);

impl Known {
    /// A document of a store, by a stored answer.
    pub(crate) fn of(document: KnownDocument) -> Self {
        let KnownDocument { id, hamming, jaccard } = document;
        Self {
            id,
            hamming,
            jaccard,
            equal: false,
        }
    }
}

impl KnownClasses {
    /// Answers for `classes` classes, of which `known` are given.
    pub(crate) fn of_some(classes: u32, known: impl Iterator<Item = (u32, Known)>) -> Self {
        let mut all: Vec<Option<Box<Known>>> = vec![None; classes as usize];
        for (class, known) in known {
            if let Some(place) = all.get_mut(class as usize) {
                *place = Some(Box::new(known));
            }
        }
        Self(all)
    }

    /// The classes that are known.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Known)> {
        let all = (0u32..).zip(&self.0);
        all.filter_map(|(class, known)| Some((class, known.as_deref()?)))
    }

    /// Takes a class for one that nothing is known of.
    pub(crate) fn forget(&mut self, class: u32) {
        if let Some(known) = self.0.get_mut(class as usize) {
            *known = None;
        }
    }

    /// Without those whose Jaccard is below a threshold.
    pub(crate) fn at_least(mut self, threshold: f64) -> Self {
        for known in &mut self.0 {
            known.take_if(|known| known.jaccard.is_some_and(|jaccard| jaccard < threshold));
        }
        self
    }

    /// Whether nothing was asked.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of known classes.
    pub(crate) fn count(&self) -> u64 {
        self.0.iter().flatten().count() as u64
    }

    /// What a class duplicates.
    pub(crate) fn of(&self, class: u32) -> Option<&Known> {
        self.0.get(class as usize)?.as_deref()
    }

    /// Whether all that is known was verified.
    #[cfg(feature = "tables")]
    pub(crate) fn verified(&self) -> bool {
        self.0.iter().flatten().all(|known| known.jaccard.is_some())
    }
}

/// An input whose texts are checked.
pub(crate) struct AskedInput<'a> {
    pub(crate) digest: u128,
    pub(crate) corpus: &'a Corpus,
    pub(crate) names: Names<'a>,
}
