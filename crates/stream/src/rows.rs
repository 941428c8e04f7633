//! The rows of `assignments.jsonl`, `groups.jsonl`, `stories.jsonl` and `vectors.jsonl`.

use serde::Serialize;
use twinprint_cluster::groups::DuplicateGroup;
use twinprint_cluster::stories::{Story, Topic};

use super::time::stamp;
use twinprint_io::rows::Ratio;

/// The row of a document in `assignments.jsonl`.
#[derive(Serialize)]
pub(super) struct AssignmentRow<'r> {
    pub(super) id: &'r str,
    pub(super) source: &'r str,
    pub(super) line: u64,
    /// The number of the document in the stream, from 0.
    pub(super) document: u64,
    pub(super) group_id: u64,
    pub(super) story_id: u64,
    /// The Jaccard of the document and the leader that it was verified against; 1 for a founder.
    pub(super) jaccard: Option<Ratio>,
}

/// The row of a group of two documents or more in `groups.jsonl`.
#[derive(Serialize)]
pub(super) struct GroupRow<'r> {
    group_id: u64,
    size: u64,
    story_id: u64,
    first: Option<String>,
    last: Option<String>,
    /// The names of the canonical members: one, or one for each site.
    canonical: Vec<&'r str>,
    /// The ids of the groups that merged into this group.
    merged: &'r [u64],
}

impl<'r> GroupRow<'r> {
    /// Makes the row of a group. `story` is the id of the group's story after all merging. Times are written if `timed`
    /// is true.
    pub(super) fn new(group: &'r DuplicateGroup, story: u64, timed: bool) -> Self {
        let [first, last] = stamps(group.seen, timed);
        Self {
            group_id: group.id,
            size: group.size,
            story_id: story,
            first,
            last,
            canonical: group.canonicals.members().map(|member| &*member.name).collect(),
            merged: &group.merged,
        }
    }
}

fn stamps(seen: [i64; 2], timed: bool) -> [Option<String>; 2] {
    seen.map(|seconds| stamp(seconds).filter(|_| timed))
}

/// The row of a story in `stories.jsonl`.
#[derive(Serialize)]
pub(super) struct StoryRow<'r> {
    story_id: u64,
    size: u64,
    /// The number of the story's documents that are not duplicates of another.
    distinct: u32,
    first: Option<String>,
    last: Option<String>,
    topic: Vec<TermRow<'r>>,
    title: &'r str,
    /// True if no document can join the story any more.
    ended: bool,
    /// The ids of the stories that merged into this story.
    merged: &'r [u64],
}

#[derive(Serialize)]
struct TermRow<'r> {
    term: &'r str,
    weight: f64,
    documents: u32,
}

impl<'r> StoryRow<'r> {
    pub(super) fn new(story: &'r Story, topic: &'r Topic, timed: bool, ended: bool) -> Self {
        let [first, last] = stamps(story.seen, timed);
        let terms = topic.terms.iter().map(|term| TermRow {
            term: &term.text,
            weight: (term.score * 1e4).round() / 1e4,
            documents: term.members,
        });
        Self {
            story_id: story.id,
            size: story.size,
            distinct: story.members,
            first,
            last,
            topic: terms.collect(),
            title: &topic.title,
            ended,
            merged: &story.merged,
        }
    }
}

/// The row of a document in `vectors.jsonl`: the terms and weights by which its story is chosen.
#[derive(Serialize)]
pub(super) struct VectorRow<'r> {
    pub(super) id: &'r str,
    pub(super) document: u64,
    pub(super) vector: std::collections::BTreeMap<String, f32>,
}
