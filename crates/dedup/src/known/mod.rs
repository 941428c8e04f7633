//! Known texts: duplicates of documents that an index of fingerprints or a store of documents already has.
//!
//! A run looks up all of its texts before it compares them with one another. Known texts are removed and take no part
//! in the grouping. The answers of an index or store do not depend on the threshold of the run;
//! `KnownClasses::at_least` removes those below it.

mod against;
pub(crate) mod append;
mod store;

use twinprint_io::runs::KnownDocument;
use twinprint_io::source::RejectReason;

pub(crate) use against::{Against, KnownStore, LookedUpTexts};
pub use store::{
    Access, AddedRecords, DocumentStore, DocumentStores, KeptRecords, NoStores, Objection, OfferedDocument,
    StoreFailure, TextAnswer,
};

use crate::corpus::{Corpus, Names};
use crate::ids::{ClassId, IdVec};

/// A check that returns the reason why a store would not accept a document; `None` if it would.
pub(crate) type RejectCheck<'r> = dyn Fn(&OfferedDocument<'_>) -> Option<RejectReason> + Sync + 'r;

/// The known document that a text duplicates.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KnownDuplicate {
    /// The id of the known document.
    pub(crate) id: String,
    /// The Hamming distance between the fingerprints of the text and of the known document.
    pub(crate) hamming: u32,
    /// The exact Jaccard of both texts; `None` if they were not verified.
    pub(crate) jaccard: Option<f64>,
    /// True if the known document has an equal text now; always false for an answer that was recorded in an earlier
    /// run.
    pub(crate) equal: bool,
}

/// For each class of a run, the known document that it duplicates, if any. Without entries if the run is compared with
/// nothing.
#[derive(Debug, Default)]
pub(crate) struct KnownClasses(IdVec<ClassId, Option<Box<KnownDuplicate>>>);

impl KnownDuplicate {
    /// Makes the answer for a text that duplicates `document`. `equal` is true if that document has an equal text now.
    pub(crate) fn new(document: KnownDocument, equal: bool) -> Self {
        let KnownDocument { id, hamming, jaccard } = document;
        Self {
            id,
            hamming,
            jaccard,
            equal,
        }
    }
}

impl KnownClasses {
    /// Makes the answers for `classes` classes. `known` lists the known classes; all others are new.
    pub(crate) fn of_some(classes: usize, known: impl Iterator<Item = (ClassId, KnownDuplicate)>) -> Self {
        let mut all: IdVec<ClassId, Option<Box<KnownDuplicate>>> = IdVec::filled(None, classes);
        for (class, known) in known {
            if let Some(entry) = all.get_mut(class) {
                *entry = Some(Box::new(known));
            }
        }
        Self(all)
    }

    /// The known classes with the documents that they duplicate.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (ClassId, &KnownDuplicate)> {
        let all = self.0.entries();
        all.filter_map(|(class, known)| Some((class, known.as_deref()?)))
    }

    /// Removes the answer for a class, so that the class counts as new.
    pub(crate) fn remove(&mut self, class: ClassId) {
        if let Some(known) = self.0.get_mut(class) {
            *known = None;
        }
    }

    /// Removes the answers whose Jaccard is below a threshold, so that their classes count as new.
    pub(crate) fn at_least(mut self, threshold: f64) -> Self {
        for known in self.0.iter_mut() {
            known.take_if(|known| known.jaccard.is_some_and(|jaccard| jaccard < threshold));
        }
        self
    }

    /// True if the run is compared with nothing, so that it has no answers.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of known classes.
    pub(crate) fn count(&self) -> u64 {
        self.0.iter().flatten().count() as u64
    }

    /// The known document that a class duplicates, if any.
    pub(crate) fn of(&self, class: ClassId) -> Option<&KnownDuplicate> {
        self.0.get(class)?.as_deref()
    }

    /// True if all known classes were verified on the texts.
    pub(crate) fn verified(&self) -> bool {
        self.0.iter().flatten().all(|known| known.jaccard.is_some())
    }
}

/// The input of a run that adds to a store.
pub(crate) struct AppendInput<'a> {
    /// The digest of all documents of the input.
    pub(crate) digest: u128,
    pub(crate) corpus: &'a Corpus,
    pub(crate) names: Names<'a>,
}
