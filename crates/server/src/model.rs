//! The bodies of requests and answers that are not the collection's own types.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use twinprint_collection::{Answer, Content, Details, Durability, NewDocument, Settings};
use utoipa::{IntoParams, ToSchema};

use crate::problem::Problem;

/// A document. It has either a text, or markup whose main content is the text, or a fingerprint.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DocumentBody {
    /// Its name; the same one again is an update.
    #[serde(alias = "doc_id")]
    #[schema(min_length = 1, max_length = 2048)]
    pub(crate) id: String,
    /// Its text.
    pub(crate) text: Option<String>,
    /// Its markup.
    pub(crate) html: Option<String>,
    /// Its fingerprint in hexadecimal, made under the collection's profile.
    pub(crate) fingerprint: Option<String>,
    /// Where it was found.
    #[schema(max_length = 8192)]
    pub(crate) url: Option<String>,
    /// What it belongs to; the host of the url unless given.
    #[schema(max_length = 8192)]
    pub(crate) source: Option<String>,
    /// When it was found or written.
    #[schema(max_length = 64)]
    pub(crate) time: Option<String>,
    /// Seconds until it expires.
    #[schema(minimum = 1)]
    pub(crate) ttl: Option<u64>,
    /// How good it is.
    pub(crate) score: Option<f64>,
    /// Anything else to be kept with it.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub(crate) fields: serde_json::Map<String, serde_json::Value>,
}

impl DocumentBody {
    pub(crate) fn into_document(self, bits: u32) -> Result<NewDocument, Problem> {
        let content = match (self.text, self.html, self.fingerprint) {
            (Some(text), None, None) => Content::Text(text),
            (None, Some(html), None) => Content::Html(html),
            (None, None, Some(fingerprint)) => Content::Fingerprint(unhex(&fingerprint, bits)?),
            _ => {
                return Err(Problem::unprocessable(
                    "a document has one of text, html and fingerprint",
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

/// A fingerprint of so many bits.
fn unhex(digits: &str, bits: u32) -> Result<u128, Problem> {
    let plain = digits.bytes().all(|b| b.is_ascii_hexdigit());
    if !plain || digits.len() != bits as usize / 4 {
        let wanted = bits / 4;
        return Err(Problem::unprocessable(format!(
            "fingerprint: the collection's have {bits} bits, which are {wanted} hexadecimal digits"
        )));
    }
    u128::from_str_radix(digits, 16).map_err(|error| Problem::unprocessable(format!("fingerprint: {error}")))
}

/// What an acknowledged write survives.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DurabilityBody {
    /// A power cut: it is on the disk before the answer is sent.
    #[default]
    Synced,
    /// Nothing until a second later.
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

/// How documents are taken in.
#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct WriteQuery {
    /// Answer what is not new, but do not keep it
    #[serde(default)]
    #[param(default = false)]
    pub(crate) only_new: bool,
    /// What the acknowledged write survives
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

/// The answer to one document of a batch: one of both.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Item {
    /// The answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) answer: Option<Answer>,
    /// Why there is none; the other documents are not concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<Problem>,
}

impl From<Result<Answer, Problem>> for Item {
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

/// One answer a document, in order.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct BatchAnswer {
    /// The answers.
    pub(crate) items: Vec<Item>,
}

/// A text whose neighbours are asked for.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SimilarBody {
    /// The document; it need not be in the collection.
    pub(crate) document: DocumentBody,
    /// Radius of the candidates; the collection's own unless given.
    pub(crate) k: Option<u32>,
    /// Hits wanted at most (10).
    #[schema(minimum = 1, maximum = 1000)]
    pub(crate) limit: Option<u64>,
}

/// A list of results, near-duplicates under the first of them.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Collapsed {
    /// In the order of the first document of each.
    pub(crate) groups: Vec<CollapsedGroup>,
}

/// Near-duplicates among the results.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct CollapsedGroup {
    /// The document to be shown.
    pub(crate) id: String,
    /// Those it stands for.
    pub(crate) duplicates: Vec<String>,
}

/// A collection.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct CollectionInfo {
    /// Its name.
    pub(crate) name: String,
    /// What it was made with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) settings: Option<Settings>,
    /// Why it is not served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
}

/// The collections of the service.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct CollectionList {
    /// By name.
    pub(crate) collections: Vec<CollectionInfo>,
}

/// A deletion.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Deleted {
    /// The number of the change.
    pub(crate) seq: u64,
}

/// Changes, oldest first.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct ChangeList {
    /// The changes.
    pub(crate) changes: Vec<twinprint_collection::Change>,
    /// Ask for those from this number on for what comes next.
    pub(crate) next: u64,
    /// Changes before this number are not told of any more.
    pub(crate) first: u64,
}

/// Documents, a JSON object a line.
#[derive(ToSchema)]
#[schema(format = Binary)]
#[expect(
    dead_code,
    reason = "for the description; lines are read and written as bytes"
)]
pub(crate) struct Lines(String);

/// The result of an import, or of the part of it that was taken before it ended early.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub(crate) struct Imported {
    /// Lines that hold something: those taken and those rejected.
    pub(crate) lines: u64,
    /// Lines whose documents were taken in.
    pub(crate) taken: u64,
    /// Lines that were no documents, or documents that were refused.
    pub(crate) rejected: u64,
    /// Documents taken in, by verdict.
    pub(crate) verdicts: BTreeMap<String, u64>,
    /// The first lines rejected, at most 100, with their reasons.
    #[schema(max_items = 100)]
    pub(crate) rejects: Vec<Reject>,
}

/// A line that was rejected.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Reject {
    /// The line, from 1; blank lines count.
    pub(crate) line: u64,
    /// Why.
    pub(crate) reason: String,
}

/// A job that goes on after its request is answered.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct Job {
    /// Its number, which no other job of this service gets.
    pub(crate) id: u64,
    /// What it does.
    pub(crate) what: String,
    /// The collection it works on.
    pub(crate) collection: String,
    /// Of a backup: its directory among the service's backups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) directory: Option<String>,
    /// Documents done so far. They stay done however the job ends.
    pub(crate) done: u64,
    /// Where it is.
    pub(crate) state: JobState,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
}

/// Some of the jobs.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct JobList {
    /// The newest first.
    pub(crate) jobs: Vec<Job>,
    /// Ask for the jobs after this one for more; none at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_after: Option<u64>,
}

/// Where a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum JobState {
    /// Under way.
    Running,
    /// At its end.
    Done,
    /// Ended early by an error.
    Failed,
    /// Ended early because somebody asked for it.
    Cancelled,
    /// Ended early because the service ended.
    Interrupted,
}

/// Whether the service is ready.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Readiness {
    /// Whether every collection takes writes.
    pub(crate) ready: bool,
    /// What is not as it should be, by collection.
    pub(crate) problems: BTreeMap<String, String>,
}
