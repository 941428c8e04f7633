//! The record of a story: its size, times and topic. The record is stored when the story ends.

use serde::{Deserialize, Serialize};
use twinprint_cluster::stories::{Story, Topic};

/// A term of a story's topic: a word or a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StoryTerm {
    /// The text of the term.
    pub term: String,
    /// The weight by which the terms of one topic are ordered. Weights of different topics are not comparable.
    pub weight: f64,
    /// The number of documents of the story that contain the term. Duplicates are not counted.
    pub documents: u32,
}

/// The record of a story: made from the engine while the story is live, and stored when the story ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoryRecord {
    /// The number of documents in the story.
    pub(crate) size: u64,
    /// The number of documents that joined the story by their words. Duplicates are not counted.
    pub(crate) distinct: u32,
    /// The times of the story's first and last document, as Unix time in seconds.
    pub(crate) seen: [i64; 2],
    pub(crate) topic: Vec<StoryTerm>,
    pub(crate) title: String,
    /// The number of the document that the title is taken from; `None` if that document is no longer stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) titled_by: Option<u64>,
    /// The numbers of the stories that were merged into this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) merged: Vec<u64>,
}

impl StoryRecord {
    /// Makes the record of a story from the engine's data.
    pub(crate) fn new(story: &Story, topic: Topic, titled_by: Option<u64>) -> Self {
        Self {
            size: story.size,
            distinct: story.members,
            seen: story.seen,
            topic: terms(&topic),
            title: topic.title,
            titled_by,
            merged: story.merged.clone(),
        }
    }
}

/// Returns the terms of a topic, with weights rounded to four decimals.
fn terms(topic: &Topic) -> Vec<StoryTerm> {
    let terms = topic.terms.iter().map(|term| StoryTerm {
        term: term.text.clone(),
        weight: (term.score * 1e4).round() / 1e4,
        documents: term.members,
    });
    terms.collect()
}
