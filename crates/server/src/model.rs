//! The JSON types of requests and answers that are defined by the service, not by the crate of collections.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use twinprint_collection::{Answer, Change, Content, Details, Durability, NewDocument, Settings};
use utoipa::{IntoParams, ToSchema};

use crate::problem::Problem;

/// A document. It has exactly one of the fields `text`, `html` and `fingerprint`. The main content of `html` becomes
/// the text.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DocumentBody {
    /// The id of the document. If the collection contains a document with this id, it is updated.
    #[serde(alias = "doc_id")]
    #[schema(min_length = 1, max_length = 2048)]
    pub(crate) id: String,
    /// The text of the document.
    pub(crate) text: Option<String>,
    /// The document as HTML.
    pub(crate) html: Option<String>,
    /// The fingerprint of the document in hexadecimal, made with the profile of the collection.
    pub(crate) fingerprint: Option<String>,
    /// The URL of the document. The service never fetches it.
    #[schema(max_length = 8192)]
    pub(crate) url: Option<String>,
    /// The source of the document, such as a site. Default: the host of `url`.
    #[schema(max_length = 8192)]
    pub(crate) source: Option<String>,
    /// The time when the document was found or written.
    #[schema(max_length = 64)]
    pub(crate) time: Option<String>,
    /// The number of seconds until the document expires.
    #[schema(minimum = 1)]
    pub(crate) ttl: Option<u64>,
    /// The quality of the document. Collections may choose canonical documents by it.
    pub(crate) score: Option<f64>,
    /// Other data that is stored with the document.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub(crate) fields: serde_json::Map<String, serde_json::Value>,
}

impl DocumentBody {
    /// Converts the body of a request to a document for a collection whose fingerprints have `bits` bits.
    ///
    /// # Errors
    /// 422 if the document does not have exactly one of `text`, `html` and `fingerprint`, or if the fingerprint is
    /// invalid.
    pub(crate) fn into_document(self, bits: u32) -> Result<NewDocument, Problem> {
        let content = match (self.text, self.html, self.fingerprint) {
            (Some(text), None, None) => Content::Text(text),
            (None, Some(html), None) => Content::Html(html),
            (None, None, Some(fingerprint)) => Content::Fingerprint(parse_fingerprint(&fingerprint, bits)?),
            _ => {
                return Err(Problem::unprocessable(
                    "a document must have exactly one of the fields text, html and fingerprint",
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

/// Parses a hexadecimal fingerprint of `bits` bits.
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

/// The guarantee that a write has when the answer is sent.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DurabilityBody {
    /// The write is on the disk when the answer is sent, and survives a power failure.
    #[default]
    Synced,
    /// The write is in memory when the answer is sent, and on the disk within a second.
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
    /// If true, only new documents are stored; duplicates get an answer but are not stored
    #[serde(default)]
    #[param(default = false)]
    pub(crate) only_new: bool,
    /// The guarantee that the write has when the answer is sent
    #[serde(default)]
    #[param(inline)]
    pub(crate) durability: DurabilityBody,
}

/// A list of documents.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DocumentsBody {
    /// The documents, in order.
    #[schema(max_items = 1000)]
    pub(crate) documents: Vec<DocumentBody>,
}

/// The result for one document of a batch: an answer or a problem.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Item)]
pub(crate) struct BatchItem {
    /// The answer; absent if there is a problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) answer: Option<Answer>,
    /// The reason why the document got no answer; absent if there is an answer. The other documents of the batch are
    /// not affected.
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

/// The results of a batch.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct BatchAnswer {
    /// One result per document, in the order of the documents.
    pub(crate) items: Vec<BatchItem>,
}

/// A search for stored documents that are similar to a given document.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SimilarBody {
    /// The document to compare. It need not be stored in the collection.
    pub(crate) document: DocumentBody,
    /// The largest Hamming distance of candidates. Default: the radius of the collection.
    pub(crate) k: Option<u32>,
    /// The maximum number of hits. Default: 10.
    #[schema(minimum = 1, maximum = 1000)]
    pub(crate) limit: Option<u64>,
}

/// The groups of near-duplicates in a list of documents.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Collapsed {
    /// The groups, in the order of their first documents in the list.
    pub(crate) groups: Vec<CollapsedGroup>,
}

/// A group of near-duplicates in a list of documents.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct CollapsedGroup {
    /// The id of the document that represents the group.
    pub(crate) id: String,
    /// The ids of the other documents of the group.
    pub(crate) duplicates: Vec<String>,
}

/// A collection of the service.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct CollectionInfo {
    /// The name of the collection.
    pub(crate) name: String,
    /// The settings that the collection was created with; absent if the collection could not be opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) settings: Option<Settings>,
    /// The reason why the collection could not be opened or refuses writes; absent if it accepts writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
}

/// The list of the service's collections.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct CollectionList {
    /// The collections, ordered by name.
    pub(crate) collections: Vec<CollectionInfo>,
}

/// The result of a deletion.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Deleted {
    /// The sequence number of the deletion in the list of changes.
    pub(crate) seq: u64,
}

/// A page of the changes of a collection.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct ChangeList {
    /// The changes of this page, the oldest first.
    pub(crate) changes: Vec<Change>,
    /// The value of `since` that returns the changes after this page.
    pub(crate) next: u64,
    /// The sequence number of the oldest stored change; 0 if no change is stored.
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

/// A job: work that continues after its request was answered.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct Job {
    /// The number of the job. It is unique within the service.
    pub(crate) id: u64,
    /// A description of the job's work.
    pub(crate) what: String,
    /// The name of the collection that the job works on.
    pub(crate) collection: String,
    /// For a backup, the name of its directory within the backup directory of the service; otherwise absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) directory: Option<String>,
    /// The number of documents that the job has processed. They stay processed even if the job fails later.
    pub(crate) done: u64,
    /// The state of the job.
    pub(crate) state: JobState,
    /// The reason why the job failed; absent in other states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
}

/// A page of the job list.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct JobList {
    /// The jobs, newest first.
    pub(crate) jobs: Vec<Job>,
    /// The value of `after` that returns the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_after: Option<u64>,
}

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum JobState {
    /// The job is running.
    Running,
    /// The job has completed its work.
    Done,
    /// The job ended with an error.
    Failed,
    /// A client cancelled the job.
    Cancelled,
    /// The job ended early, because the service was shut down or crashed.
    Interrupted,
}

/// The readiness of the service.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Readiness {
    /// True if every collection accepts writes and the service is not shutting down.
    pub(crate) ready: bool,
    /// The reason why a collection does not accept writes, by name of the collection.
    pub(crate) problems: BTreeMap<String, String>,
}
