//! What a run holds in memory about the documents it has read.
//!
//! A **class** is all documents of equal canonical text (equal by a 128-bit keyed hash): everything after reading works on
//! classes, so a million equal pages cost one. All texts without features share one class too, but duplicate nothing
//! ([`Classes::is_empty_text`]). Documents and classes are numbered in input order.

pub(crate) mod keep_order;
mod names;
pub(crate) mod shingle_sets;

use std::cmp::Reverse;

use rustc_hash::FxHashMap;
use twinprint_text::Measure;

use crate::error::DedupError;
pub(crate) use names::Names;
use twinprint_io::source::{IntegerType, SortValue};
use twinprint_io::work::TextRef;

/// Tells classes apart: a hash of the text under a key drawn anew for every run, so that nobody can prepare two texts
/// that fall together.
pub(crate) type ClassKey = [u64; 2];

/// Documents and classes of a run.
#[derive(Default)]
pub(crate) struct Corpus {
    pub(crate) documents: Documents,
    pub(crate) classes: Classes,
}

/// One entry a document.
#[derive(Default)]
pub(crate) struct Documents {
    /// The class of each.
    pub(crate) class: Vec<u32>,
    line: Vec<u64>,
    ids: Labels,
    id_type: IdType,
    /// First document of each source that has any, ascending.
    sources: Vec<(u32, u32)>,
    /// Ordinals, among documents, before which a record was rejected; ascending, once a reject.
    rejects: Vec<u32>,
    /// What `--keep` sorts by, where it is not the order of input.
    pub(crate) sort: Vec<SortKey>,
}

/// One entry a class.
#[derive(Default)]
pub(crate) struct Classes {
    /// The fingerprint at its full width; narrower ones are its low bits.
    pub(crate) fingerprint: Vec<u128>,
    /// Where the canonical text stands in the spool.
    pub(crate) text: Vec<TextRef>,
    /// Distinct features; 0 for the class of the texts without any.
    pub(crate) features: Vec<u32>,
    /// Shingles its own measure can give it at most; counted for texts of few features only, else 0.
    pub(crate) shingles: Vec<u32>,
    /// How its overlap is measured.
    pub(crate) measure: Vec<Measure>,
    /// Documents.
    pub(crate) size: Vec<u32>,
    by_key: FxHashMap<ClassKey, u32>,
}

/// The common type of all ids seen so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum IdType {
    /// There are none yet.
    #[default]
    None,
    /// Every document has an id from a column of this type.
    Integer(IntegerType),
    /// Anything else.
    Text,
}

/// A document as reading yields it.
pub(crate) struct NewDocument<'a> {
    pub(crate) source: u32,
    pub(crate) line: u64,
    pub(crate) id: Option<&'a str>,
    /// That of the column of ids, where it has whole numbers.
    pub(crate) id_type: Option<IntegerType>,
    pub(crate) sort: SortKey,
}

/// What a document is worth to `--keep`: the smallest of a group is kept.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SortKey {
    /// Order of input alone.
    Input,
    /// Bytes of text.
    Shortest(u64),
    /// Bytes of text.
    Longest(Reverse<u64>),
    /// The field's value; documents without it come last.
    Newest(Reverse<Option<SortValue>>),
}

impl Documents {
    /// How many.
    pub(crate) fn len(&self) -> u32 {
        self.class.len() as u32
    }

    pub(crate) fn push(&mut self, class: u32, document: NewDocument<'_>) -> Result<(), DedupError> {
        const LIMIT: u32 = u32::MAX - 1;
        if self.class.len() >= LIMIT as usize {
            return Err(DedupError::TooManyDocuments { limit: LIMIT });
        }
        if self.sources.last().is_none_or(|last| last.1 != document.source) {
            self.sources.push((self.len(), document.source));
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

    pub(crate) fn reject(&mut self) {
        self.rejects.push(self.len());
    }

    /// Documents without the field that `--keep newest` goes by.
    pub(crate) fn undated(&self) -> usize {
        let undated = |key: &&SortKey| matches!(key, SortKey::Newest(Reverse(None)));
        self.sort.iter().filter(undated).count()
    }

    /// Records that were rejected.
    pub(crate) fn rejected(&self) -> u64 {
        self.rejects.len() as u64
    }

    /// The position among all records, rejects included, of each document in turn.
    pub(crate) fn record_ordinals(&self) -> impl Iterator<Item = u64> {
        let mut before = 0;
        (0..self.len()).map(move |document| {
            while self.rejects.get(before).is_some_and(|&at| at <= document) {
                before += 1;
            }
            u64::from(document) + before as u64
        })
    }

    /// Documents before a position among all records, rejects included.
    pub(crate) fn before_record(&self, ordinal: u64) -> u32 {
        let documents = ordinal - self.rejects_before(ordinal) as u64;
        documents.min(u64::from(self.len())) as u32
    }

    /// The document at a position among all records; `None` for a reject.
    pub(crate) fn of_record(&self, ordinal: u64) -> Option<u32> {
        let document = self.before_record(ordinal);
        (document < self.before_record(ordinal + 1)).then_some(document)
    }

    fn rejects_before(&self, ordinal: u64) -> usize {
        // The reject at place i has the i rejects before it, and the documents that its entry counts.
        let (mut low, mut high) = (0, self.rejects.len());
        while low < high {
            let middle = low.midpoint(high);
            if u64::from(self.rejects[middle]) + (middle as u64) < ordinal {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    pub(crate) fn source(&self, document: u32) -> u32 {
        let after = self.sources.partition_point(|&(first, _)| first <= document);
        self.sources[after.saturating_sub(1)].1
    }

    pub(crate) fn line(&self, document: u32) -> u64 {
        self.line[document as usize]
    }

    /// Documents whose own id an earlier one had (by a 64-bit hash of the ids).
    pub(crate) fn repeated_ids(&self) -> u64 {
        use std::hash::BuildHasher;
        let hasher = std::hash::RandomState::new();
        let ids = (0..self.len()).filter_map(|document| self.id(document));
        let mut hashes: Vec<u64> = ids.map(|id| hasher.hash_one(id)).collect();
        let all = hashes.len();
        hashes.sort_unstable();
        hashes.dedup();
        (all - hashes.len()) as u64
    }

    /// Bytes of all ids.
    pub(crate) fn id_bytes(&self) -> u64 {
        self.ids.bytes.len() as u64
    }

    /// The type of all ids, where every document has one and all come from columns of one type of whole numbers.
    #[cfg(feature = "tables")]
    pub(crate) fn id_type(&self) -> Option<IntegerType> {
        match self.id_type {
            IdType::Integer(id_type) => Some(id_type),
            IdType::None | IdType::Text => None,
        }
    }

    /// The record's own id; `None` where it had none.
    pub(crate) fn id(&self, document: u32) -> Option<&str> {
        Some(self.ids.get(document)).filter(|id| !id.is_empty())
    }
}

impl Classes {
    pub(crate) fn len(&self) -> u32 {
        self.fingerprint.len() as u32
    }

    /// True if this is the class of the texts without features. Its documents duplicate nothing, so each is alone.
    pub(crate) fn is_empty_text(&self, class: u32) -> bool {
        self.features[class as usize] == 0
    }

    /// Documents of a class that duplicate one another, of which one stands for all.
    pub(crate) fn copies(&self, class: u32) -> u32 {
        if self.is_empty_text(class) {
            1
        } else {
            self.size[class as usize]
        }
    }

    /// The class of a key, counting the document in; `None` when it is new and must be [`added`](Self::add).
    pub(crate) fn join(&mut self, key: ClassKey) -> Option<u32> {
        let class = *self.by_key.get(&key)?;
        self.size[class as usize] += 1;
        Some(class)
    }

    pub(crate) fn add(
        &mut self,
        key: ClassKey,
        fingerprint: u128,
        features: u32,
        shingles: u32,
        measure: Measure,
        text: TextRef,
    ) -> u32 {
        let class = self.len();
        self.by_key.insert(key, class);
        self.fingerprint.push(fingerprint);
        self.features.push(features);
        self.shingles.push(shingles);
        self.measure.push(measure);
        self.text.push(text);
        self.size.push(1);
        class
    }

    /// Frees the lookup by key once reading is over.
    pub(crate) fn seal(&mut self) {
        self.by_key = FxHashMap::default();
    }
}

/// Many short strings in one piece of memory.
#[derive(Default)]
struct Labels {
    bytes: String,
    ends: Vec<u64>,
}

impl Labels {
    fn push(&mut self, label: &str) {
        self.bytes.push_str(label);
        self.ends.push(self.bytes.len() as u64);
    }

    fn get(&self, i: u32) -> &str {
        let i = i as usize;
        let start = if i == 0 { 0 } else { self.ends[i - 1] as usize };
        &self.bytes[start..self.ends[i] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_know_their_place() {
        let mut documents = Documents::default();
        let push = |documents: &mut Documents, source, line, id| {
            documents
                .push(
                    0,
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
        let of_records = (0..9).map(|ordinal| documents.of_record(ordinal));
        let (none, some) = (None, Some);
        assert_eq!(
            of_records.collect::<Vec<_>>(),
            [none, some(0), some(1), none, none, some(2), none, none, none]
        );
        assert_eq!([0, 1, 2].map(|d| documents.source(d)), [0, 0, 4]);
        assert_eq!([0, 1, 2].map(|d| documents.id(d)), [Some("a"), None, Some("ü")]);
        assert_eq!(documents.rejected(), 4);
    }
}
