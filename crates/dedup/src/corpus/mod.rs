//! The tables of the documents that a run has read.
//!
//! A **class** is all documents of equal canonical text (equal by a 128-bit keyed hash). Every stage after reading
//! works on classes, so a million equal pages cost as much as one. All texts without features share one class too, but
//! duplicate nothing ([`Classes::is_empty_text`]). Documents and classes are numbered in input order ([`DocumentId`],
//! [`ClassId`]).

pub(crate) mod item_texts;
pub(crate) mod keep_order;
mod names;
mod record_order;
pub(crate) mod shingle_sets;

use std::cmp::Reverse;

use rustc_hash::FxHashMap;
use twinprint_text::Measure;

use crate::error::DedupError;
use crate::ids::{ClassId, DocumentId, Id, IdVec, Starts, ids};
pub(crate) use names::{DocumentName, DocumentNames, Names, unnamed};
pub(crate) use record_order::RecordOrder;
use twinprint_io::source::{IntegerType, SortValue};
use twinprint_io::work::TextRef;

/// The key of a class: a hash of its text under a secret that is drawn for every run. Because of the secret, nobody can
/// prepare two texts that collide.
pub(crate) type ClassKey = [u64; 2];

/// The documents and classes that a run has read.
#[derive(Default)]
pub(crate) struct Corpus {
    pub(crate) documents: Documents,
    pub(crate) classes: Classes,
}

/// The table of documents. Each vector has one entry per document.
#[derive(Default)]
pub(crate) struct Documents {
    /// The class of each document.
    pub(crate) class: IdVec<DocumentId, ClassId>,
    line: IdVec<DocumentId, u64>,
    ids: Labels,
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

/// The table of classes. Each vector has one entry per class.
#[derive(Default)]
pub(crate) struct Classes {
    /// For each class, its fingerprint at full width. The low bits are the narrower fingerprints.
    pub(crate) fingerprint: IdVec<ClassId, u128>,
    /// For each class, the position of its canonical text in the spool.
    pub(crate) text: IdVec<ClassId, TextRef>,
    /// For each class, the number of distinct features of its text; 0 for the class of the texts without features.
    pub(crate) features: IdVec<ClassId, u32>,
    /// An upper bound of the number of shingles of the text, by its own measure; 0 for a text with many features, which
    /// needs no bound.
    pub(crate) shingles: IdVec<ClassId, u32>,
    /// For each class, the measure of its text: words or characters.
    pub(crate) measure: IdVec<ClassId, Measure>,
    /// The number of documents of each class.
    pub(crate) size: IdVec<ClassId, u32>,
    by_key: FxHashMap<ClassKey, ClassId>,
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

/// The number of features of a class whose analysis is in an earlier slice.
const UNANALYSED: u32 = u32::MAX;

/// The values of a new class in the tables of [`Classes`].
#[derive(Clone, Copy)]
pub(crate) struct NewClass {
    pub(crate) fingerprint: u128,
    pub(crate) features: u32,
    pub(crate) shingles: u32,
    pub(crate) measure: Measure,
    pub(crate) text: TextRef,
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
        self.line.push(document.line);
        let id_type = document.id.and(document.id_type).map(IdType::Integer);
        self.id_type = match (self.id_type, id_type.unwrap_or(IdType::Text)) {
            (IdType::None, first) => first,
            (before, next) if before == next => before,
            _ => IdType::Text,
        };
        self.ids.push(document.id.unwrap_or_default());
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
        self.line[document]
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
        self.ids.bytes.len() as u64
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
        Some(self.ids.get(document)).filter(|id| !id.is_empty())
    }
}

/// The Hamming distance of two fingerprints in their low `bits` bits, 64 or 128.
pub(crate) fn distance(a: u128, b: u128, bits: u32) -> u32 {
    let differing = a ^ b;
    match bits {
        64 => (differing as u64).count_ones(),
        _ => differing.count_ones(),
    }
}

impl Classes {
    /// The number of classes.
    pub(crate) fn len(&self) -> usize {
        self.fingerprint.len()
    }

    /// The ids of all classes.
    pub(crate) fn class_ids(
        &self,
    ) -> impl DoubleEndedIterator<Item = ClassId> + ExactSizeIterator + Clone + use<> {
        ids(self.len())
    }

    /// The Hamming distance of the fingerprints of two classes, in their low `bits` bits, 64 or 128.
    pub(crate) fn distance(&self, a: ClassId, b: ClassId, bits: u32) -> u32 {
        distance(self.fingerprint[a], self.fingerprint[b], bits)
    }

    /// True for the class of the texts without features. Its documents are not duplicates of one another, so each is
    /// alone in its group.
    pub(crate) fn is_empty_text(&self, class: ClassId) -> bool {
        self.features[class] == 0
    }

    /// The number of documents of a class that are duplicates of one another: all, or 1 in the class of the texts
    /// without features.
    pub(crate) fn copies(&self, class: ClassId) -> u32 {
        if self.is_empty_text(class) {
            1
        } else {
            self.size[class]
        }
    }

    /// Counts one more document in the class with this key. Returns `None` if the class does not exist; the caller then
    /// [adds](Self::add) it.
    pub(crate) fn join(&mut self, key: ClassKey) -> Option<ClassId> {
        let class = *self.by_key.get(&key)?;
        self.size[class] += 1;
        Some(class)
    }

    /// Adds a class with its first document.
    pub(crate) fn add(&mut self, key: ClassKey, class: NewClass) -> ClassId {
        let id = self.push(class);
        self.by_key.insert(key, id);
        id
    }

    /// Adds a class with its first document that is not found by its key.
    pub(crate) fn push(&mut self, class: NewClass) -> ClassId {
        self.fingerprint.push(class.fingerprint);
        self.features.push(class.features);
        self.shingles.push(class.shingles);
        self.measure.push(class.measure);
        self.text.push(class.text);
        self.size.push(1)
    }

    /// Adds a class with its first document, whose analysis is in an earlier slice of the same part.
    pub(crate) fn add_unanalysed(&mut self, key: ClassKey) -> ClassId {
        let class = NewClass {
            fingerprint: 0,
            features: UNANALYSED,
            shingles: 0,
            measure: Measure::WordGrams,
            text: TextRef::NOWHERE,
        };
        self.add(key, class)
    }

    /// False if the analysis of the text of a class is in an earlier slice.
    pub(crate) fn is_analysed(&self, class: ClassId) -> bool {
        self.features[class] != UNANALYSED
    }

    /// The classes with their keys, in no particular order. Empty after [`seal`](Self::seal).
    pub(crate) fn keys(&self) -> impl Iterator<Item = (ClassKey, ClassId)> {
        self.by_key.iter().map(|(&key, &class)| (key, class))
    }

    /// Frees the table that finds a class by its key. Called at the end of reading.
    pub(crate) fn seal(&mut self) {
        self.by_key = FxHashMap::default();
    }
}

/// A string for each document, all in one allocation.
#[derive(Default)]
struct Labels {
    bytes: String,
    starts: Starts<DocumentId>,
}

impl Labels {
    fn push(&mut self, label: &str) {
        self.bytes.push_str(label);
        self.starts.push_end(self.bytes.len());
    }

    fn get(&self, document: DocumentId) -> &str {
        &self.bytes[self.starts.range(document)]
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
