//! The JSON types of requests and answers that do not come from the collection itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use twinprint_collection::{Answer, Change, Content, Details, Durability, NewDocument, Settings};
use utoipa::{IntoParams, ToSchema};

use crate::problem::Problem;

/// A document. It has exactly one of `text`, `html` (its main content is the text) and `fingerprint`.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DocumentBody {
    /// The document id. A second document with the same id is an update.
    #[serde(alias = "doc_id")]
    #[schema(min_length = 1, max_length = 2048)]
    pub(crate) id: String,
    /// The text.
    pub(crate) text: Option<String>,
    /// The HTML.
    pub(crate) html: Option<String>,
    /// The fingerprint in hexadecimal, made with the collection's profile.
    pub(crate) fingerprint: Option<String>,
    /// The URL of the document. The service never fetches it.
    #[schema(max_length = 8192)]
    pub(crate) url: Option<String>,
    /// The source, such as a site. Defaults to the host of `url`.
    #[schema(max_length = 8192)]
    pub(crate) source: Option<String>,
    /// The time when the document was found or written.
    #[schema(max_length = 64)]
    pub(crate) time: Option<String>,
    /// Seconds until the document expires.
    #[schema(minimum = 1)]
    pub(crate) ttl: Option<u64>,
    /// The quality of the document.
    pub(crate) score: Option<f64>,
    /// Other data to store with the document.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub(crate) fields: serde_json::Map<String, serde_json::Value>,
}

impl DocumentBody {
    /// The document for a collection whose fingerprints have `bits` bits.
    ///
    /// # Errors
    /// 422 if there is not exactly one of text, html and fingerprint, or if the fingerprint is invalid.
    pub(crate) fn into_document(self, bits: u32) -> Result<NewDocument, Problem> {
        let content = match (self.text, self.html, self.fingerprint) {
            (Some(text), None, None) => Content::Text(text),
            (None, Some(html), None) => Content::Html(html),
            (None, None, Some(fingerprint)) => Content::Fingerprint(parse_fingerprint(&fingerprint, bits)?),
            _ => {
                return Err(Problem::unprocessable(
                    "a document has exactly one of text, html and fingerprint",
                ));
            }
        };
        Ok(NewDocument {
            id: self.id,
            content,
            details: Details {
                url: self.url,
                source: self.source,
                time: self.time,
                score: self.score,
                fields: self.fields,
            },
            ttl: self.ttl,
        })
    }
}

/// Parses a fingerprint of `bits` bits, four per digit.
fn parse_fingerprint(digits: &str, bits: u32) -> Result<u128, Problem> {
    let is_hex = digits.bytes().all(|b| b.is_ascii_hexdigit());
    if !is_hex || digits.len() != bits as usize / 4 {
        let expected = bits / 4;
        return Err(Problem::unprocessable(format!(
            "fingerprint: expected {expected} hexadecimal digits, for the {bits} bits of this collection"
        )));
    }
    u128::from_str_radix(digits, 16).map_err(|error| Problem::unprocessable(format!("fingerprint: {error}")))
}

/// The durability of an acknowledged write.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DurabilityBody {
    /// The write is on the disk before the answer is sent, and survives a power failure.
    #[default]
    Synced,
    /// The write is in memory, and on the disk within a second.
    Buffered,
}

impl From<DurabilityBody> for Durability {
    fn from(body: DurabilityBody) -> Self {
        match body {
            DurabilityBody::Synced => Self::Synced,
            DurabilityBody::Buffered => Self::Buffered,
        }
    }
}

/// The query parameters of a write.
#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct WriteQuery {
    /// Store new documents only; answer for the others without storing them
    #[serde(default)]
    #[param(default = false)]
    pub(crate) only_new: bool,
    /// The durability of the acknowledged write
    #[serde(default)]
    #[param(inline)]
    pub(crate) durability: DurabilityBody,
}

/// Documents, in order.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DocumentsBody {
    /// The documents.
    #[schema(max_items = 1000)]
    pub(crate) documents: Vec<DocumentBody>,
}

/// The result for one document of a batch: either an answer or a problem.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Item)]
pub(crate) struct BatchItem {
    /// The answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) answer: Option<Answer>,
    /// The reason why there is no answer. The other documents are not affected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<Problem>,
}

impl From<Result<Answer, Problem>> for BatchItem {
    fn from(result: Result<Answer, Problem>) -> Self {
        match result {
            Ok(answer) => Self {
                answer: Some(answer),
                problem: None,
            },
            Err(problem) => Self {
                answer: None,
                problem: Some(problem),
            },
        }
    }
}

/// One item for each document, in order.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct BatchAnswer {
    /// The items.
    pub(crate) items: Vec<BatchItem>,
}

/// A search for documents similar to a given one.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SimilarBody {
    /// The document. It need not be in the collection.
    pub(crate) document: DocumentBody,
    /// The Hamming radius of candidates. Defaults to that of the collection.
    pub(crate) k: Option<u32>,
    /// Maximum hits (10).
    #[schema(minimum = 1, maximum = 1000)]
    pub(crate) limit: Option<u64>,
}

/// A list of documents grouped by near-duplicates.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Collapsed {
    /// The groups, in the order of their first documents.
    pub(crate) groups: Vec<CollapsedGroup>,
}

/// A group of near-duplicates.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct CollapsedGroup {
    /// The id of the document to show.
    pub(crate) id: String,
    /// The ids of its near-duplicates.
    pub(crate) duplicates: Vec<String>,
}

/// A collection.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct CollectionInfo {
    /// The name.
    pub(crate) name: String,
    /// The settings the collection was created with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) settings: Option<Settings>,
    /// The reason why the collection is not served or refuses writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
}

/// The collections of the service.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct CollectionList {
    /// The collections, ordered by name.
    pub(crate) collections: Vec<CollectionInfo>,
}

/// A deletion.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Deleted {
    /// The sequence number of the change.
    pub(crate) seq: u64,
}

/// Changes, oldest first.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct ChangeList {
    /// The changes.
    pub(crate) changes: Vec<Change>,
    /// The `since` that returns the following changes.
    pub(crate) next: u64,
    /// The sequence number of the oldest change that is still stored.
    pub(crate) first: u64,
}

/// Documents, one JSON object per line.
#[derive(ToSchema)]
#[schema(as = Lines, format = Binary)]
#[expect(
    dead_code,
    reason = "exists for the OpenAPI description; lines are read and written as bytes"
)]
pub(crate) struct NdjsonLines(String);

/// A job, which continues after its request is answered.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct Job {
    /// The job number, unique within the service.
    pub(crate) id: u64,
    /// A description of the work.
    pub(crate) what: String,
    /// The collection the job works on.
    pub(crate) collection: String,
    /// For a backup: its directory within the service's backup directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) directory: Option<String>,
    /// Documents processed. They stay processed even if the job fails.
    pub(crate) done: u64,
    /// The state.
    pub(crate) state: JobState,
    /// The reason of a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
}

/// A page of the job list.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct JobList {
    /// The jobs, newest first.
    pub(crate) jobs: Vec<Job>,
    /// The `after` of the next page. Absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_after: Option<u64>,
}

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum JobState {
    /// In progress.
    Running,
    /// Completed.
    Done,
    /// Ended by an error.
    Failed,
    /// Ended at the request of a client.
    Cancelled,
    /// Ended by the shutdown or a crash of the service.
    Interrupted,
}

/// The readiness of the service.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Readiness {
    /// True if every collection accepts writes and the service is not shutting down.
    pub(crate) ready: bool,
    /// Problems, by collection.
    pub(crate) problems: BTreeMap<String, String>,
}
