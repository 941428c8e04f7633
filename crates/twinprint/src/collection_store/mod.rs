//! Collections as document stores for `dedup`: a run can be compared with a collection, and add its kept documents to
//! it.

mod add;

use std::path::Path;

use twinprint_collection::{
    Answer, Collection, CollectionError, Content, Details, NewDocument, StoredContent, Verdict,
};
use twinprint_dedup::DedupError;
use twinprint_dedup::known::{
    Access, AddedRecords, DocumentStore, DocumentStores, KeptRecords, Objection, OfferedDocument,
    StoreFailure, TextAnswer,
};
use twinprint_io::progress::Progress;
use twinprint_io::runs::{DigestKey, EndedRun, KnownDocument, PastRun};
use twinprint_stream::time;

/// The id of the documents that a run looks up in a collection. No stored document has it.
const QUERY_ID: &str = "\u{0}asked by dedup";

/// Opens collections for [`dedup`](crate::dedup()).
#[derive(Clone, Copy, Debug, Default)]
pub struct Collections;

impl DocumentStores for Collections {
    fn open(&self, path: &Path, access: Access) -> Result<Option<Box<dyn DocumentStore>>, StoreFailure> {
        if !Collection::is_at(path) {
            return Ok(None);
        }
        let collection = match access {
            Access::Append => Collection::open(path)?,
            Access::Read => Collection::open_read_only(path)?,
        };
        if let (Access::Append, Some(error)) = (access, collection.refusal()) {
            return Err(error.into());
        }
        Ok(Some(Box::new(CollectionStore {
            collection,
            path: path.to_owned(),
        })))
    }
}

/// An open collection.
struct CollectionStore {
    collection: Collection,
    /// The directory of the collection, as the user named it.
    path: std::path::PathBuf,
}

impl DocumentStore for CollectionStore {
    fn least_threshold(&self) -> Option<f64> {
        let settings = self.collection.settings();
        (settings.store != StoredContent::None).then_some(settings.threshold)
    }

    fn check(&self, texts: Vec<String>) -> Result<Vec<TextAnswer>, StoreFailure> {
        let document = |text| NewDocument {
            id: QUERY_ID.to_owned(),
            content: Content::Text(text),
            details: Details::default(),
            ttl: None,
        };
        let answers = self.collection.check(texts.into_iter().map(document).collect())?;
        answers.into_iter().map(text_answer).collect()
    }

    fn identity(&self) -> u128 {
        self.collection.identity()
    }

    fn digest_key(&self) -> DigestKey {
        let (k0, k1) = self.collection.digest_key();
        DigestKey { k0, k1 }
    }

    fn has_run(&self, digest: u128, name: u128) -> Result<bool, StoreFailure> {
        Ok(self.collection.has_run(digest, name)?)
    }

    fn past_run(&self, digest: u128) -> Result<Option<PastRun>, StoreFailure> {
        Ok(self.collection.past_run(digest)?)
    }

    fn objection(&self, document: &OfferedDocument<'_>) -> Option<Objection> {
        let objection =
            self.collection
                .objection(document.id, document.text, !document.only_with_features)?;
        Some(match objection {
            twinprint_collection::Objection::Id(error) => Objection::Id(error.to_string()),
            twinprint_collection::Objection::Text(error) => Objection::Text(error.to_string()),
            twinprint_collection::Objection::NoFeatures(error) => Objection::NoFeatures(error.to_string()),
        })
    }

    fn have_same_text(&self, a: &str, b: &str) -> bool {
        self.collection.have_same_text(a, b)
    }

    fn add(&self, records: KeptRecords<'_>, progress: &dyn Progress) -> Result<AddedRecords, DedupError> {
        add::add(self, records, progress)
    }

    fn record_run(&self, run: EndedRun) -> Result<(), StoreFailure> {
        Ok(self.collection.commit_run(run)?)
    }

    fn now(&self) -> i64 {
        self.collection.now()
    }

    fn format_time(&self, seconds: i64) -> Option<String> {
        time::stamp(seconds)
    }
}

fn text_answer(answer: Result<Answer, CollectionError>) -> Result<TextAnswer, StoreFailure> {
    match answer {
        Ok(answer) => Ok(match answer.best {
            Some(best) => TextAnswer::Known {
                document: KnownDocument {
                    id: best.id,
                    hamming: best.hamming,
                    jaccard: best.jaccard,
                },
                equal: answer.verdict == Verdict::Exact,
            },
            None => TextAnswer::New,
        }),
        // Under the profile of the collection the text has no features, so it is not a duplicate.
        Err(CollectionError::EmptyText) => Ok(TextAnswer::New),
        Err(CollectionError::Limit { .. }) => Ok(TextAnswer::TooLong),
        Err(error) => Err(error.into()),
    }
}
