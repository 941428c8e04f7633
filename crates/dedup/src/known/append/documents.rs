//! The documents that a run adds: read once more from its input, as the records of `kept/` are.

use rustc_hash::FxHashSet;

use super::{Append, Appended};
use twinprint_collection::runs::Added;
use twinprint_collection::{Fed, NewDocument, feed_from};
use crate::corpus::Documents;
use crate::error::DedupError;
use twinprint_io::progress::{Progress, Unit};
use twinprint_io::sink::{changed, unchanged};
use twinprint_io::source::{SourceOptions, Sources};
use twinprint_stream::FieldKeys;

/// Bytes of input read at a time.
const BATCH: usize = 8 << 20;

impl Append {
    /// Adds every document that is kept, unless a run of this input has added it. They become durable with the
    /// [end](Append::conclude) of the run.
    ///
    /// # Errors
    /// An input that changed since it was read; a collection that cannot be written.
    pub(crate) fn add(
        &mut self,
        sources: &Sources,
        documents: &Documents,
        is_kept: &dyn Fn(u32) -> bool,
        progress: &dyn Progress,
    ) -> Result<Appended, DedupError> {
        let before = self.added_before();
        let records = u64::from(documents.len()) + documents.rejected();
        let mut kept = vec![false; records as usize];
        for (document, record) in (0u32..).zip(documents.record_ordinals()) {
            kept[record as usize] = is_kept(document);
        }
        let is_kept = |record: u64| kept.get(record as usize) == Some(&true);
        let mut adding = Adding {
            taken: self
                .past
                .as_ref()
                .map_or_else(FxHashSet::default, |past| self.collection.ids_of(&past.added)),
            append: self,
            progress,
            appended: Appended::default(),
        };
        adding.appended.earlier = before.iter().filter(|&&record| is_kept(record)).count() as u64;
        progress.stage("append", sources.total_bytes(), Unit::Bytes);
        let options = SourceOptions {
            sort_key: None,
            ..sources.options().clone()
        };
        let beside = adding.append.collection.settings().looks_beside();
        let keys = beside.then(FieldKeys::default);
        let wanted = |record: u64| is_kept(record) && !before.contains(&record);
        let batches = (sources, sources.reread(BATCH));
        let read = feed_from(batches, &options, keys.as_ref(), progress, &wanted, |fed| {
            adding.take(fed)
        })?;
        for file in sources.list() {
            unchanged(file)?;
        }
        if read != records
            && let Some(file) = sources.list().first()
        {
            return Err(changed(
                file,
                format!("the inputs had {records} records and have {read} now"),
            )
            .into());
        }
        let appended = adding.appended;
        self.counts = appended;
        Ok(appended)
    }
}

struct Adding<'a> {
    append: &'a mut Append,
    progress: &'a dyn Progress,
    /// Hashes of the ids that documents of this input have in the collection.
    taken: FxHashSet<u128>,
    appended: Appended,
}

impl Adding<'_> {
    fn take(&mut self, fed: Vec<Fed>) -> Result<(), DedupError> {
        let mut places = Vec::new();
        let mut documents = Vec::new();
        for record in fed {
            // A record that is no document is among the rejected ones.
            let Ok(document) = record.document else { continue };
            let place = record.place.to_string();
            for what in record.left_out {
                self.warn(&place, &format!("{what}: left out, as none or too long"));
            }
            documents.push(self.named(document));
            places.push((place, record.number));
        }
        let append = &self.append;
        let ids: Vec<u128> = documents.iter().map(|document| self.hash(&document.id)).collect();
        let before: Vec<Option<u64>> = ids.iter().map(|&id| append.collection.number_of(id)).collect();
        let answers = append.collection.hold(documents);
        let answers = answers.map_err(|error| append.failed(&error))?;
        let ids = ids.into_iter().zip(before);
        for (((place, record), (id, before)), answer) in places.into_iter().zip(ids).zip(answers) {
            match answer {
                Ok(_) => {
                    let number = self.append.collection.number_of(id);
                    // The same text under the same id keeps its number.
                    if before.is_some() && before == number {
                        self.appended.earlier += 1;
                    } else {
                        self.appended.added += 1;
                        self.appended.replaced += u64::from(before.is_some());
                    }
                    self.append
                        .added
                        .extend(number.map(|number| Added { record, number }));
                }
                // Reading has rejected what the collection would not take. All of the run is added, or nothing.
                Err(error) => {
                    return Err(DedupError::Append {
                        path: self.append.path.clone(),
                        place,
                        message: error.to_string(),
                    });
                }
            }
        }
        Ok(())
    }

    /// A document under an id that no other document of this input has in the collection.
    fn named(&mut self, mut document: NewDocument) -> NewDocument {
        if !self.taken.insert(self.hash(&document.id)) {
            document.name_by_text();
            self.taken.insert(self.hash(&document.id));
        }
        document
    }

    fn hash(&self, id: &str) -> u128 {
        self.append.collection.id_hash(id)
    }

    fn warn(&self, place: &str, what: &str) {
        self.progress.warn(&format!("--append: {place}: {what}"));
    }
}
