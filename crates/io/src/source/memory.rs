//! Records that the calling program holds in memory, such as rows of a table of another library.
//!
//! [`Sources::of_memory`](super::Sources::of_memory) reads them. They go the same way as the records of files, so the
//! same limits apply to them, and rejected records are counted in the same [intake](super::Sources::intake). They can
//! be read once.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::error::SourceError;
use super::record::{IntegerType, RecordKind, SortValue};
use super::record_limits::RecordLimits;
use super::reject::RejectReason;

/// Consecutive records in memory. A batch is analysed by one thread, so it should have no more than about 512 KiB of
/// text.
pub trait MemoryBatch: fmt::Debug + Send + Sync {
    /// The number of records.
    fn records(&self) -> u64;

    /// The approximate length of all texts, in bytes.
    fn bytes(&self) -> usize;

    /// The integer type of the ids; `None` if they are strings, or if there are none.
    fn id_type(&self) -> Option<IntegerType>;

    /// Calls `f` with every record, in order.
    fn each(&self, f: &mut dyn FnMut(MemoryRecord<'_>));
}

/// A record in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryRecord<'a> {
    /// The text, or the reason why the record has none.
    pub text: Result<Cow<'a, str>, RejectReason>,
    /// The id. An empty id counts as missing.
    pub id: Option<Cow<'a, str>>,
    /// The value that documents are sorted by.
    pub sort_value: Option<SortValue>,
}

impl<'a> MemoryRecord<'a> {
    /// The length of the record in bytes, and the record as the readers of all formats return it.
    pub(super) fn checked(self, record_limits: RecordLimits) -> (u64, RecordKind<'a>) {
        let id_bytes = self.id.as_ref().map_or(0, |id| id.len() as u64);
        let text_bytes = self.text.as_ref().map_or(0, |text| text.len() as u64);
        let text = record_limits.check(text_bytes).and(self.text);
        let kind = match text {
            Ok(text) => RecordKind::document(text, self.id, self.sort_value),
            Err(reason) => RecordKind::Rejected { reason },
        };
        (text_bytes + id_bytes, kind)
    }
}

/// The batches of an input in memory, which the reading thread takes one after another.
pub type MemoryBatches = Box<dyn Iterator<Item = Result<Arc<dyn MemoryBatch>, SourceError>> + Send>;

/// The batches of an input in memory, until they are read.
pub(super) struct MemoryInput(Mutex<Option<MemoryBatches>>);

impl MemoryInput {
    pub(super) fn new(batches: MemoryBatches) -> Self {
        Self(Mutex::new(Some(batches)))
    }

    /// Takes the batches.
    ///
    /// # Errors
    /// [`SourceError::ReadOnce`] if they were taken before.
    pub(super) fn take(&self) -> Result<MemoryBatches, SourceError> {
        let mut batches = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        batches.take().ok_or(SourceError::ReadOnce)
    }
}

impl fmt::Debug for MemoryInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MemoryInput").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{SourceOptions, Sources};

    #[derive(Debug)]
    struct Words(Vec<Option<&'static str>>);

    impl MemoryBatch for Words {
        fn records(&self) -> u64 {
            self.0.len() as u64
        }

        fn bytes(&self) -> usize {
            self.0.iter().flatten().map(|text| text.len()).sum()
        }

        fn id_type(&self) -> Option<IntegerType> {
            None
        }

        fn each(&self, f: &mut dyn FnMut(MemoryRecord<'_>)) {
            for text in &self.0 {
                let key = "text".to_owned();
                f(MemoryRecord {
                    text: text.map(Cow::Borrowed).ok_or(RejectReason::FieldNull { key }),
                    id: text.map(|text| Cow::Owned(text.to_uppercase())),
                    sort_value: None,
                });
            }
        }
    }

    fn sources(options: &SourceOptions) -> Sources {
        let batches = [
            Words(vec![Some("lamp"), None]),
            Words(vec![]),
            Words(vec![Some("oak"), Some("harbour")]),
        ];
        let batches = batches
            .into_iter()
            .map(|batch| Ok(Arc::new(batch) as Arc<dyn MemoryBatch>));
        Sources::of_memory("words", Box::new(batches), options, Arc::default())
    }

    fn read(sources: &Sources, options: &SourceOptions) -> Vec<(u64, String)> {
        let mut read = Vec::new();
        for batch in sources.read(1) {
            for chunk in &batch.unwrap().chunks {
                chunk.documents(options, &mut |record| {
                    let seen = match record.kind {
                        RecordKind::Document { id, text, .. } => format!("{} {text}", id.unwrap()),
                        RecordKind::Rejected { reason } => reason.to_string(),
                        other => panic!("{other:?}"),
                    };
                    read.push((record.line, seen));
                });
            }
        }
        read
    }

    #[test]
    fn records_are_read_in_order_with_their_limits_and_their_counts() {
        let options = SourceOptions {
            max_document: 4,
            ..SourceOptions::default()
        };
        let sources = sources(&options);
        let read = read(&sources, &options);
        assert_eq!(read[0], (1, "LAMP lamp".to_owned()));
        assert!(read[1].1.contains("is null"), "{read:?}");
        assert_eq!(read[2], (3, "OAK oak".to_owned()));
        assert!(
            read[3].1.contains("7 bytes, more than the limit of 4 bytes"),
            "{read:?}"
        );
        let intake = sources.intake().unwrap();
        assert_eq!((intake.accepted, intake.rejected), (2, 2));
        assert_eq!(sources.records(0), Some(4));
    }

    #[test]
    fn a_second_reading_is_an_error_and_a_limit_ends_the_first() {
        let options = SourceOptions {
            limit: Some(3),
            ..SourceOptions::default()
        };
        let sources = sources(&options);
        assert_eq!(read(&sources, &options).len(), 4, "a batch is read as a whole");
        let again = sources.reread(1).next().unwrap();
        assert!(matches!(again, Err(SourceError::ReadOnce)));
    }
}
