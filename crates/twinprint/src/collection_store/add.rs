//! Adds the kept records of a run: its input is read once more, as for `kept/`.

use rustc_hash::FxHashSet;
use twinprint_collection::{Fed, NewDocument, feed_from};
use twinprint_dedup::DedupError;
use twinprint_dedup::known::{AddedRecords, KeptRecords};
use twinprint_io::progress::Progress;
use twinprint_io::runs::AddedRecord;
use twinprint_io::source::SourceOptions;
use twinprint_stream::FieldKeys;

use super::CollectionStore;

/// Bytes of input read at a time.
const BATCH: usize = 8 << 20;

/// Adds the wanted records.
pub(super) fn add(
    store: &CollectionStore,
    records: KeptRecords<'_>,
    progress: &dyn Progress,
) -> Result<AddedRecords, DedupError> {
    let mut adding = Adding {
        taken: store.collection.ids_of(records.earlier),
        store,
        progress,
        outcome: AddedRecords::default(),
    };
    let sources = records.sources;
    let options = SourceOptions {
        sort_key: None,
        ..sources.options().clone()
    };
    let beside = store.collection.settings().looks_beside();
    let keys = beside.then(FieldKeys::default);
    let batches = (sources, sources.reread(BATCH));
    let read = feed_from(
        batches,
        &options,
        keys.as_ref(),
        progress,
        records.is_wanted,
        |fed| adding.take(fed),
    )?;
    Ok(AddedRecords {
        read,
        ..adding.outcome
    })
}

/// The state of adding records.
struct Adding<'a> {
    store: &'a CollectionStore,
    progress: &'a dyn Progress,
    /// Hashes of the ids that documents of this input have in the collection.
    taken: FxHashSet<u128>,
    outcome: AddedRecords,
}

impl Adding<'_> {
    fn take(&mut self, fed: Vec<Fed>) -> Result<(), DedupError> {
        let mut places = Vec::new();
        let mut documents = Vec::new();
        for record in fed {
            // A record that is not a document is among the rejected ones.
            let Ok(document) = record.document else { continue };
            let place = record.place.to_string();
            for what in record.left_out {
                self.progress.warn(&format!(
                    "{}: {place}: {what}: left out, because it is not valid or too long",
                    self.store.path.display()
                ));
            }
            documents.push(self.named(document));
            places.push((place, record.number));
        }
        let collection = &self.store.collection;
        let ids: Vec<u128> = documents
            .iter()
            .map(|document| collection.id_hash(&document.id))
            .collect();
        let before: Vec<Option<u64>> = ids.iter().map(|&id| collection.number_of(id)).collect();
        let answers = collection.hold(documents).map_err(|error| DedupError::Against {
            path: self.store.path.clone(),
            problem: twinprint_dedup::AgainstProblem::Failed(error.to_string()),
        })?;
        let ids = ids.into_iter().zip(before);
        for (((place, record), (id, before)), answer) in places.into_iter().zip(ids).zip(answers) {
            match answer {
                Ok(_) => {
                    let number = collection.number_of(id);
                    // The same text under the same id keeps its number.
                    if before.is_some() && before == number {
                        self.outcome.counts.earlier += 1;
                    } else {
                        self.outcome.counts.added += 1;
                        self.outcome.counts.replaced += u64::from(before.is_some());
                    }
                    let added = number.map(|number| AddedRecord { record, number });
                    self.outcome.added.extend(added);
                }
                // Records that the collection refuses were rejected when they were read, so this error ends the run.
                // Either all of the run is added or nothing.
                Err(error) => {
                    return Err(DedupError::Append {
                        path: self.store.path.clone(),
                        place,
                        message: error.to_string(),
                    });
                }
            }
        }
        Ok(())
    }

    /// Gives a document an id that no other document of this input has in the collection.
    fn named(&mut self, mut document: NewDocument) -> NewDocument {
        let collection = &self.store.collection;
        if !self.taken.insert(collection.id_hash(&document.id)) {
            document.name_by_text();
            self.taken.insert(collection.id_hash(&document.id));
        }
        document
    }
}
