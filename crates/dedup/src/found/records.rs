//! The decision on every record of a search, in input order.

use super::Found;
use crate::ids::{DocumentId, Id, IdVec, ItemId};
use crate::known::KnownClasses;
use crate::write::FinishedRun;

/// The decision on a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The document is kept.
    Kept,
    /// The document is removed as a duplicate of a kept document.
    Removed,
    /// The document is removed as a duplicate of a document that was known before.
    Known,
    /// The document is removed because its text has no features.
    Empty,
    /// The record is no document.
    Rejected,
}

/// A record of a search, with the decision on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FoundRecord<'f> {
    /// The decision.
    pub fate: Fate,
    /// The document's results; `None` for a rejected record.
    pub document: Option<FoundDocument<'f>>,
}

/// The results of a document.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FoundDocument<'f> {
    /// The number of the document, from 0.
    pub number: u32,
    /// The position among all records of the document that leads the group of this document.
    pub leader: u64,
    /// The number of documents in the group.
    pub cluster_size: u32,
    /// The Hamming distance to the document that this document duplicates.
    pub hamming: u32,
    /// The Jaccard with the document that this document duplicates; NaN without verification.
    pub jaccard: f64,
    /// The fingerprint, in the low bits at the width of the search.
    pub fingerprint: u128,
    /// The position among all records of the document that stands for all documents of equal text. A text without
    /// features stands for itself.
    pub first: u64,
    /// The place in keep order of the documents of equal text, from 0. `None` for a text without features, which has no
    /// duplicates.
    pub rank: Option<u32>,
    /// The id of the known document that this document duplicates.
    pub known: Option<&'f str>,
}

/// The tables that several records need.
struct Columns<'f> {
    run: FinishedRun<'f>,
    sizes: IdVec<ItemId, u32>,
    /// The position of each document among all records.
    ordinals: Vec<u64>,
}

impl Found {
    /// The records in input order, with the decision on each. O(documents) before the first record.
    pub fn records(&self) -> impl Iterator<Item = FoundRecord<'_>> {
        let run = self.tables.finished(self.input());
        let documents = &self.tables.corpus.documents;
        let columns = Columns {
            sizes: run.sizes(),
            ordinals: documents.record_ordinals().collect(),
            run,
        };
        (0..documents.records()).map(move |ordinal| columns.record(ordinal))
    }
}

impl Found {
    /// The position of each document among all records, by the number of the document.
    pub fn positions(&self) -> Vec<u64> {
        self.tables.corpus.documents.record_ordinals().collect()
    }
}

impl<'f> Columns<'f> {
    fn record(&self, ordinal: u64) -> FoundRecord<'f> {
        let documents = &self.run.corpus.documents;
        let Some(document) = documents.of_record(ordinal) else {
            return FoundRecord {
                fate: Fate::Rejected,
                document: None,
            };
        };
        let verdict = self.run.verdict(document);
        let fate = if verdict.kept() {
            Fate::Kept
        } else if verdict.empty {
            Fate::Empty
        } else if verdict.known.is_some() {
            Fate::Known
        } else {
            Fate::Removed
        };
        let class = documents.class[document];
        let has_features = !self.run.corpus.classes.is_empty_text(class);
        let known: &'f KnownClasses = self.run.known;
        let width_mask = u128::MAX >> (128 - self.run.radius.bits);
        let document = FoundDocument {
            number: document.get(),
            leader: self.ordinal(verdict.leader),
            cluster_size: self.sizes[verdict.leader_item],
            hamming: verdict.hamming(),
            jaccard: verdict.similarity(),
            fingerprint: self.run.corpus.classes.fingerprint[class] & width_mask,
            first: self.ordinal(if has_features {
                self.run.keep.representative[verdict.item]
            } else {
                document
            }),
            rank: has_features.then(|| self.run.keep.rank[verdict.item]),
            known: known.of(class).map(|known| known.id.as_str()),
        };
        FoundRecord {
            fate,
            document: Some(document),
        }
    }

    fn ordinal(&self, document: DocumentId) -> u64 {
        self.ordinals[document.index()]
    }
}
