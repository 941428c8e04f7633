//! Adds the kept records of a run to a collection. The input is read a second time for this, as for `kept/`.

use rustc_hash::FxHashSet;
use twinprint_collection::{FeedOptions, InputRecord, NewDocument, feed_from};
use twinprint_dedup::DedupError;
use twinprint_dedup::known::{AddedRecords, KeptRecords};
use twinprint_io::progress::Progress;
use twinprint_io::runs::AddedRecord;
use twinprint_io::source::SourceOptions;
use twinprint_stream::FieldKeys;

use super::CollectionStore;

/// Number of bytes of the input that are read at a time.
const READ_BYTES: usize = 8 << 20;

/// Adds the wanted records of an input to a collection. The caller commits them later.
pub(super) fn add(
    store: &CollectionStore,
    records: KeptRecords<'_>,
    progress: &dyn Progress,
) -> Result<AddedRecords, DedupError> {
    let mut adding = Adding {
        taken: store.collection.id_hashes_of(records.earlier),
        store,
        progress,
        outcome: AddedRecords::default(),
    };
    let sources = records.sources;
    let options = SourceOptions {
        sort_key: None,
        ..sources.options().clone()
    };
    let options = FeedOptions {
        source: &options,
        keys: Some(&FieldKeys::default()),
        progress,
    };
    let batches = sources.reread(READ_BYTES);
    let read = feed_from(sources, batches, options, records.is_wanted, |records| {
        adding.add(records)
    })?;
    Ok(AddedRecords {
        read,
        ..adding.outcome
    })
}

/// The state of adding the records of one input to a collection.
struct Adding<'a> {
    store: &'a CollectionStore,
    progress: &'a dyn Progress,
    /// Hashes of the ids under which documents of this input are in the collection.
    taken: FxHashSet<u128>,
    outcome: AddedRecords,
}

impl Adding<'_> {
    fn add(&mut self, records: Vec<InputRecord>) -> Result<(), DedupError> {
        let mut positions = Vec::new();
        let mut documents = Vec::new();
        for record in records {
            // A record that is not a document was rejected when it was first read.
            let Ok(document) = record.document else { continue };
            let position = record.position.to_string();
            for name in record.left_out {
                self.progress.warn(&format!(
                    "{}: {position}: {name} is not stored, because the value is invalid or too long",
                    self.store.path.display()
                ));
            }
            documents.push(self.with_unique_id(document));
            positions.push((position, record.number));
        }
        let collection = &self.store.collection;
        let ids: Vec<u128> = documents
            .iter()
            .map(|document| collection.id_hash(&document.id))
            .collect();
        let before: Vec<Option<u64>> = ids.iter().map(|&id| collection.number_by_id_hash(id)).collect();
        let answers = collection
            .add_pending(documents)
            .map_err(|error| DedupError::against_failed(&self.store.path, &error))?;
        let ids = ids.into_iter().zip(before);
        for (((position, record), (id, before)), answer) in positions.into_iter().zip(ids).zip(answers) {
            match answer {
                Ok(_) => {
                    let number = collection.number_by_id_hash(id);
                    // The number is the same as before if the collection already had this text under this id.
                    if before.is_some() && before == number {
                        self.outcome.counts.earlier += 1;
                    } else {
                        self.outcome.counts.added += 1;
                        self.outcome.counts.replaced += u64::from(before.is_some());
                    }
                    let added = number.map(|number| AddedRecord { record, number });
                    self.outcome.added.extend(added);
                }
                // Records that the collection refuses were rejected when they were first read, so an error here is
                // unexpected and ends the run. Then nothing of the run is added.
                Err(error) => {
                    return Err(DedupError::Append {
                        path: self.store.path.clone(),
                        place: position,
                        message: error.to_string(),
                    });
                }
            }
        }
        Ok(())
    }

    /// Changes the id of a document if another document of this input has the same id in the collection.
    fn with_unique_id(&mut self, mut document: NewDocument) -> NewDocument {
        let collection = &self.store.collection;
        if !self.taken.insert(collection.id_hash(&document.id)) {
            document.name_by_text();
            self.taken.insert(collection.id_hash(&document.id));
        }
        document
    }
}
