//! The order of documents and rejected records in the input.

use crate::ids::{DocumentId, Id};

/// The positions of documents among all records.
#[derive(Clone, Copy)]
pub(crate) struct RecordOrder<'o> {
    /// The number of documents.
    pub(crate) documents: u64,
    /// For each rejected record, the document that follows it in the input; ascending.
    pub(crate) rejects: &'o [DocumentId],
}

impl RecordOrder<'_> {
    /// The first document at or after a position among all records, rejects included; past the last document, the id
    /// after the last one.
    pub(crate) fn first_at_record(&self, ordinal: u64) -> DocumentId {
        let documents = ordinal - self.rejects_before(ordinal) as u64;
        DocumentId::new(documents.min(self.documents) as u32)
    }

    /// The document at a position among all records; `None` if that record was rejected.
    pub(crate) fn of_record(&self, ordinal: u64) -> Option<DocumentId> {
        let document = self.first_at_record(ordinal);
        (document < self.first_at_record(ordinal + 1)).then_some(document)
    }

    fn rejects_before(&self, ordinal: u64) -> usize {
        // `rejects[i]` is the document that follows reject number i. So the records before that reject are i rejects
        // and the documents before `rejects[i]`.
        let (mut low, mut high) = (0, self.rejects.len());
        while low < high {
            let middle = low.midpoint(high);
            if u64::from(self.rejects[middle].get()) + (middle as u64) < ordinal {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}
