//! The tables of the documents that a run has read.
//!
//! A **class** is all documents of equal canonical text (equal by a 128-bit keyed hash). Every stage after reading
//! works on classes, so a million equal pages cost as much as one. All texts without features share one class too, but
//! duplicate nothing ([`Classes::is_empty_text`]). Documents and classes are numbered in input order ([`DocumentId`],
//! [`ClassId`]).

mod class_hasher;
mod class_keys;
mod classes;
mod item_classes;
pub(crate) mod item_texts;
pub(crate) mod keep_order;
mod names;
mod record_order;
pub(crate) mod shingle_sets;

use std::cmp::Reverse;

use crate::error::DedupError;
use crate::ids::{ClassId, DocumentId, Id, IdVec, ids};
use crate::packed::PackedRows;
pub(crate) use class_hasher::ClassHasher;
pub(crate) use class_keys::ClassKey;
pub(crate) use classes::{Classes, TextValues, distance};
pub(crate) use item_classes::ItemClasses;
pub(crate) use names::{DocumentName, DocumentNames, Names, unnamed};
pub(crate) use record_order::RecordOrder;
use twinprint_io::source::{IntegerType, SortValue};

/// The columns of [`Documents::rows`]: the line or row of a document in its source, and the end of its id.
const LINE: usize = 0;
const ID_END: usize = 1;
const COLUMNS: usize = 2;

/// The documents and classes that a run has read.
#[derive(Default)]
pub(crate) struct Corpus {
    pub(crate) documents: Documents,
    pub(crate) classes: Classes,
}

/// The table of documents. A document takes about 5 bytes and its id.
#[derive(Default)]
pub(crate) struct Documents {
    /// The class of each document.
    pub(crate) class: IdVec<DocumentId, ClassId>,
    rows: PackedRows<DocumentId, COLUMNS>,
    /// The ids of all documents, one after another.
    ids: String,
    id_type: IdType,
    /// For each source that has documents, the first of them; ascending.
    sources: Vec<SourceStart>,
    /// For each rejected record, the document that follows it in the input; ascending.
    rejects: Vec<DocumentId>,
    /// The sort key of each document; empty if keep order is the order of the input.
    pub(crate) sort: IdVec<DocumentId, SortKey>,
}

/// The first document of a source.
#[derive(Clone, Copy)]
struct SourceStart {
    first: DocumentId,
    source: u32,
}

/// The common type of the ids of all documents added so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum IdType {
    /// No ids have been added yet.
    #[default]
    None,
    /// Every document has an id, and all ids are from columns of this type.
    Integer(IntegerType),
    /// Some document has no id, or the ids are not all from columns of one integer type.
    Text,
}

/// A document as the reading stage returns it.
pub(crate) struct NewDocument<'a> {
    pub(crate) source: u32,
    pub(crate) line: u64,
    pub(crate) id: Option<&'a str>,
    /// The integer type of the column that the id is from; `None` for any other column.
    pub(crate) id_type: Option<IntegerType>,
    pub(crate) sort: SortKey,
}

/// The key of a document in keep order: the document with the smallest key of a group is kept.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SortKey {
    /// Documents stay in input order.
    Input,
    /// The length of the text in bytes; the shortest comes first.
    Shortest(u64),
    /// The length of the text in bytes; the longest comes first.
    Longest(Reverse<u64>),
    /// The value of the sort field; the largest comes first, and documents without the field come last.
    Newest(Reverse<Option<SortValue>>),
}

impl Documents {
    /// The number of documents.
    pub(crate) fn len(&self) -> usize {
        self.class.len()
    }

    /// The ids of all documents.
    pub(crate) fn document_ids(
        &self,
    ) -> impl DoubleEndedIterator<Item = DocumentId> + ExactSizeIterator + use<> {
        ids(self.len())
    }

    /// The number of records: documents and rejects.
    pub(crate) fn records(&self) -> u64 {
        self.len() as u64 + self.rejected()
    }

    /// Adds a document that belongs to `class`.
    pub(crate) fn push(&mut self, class: ClassId, document: NewDocument<'_>) -> Result<(), DedupError> {
        const LIMIT: u32 = u32::MAX - 1;
        if self.class.len() >= LIMIT as usize {
            return Err(DedupError::TooManyDocuments { limit: LIMIT });
        }
        if self
            .sources
            .last()
            .is_none_or(|last| last.source != document.source)
        {
            self.sources.push(SourceStart {
                first: self.next(),
                source: document.source,
            });
        }
        self.class.push(class);
        let id_type = document.id.and(document.id_type).map(IdType::Integer);
        self.id_type = match (self.id_type, id_type.unwrap_or(IdType::Text)) {
            (IdType::None, first) => first,
            (before, next) if before == next => before,
            _ => IdType::Text,
        };
        self.ids.push_str(document.id.unwrap_or_default());
        let mut row = [0; COLUMNS];
        row[LINE] = document.line;
        row[ID_END] = self.ids.len() as u64;
        self.rows.push(row);
        if document.sort != SortKey::Input {
            self.sort.push(document.sort);
        }
        Ok(())
    }

    /// Counts one more record that was rejected.
    pub(crate) fn reject(&mut self) {
        self.rejects.push(self.next());
    }

    /// The number of the document that will be added next.
    fn next(&self) -> DocumentId {
        DocumentId::from_index(self.len())
    }

    /// The number of documents without the field by which the newest are kept.
    pub(crate) fn undated(&self) -> usize {
        let undated = |key: &&SortKey| matches!(key, SortKey::Newest(Reverse(None)));
        self.sort.iter().filter(undated).count()
    }

    /// The number of rejected records.
    pub(crate) fn rejected(&self) -> u64 {
        self.rejects.len() as u64
    }

    /// For each document in turn, its position among all records, rejects included.
    pub(crate) fn record_ordinals(&self) -> impl Iterator<Item = u64> {
        let mut before = 0;
        self.document_ids().map(move |document| {
            while self.rejects.get(before).is_some_and(|&next| next <= document) {
                before += 1;
            }
            u64::from(document.get()) + before as u64
        })
    }

    /// The order of the documents and the rejected records.
    pub(crate) fn record_order(&self) -> RecordOrder<'_> {
        RecordOrder {
            documents: self.len() as u64,
            rejects: &self.rejects,
        }
    }

    /// The number of the source that a document is from.
    pub(crate) fn source(&self, document: DocumentId) -> u32 {
        let after = self.sources.partition_point(|start| start.first <= document);
        self.sources[after.saturating_sub(1)].source
    }

    /// The line or row of a document in its source, from 1.
    pub(crate) fn line(&self, document: DocumentId) -> u64 {
        self.rows.get(document, LINE)
    }

    /// The number of documents whose id an earlier document has too. Ids are compared by a 64-bit hash.
    pub(crate) fn repeated_ids(&self) -> u64 {
        use std::hash::BuildHasher;
        let hasher = std::hash::RandomState::new();
        let ids = self.document_ids().filter_map(|document| self.id(document));
        let mut hashes: Vec<u64> = ids.map(|id| hasher.hash_one(id)).collect();
        let all = hashes.len();
        hashes.sort_unstable();
        hashes.dedup();
        (all - hashes.len()) as u64
    }

    /// For each rejected record, the document that follows it.
    pub(crate) fn rejects(&self) -> &[DocumentId] {
        &self.rejects
    }

    /// The length of the ids of all documents together, in bytes.
    pub(crate) fn id_bytes(&self) -> u64 {
        self.ids.len() as u64
    }

    /// The integer type of all ids; `None` unless every document has an id and all ids come from columns of one integer
    /// type.
    pub(crate) fn id_type(&self) -> Option<IntegerType> {
        match self.id_type {
            IdType::Integer(id_type) => Some(id_type),
            IdType::None | IdType::Text => None,
        }
    }

    /// The id that the record of a document states, if any.
    pub(crate) fn id(&self, document: DocumentId) -> Option<&str> {
        let end = |document: DocumentId| self.rows.get(document, ID_END) as usize;
        let start = document
            .get()
            .checked_sub(1)
            .map_or(0, |before| end(DocumentId::new(before)));
        Some(&self.ids[start..end(document)]).filter(|id| !id.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_have_their_record_source_and_id() {
        let mut documents = Documents::default();
        let push = |documents: &mut Documents, source, line, id| {
            documents
                .push(
                    ClassId::new(0),
                    NewDocument {
                        source,
                        line,
                        id,
                        id_type: None,
                        sort: SortKey::Input,
                    },
                )
                .unwrap();
        };
        documents.reject();
        push(&mut documents, 0, 2, Some("a"));
        push(&mut documents, 0, 3, None);
        documents.reject();
        documents.reject();
        push(&mut documents, 4, 1, Some("ü"));
        documents.reject();
        assert_eq!(documents.record_ordinals().collect::<Vec<_>>(), [1, 2, 5]);
        let of_records = (0..9).map(|ordinal| documents.record_order().of_record(ordinal));
        let (none, some) = (None, |document| Some(DocumentId::new(document)));
        assert_eq!(
            of_records.collect::<Vec<_>>(),
            [none, some(0), some(1), none, none, some(2), none, none, none]
        );
        assert_eq!([0, 1, 2].map(|d| documents.source(DocumentId::new(d))), [0, 0, 4]);
        assert_eq!(
            [0, 1, 2].map(|d| documents.id(DocumentId::new(d))),
            [Some("a"), None, Some("ü")]
        );
        assert_eq!(documents.rejected(), 4);
    }
}
