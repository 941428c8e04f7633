//! The record of a story: its size, times and topic. It is stored when the story ends.

use serde::{Deserialize, Serialize};
use twinprint_cluster::stories::{Story, Topic};

/// A word or name of a topic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StoryTerm {
    /// The text of the term.
    pub term: String,
    /// The weight by which terms are ordered. Weights of different topics are not comparable.
    pub weight: f64,
    /// The number of documents of the story that contain it, without copies.
    pub documents: u32,
}

/// The record of a story.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoryRecord {
    /// The number of its documents.
    pub(crate) size: u64,
    /// The number of documents that were placed in it, without copies.
    pub(crate) distinct: u32,
    /// The times of its first and last document, in seconds since 1970.
    pub(crate) seen: [i64; 2],
    pub(crate) topic: Vec<StoryTerm>,
    pub(crate) title: String,
    /// The number of the document with the title; `None` if that is no longer stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) titled_by: Option<u64>,
    /// The stories that were merged into it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) merged: Vec<u64>,
}

impl StoryRecord {
    /// The record of a story of the engine.
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

/// The terms of a topic, with weights rounded to four decimals.
fn terms(topic: &Topic) -> Vec<StoryTerm> {
    let terms = topic.terms.iter().map(|term| StoryTerm {
        term: term.text.clone(),
        weight: (term.score * 1e4).round() / 1e4,
        documents: term.members,
    });
    terms.collect()
}
