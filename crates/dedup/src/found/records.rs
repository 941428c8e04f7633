//! The decision on every record of a search, in input order.

use super::Found;
use crate::ids::{DocumentId, Id, IdVec, ItemId};
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

/// The tables that several documents need.
struct Columns<'f> {
    run: FinishedRun<'f>,
    sizes: IdVec<ItemId, u32>,
    /// The position of each document among all records.
    positions: Vec<u64>,
}

impl Found {
    /// The records in input order, with the decision on each. O(documents) before the first record.
    pub fn records(&self) -> impl ExactSizeIterator<Item = FoundRecord<'_>> {
        let run = self.tables.finished(self.input());
        let columns = Columns {
            sizes: run.sizes(),
            positions: self.positions(),
            run,
        };
        let documents = &self.tables.corpus.documents;
        let mut next = documents.document_ids().peekable();
        (0..documents.records() as usize).map(move |position| {
            let document = next.next_if(|&document| columns.position(document) == position as u64);
            document.map_or(FoundRecord::REJECTED, |document| columns.record(document))
        })
    }

    /// The position of each document among all records, by the number of the document.
    pub fn positions(&self) -> Vec<u64> {
        self.tables.corpus.documents.record_ordinals().collect()
    }
}

impl FoundRecord<'_> {
    const REJECTED: Self = Self {
        fate: Fate::Rejected,
        document: None,
    };
}

impl<'f> Columns<'f> {
    fn record(&self, document: DocumentId) -> FoundRecord<'f> {
        let tables = self.run.tables;
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
        let class = tables.corpus.documents.class[document];
        let has_features = !tables.corpus.classes.is_empty_text(class);
        let width_mask = u128::MAX >> (128 - tables.radius.bits);
        let document = FoundDocument {
            number: document.get(),
            leader: self.position(verdict.leader),
            cluster_size: self.sizes[verdict.leader_item],
            hamming: verdict.hamming(),
            jaccard: verdict.similarity(),
            fingerprint: tables.corpus.classes.fingerprint[class] & width_mask,
            first: self.position(if has_features {
                tables.keep.representative(verdict.item)
            } else {
                document
            }),
            rank: has_features.then(|| tables.keep.rank(verdict.item)),
            known: tables.known.of(class).map(|known| known.id.as_str()),
        };
        FoundRecord {
            fate,
            document: Some(document),
        }
    }

    fn position(&self, document: DocumentId) -> u64 {
        self.positions[document.index()]
    }
}
