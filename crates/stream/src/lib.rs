//! Clusters of a stream: documents arrive in order, and each document is placed at once in a duplicate group and a
//! story.
//!
//! A **group** is tight: every member was verified on the text against a leader of the group
//! ([`twinprint_cluster::groups`]). A **story** is loose: documents of one event or subject, by terms and time
//! ([`twinprint_cluster::stories`]). The founder of a group is placed among the stories. The other members belong to
//! the same story, but do not add to its centre or its topic.
//!
//! * [`Stream`] is the library interface: it places one document at a time.
//! * [`cluster`](fn@cluster) runs a stream over files and writes the result to a directory.
//! * [`LabelledDocuments`] measures the agreement of clusters in a file with labels of documents.
//!
//! The clock of the stream is the latest time of any document so far, so it never goes back. A document without a time
//! gets the time of the clock. If no document has a time, the clock stands still and nothing ends by age.
//!
//! Invariant: groups and stories depend on the order of the documents only, not on the number of threads, and not on
//! whether the state was stored and read again in between.
//!
//! ```
//! use twinprint_stream::{Document, Stream, StreamOptions, parse_time};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut stream = Stream::new(StreamOptions::new()?);
//! let texts = [
//!     "Cocoa prices rose in London after rain delayed the harvest in Ghana.",
//!     "Cocoa prices rose in London after rain delayed the harvest in Ghana!",
//!     "The city council voted to build a bridge over the river.",
//! ];
//! for (name, text) in ["a", "b", "c"].into_iter().zip(texts) {
//!     let time = Some(parse_time("2024-05-01T12:00:00Z")?);
//!     let assigned = stream.add(&Document { name, text, time, ..Document::default() });
//!     println!("{name}: group {}, story {}, new: {}", assigned.group, assigned.story, assigned.is_new());
//! }
//! assert_eq!(stream.groups().len(), 2);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod agreement;
mod batch;
mod cosine_chart;
mod error;
pub mod fields;
mod history;
mod job;
mod labelled;
pub mod leader_index;
mod leaders;
mod members;
mod options;
mod output;
mod page;
mod prepare;
mod role;
mod rows;
mod run;
mod state;
mod state_difference;
mod state_file;
mod summary;
#[cfg(test)]
mod tests;
pub mod time;
pub mod words;

use twinprint_cluster::groups::{GroupItem, Groups};
use twinprint_cluster::stories::{Estimate, Representative, Stories, StoryPlacement, Thresholds};
use twinprint_cluster::{Similarity, groups, stories};
use twinprint_fingerprint::HashKey;
use twinprint_io::VERSION;

pub use agreement::AgreementReport;
pub use error::{StateError, StreamError};
pub use fields::FieldKeys;
pub use job::{ClusterJob, ClusterRun};
pub use labelled::{FileAgreement, LabelledDocuments};
pub use options::{Scope, StreamOptions};
pub use prepare::{Document, Prepared, Preparer};
pub use run::cluster;
pub use state_difference::StateDifference;
pub use summary::{ClusterSummary, StoryThresholds};
pub use time::{parse_span, parse_time};
pub use twinprint_cluster::groups::{DuplicateGroup, Preference};
pub use twinprint_cluster::stories::{Method, Story, Threshold, Topic};

use history::PastRuns;
use leaders::Leaders;

/// The place of a document in the stream: its group, its story, and the leader that it was verified against.
#[derive(Clone, Debug, PartialEq)]
pub struct Assigned {
    /// The number of the document in the stream, from 0.
    pub document: u64,
    /// The id of the document's duplicate group. The group may merge into another later: see [`Stream::group`].
    pub group: u64,
    /// The id of the document's story. The story may merge into another later: see [`Stream::story`].
    pub story: u64,
    /// The number of the leader that the document was verified against; the document's own number if it founded the
    /// group.
    pub leader: u64,
    /// The similarity of the document to that leader.
    pub similarity: Similarity,
}

impl Assigned {
    /// True if the document is not a duplicate of an earlier one.
    pub fn is_new(&self) -> bool {
        self.leader == self.document
    }
}

/// The groups and stories of a stream. Memory is bounded by the live groups and stories, whose number [`StreamOptions`]
/// limits.
///
/// # Examples
/// ```
/// use twinprint_stream::{Document, Stream, StreamOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut stream = Stream::new(StreamOptions::new()?);
/// let first = stream.add(&Document {
///     name: "a",
///     text: "Cocoa prices rose in London after rain delayed the harvest in Ghana.",
///     ..Document::default()
/// });
/// let copy = stream.add(&Document {
///     name: "b",
///     text: "Cocoa prices rose in London, after rain delayed the harvest in Ghana!",
///     ..Document::default()
/// });
/// assert!(first.is_new() && !copy.is_new());
/// assert_eq!((copy.group, copy.leader), (first.group, first.document));
///
/// // Groups and stories merge, so ids are resolved when they are used.
/// let id = stream.story(copy.story);
/// for story in stream.stories().filter(|story| story.id == id) {
///     let topic = stream.topic(story);
///     println!("{} documents: {}", story.size, topic.title);
///     assert_eq!(story.size, 2);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Stream {
    options: StreamOptions,
    key: HashKey,
    documents: u64,
    /// The latest time of any document, in seconds since 1970.
    clock: Option<i64>,
    groups: Groups,
    stories: Stories,
    leaders: Leaders,
    past: PastRuns,
}

/// Makes a random key for hashing shingles, which differs in every process, so that no input can provoke collisions. No
/// output depends on the key.
fn random_key() -> HashKey {
    use std::hash::{BuildHasher, RandomState};
    HashKey::new(RandomState::new().hash_one(0), RandomState::new().hash_one(1))
}

impl Stream {
    /// Creates a stream without documents.
    pub fn new(options: StreamOptions) -> Self {
        let key = random_key();
        Self {
            key,
            documents: 0,
            clock: None,
            groups: Groups::new(options.groups.clone()),
            stories: Stories::new(options.stories.clone()),
            leaders: Leaders::new(options.threshold, options.radius, key),
            past: PastRuns::default(),
            options,
        }
    }

    /// The options of the stream.
    pub fn options(&self) -> &StreamOptions {
        &self.options
    }

    /// The number of documents placed so far.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// Creates a preparer of documents for this stream, for use on any thread.
    pub fn preparer(&self) -> Preparer {
        Preparer::new(&self.options.profile, self.key)
    }

    /// Prepares and places a document. To use many threads, call [`preparer`](Self::preparer) on each of them, and
    /// [`place`](Self::place) on one.
    pub fn add(&mut self, document: &Document<'_>) -> Assigned {
        let prepared = self.preparer().prepare(document);
        self.place(&prepared)
    }

    /// Counts the words of a document that will be placed later, so that more documents contribute to the word weights;
    /// see [`Stories::count_ahead`].
    pub fn count_ahead(&mut self, document: &Prepared) {
        self.represent(document, 0, 0, |stories, item, _| stories.count_ahead(item));
    }

    /// Returns the vector with which a document would be compared with stories now: terms with weights. The vector has
    /// length 1.
    pub fn vector(&mut self, document: &Prepared) -> Vec<(String, f32)> {
        self.represent(document, 0, 0, |stories, item, _| stories.vector_of(item))
    }

    /// Places a document that this stream's [`preparer`](Self::preparer) has prepared.
    pub fn place(&mut self, document: &Prepared) -> Assigned {
        let number = self.documents;
        self.documents += 1;
        self.clock = self.clock.max(document.time);
        let now = self.clock.unwrap_or(0);
        let time = document.time.unwrap_or(now);
        let mut space = self.leaders.space_for(&document.text);
        self.groups.advance(now, &mut space);
        let item = GroupItem {
            fingerprint: document.text.fingerprint(),
            member: members::member(document, number, time, self.options.scope),
        };
        let placed = self.groups.place(item, now, &mut space);
        self.stories.advance(now);
        let label = self
            .groups
            .get_mut(placed.group)
            .map(|group| group.label)
            .filter(|_| placed.leader != number);
        let story = match label {
            Some(story) if self.stories.grow(story, time, now) => self.stories.resolve(story),
            // The document founds a group, or it is the first duplicate after the story of its group ended. Either way
            // it is placed among the stories.
            _ => {
                let joined: StoryPlacement = self.represent(document, number, time, |stories, item, now| {
                    stories.place(item, now)
                });
                joined.story
            }
        };
        if let Some(group) = self.groups.get_mut(placed.group) {
            group.label = story;
        }
        Assigned {
            document: number,
            group: placed.group,
            story,
            leader: placed.leader,
            similarity: placed.similarity,
        }
    }

    /// Calls `use_item` with the stories, with the document in the form in which stories compare it, and with the
    /// clock.
    fn represent<T>(
        &mut self,
        document: &Prepared,
        number: u64,
        time: i64,
        use_item: impl FnOnce(&mut Stories, &Representative<'_>, i64) -> T,
    ) -> T {
        let host = document.host();
        let item = Representative {
            document: number,
            time,
            site: twinprint_fingerprint::hash_one(&HashKey::PUBLIC, host.as_bytes()) as u64,
            title: &document.title,
            words: &document.words(),
            opening: document.opening(),
        };
        use_item(&mut self.stories, &item, self.clock.unwrap_or(0))
    }

    /// Resolves the id of a group: returns the id of the group that it has merged into, or else the same id.
    pub fn group(&self, group: u64) -> u64 {
        self.groups.resolve(group)
    }

    /// Resolves the id of a story: returns the id of the story that it has merged into, or else the same id.
    pub fn story(&self, story: u64) -> u64 {
        self.stories.resolve(story)
    }

    /// The live groups, the oldest first.
    pub fn groups(&self) -> impl ExactSizeIterator<Item = &DuplicateGroup> {
        self.groups.live()
    }

    /// The live stories, the oldest first.
    pub fn stories(&self) -> impl ExactSizeIterator<Item = &Story> {
        self.stories.live()
    }

    /// The thresholds of stories that are in force.
    pub fn story_thresholds(&self) -> Thresholds {
        self.stories.thresholds()
    }

    /// The estimate of the thresholds of stories, with the cosines that it was made from; `None` if the thresholds are
    /// given, or if there are too few documents yet.
    pub fn story_estimate(&self) -> Option<&Estimate> {
        self.stories.estimate()
    }

    /// The thresholds of stories, as the summary of a run reports them.
    fn reported_thresholds(&self) -> Option<StoryThresholds> {
        let options = &self.options.stories;
        let Thresholds { join, merge } = self.story_thresholds();
        let estimated = [Some(options.threshold), options.merge].contains(&Some(Threshold::Estimated));
        let items = || self.story_estimate().map_or(0, |estimate| estimate.items);
        (options.method == Method::Nearest).then(|| StoryThresholds {
            join,
            is_join_given: options.threshold.given().is_some(),
            merge,
            estimated_from: estimated.then(items),
        })
    }

    /// Returns the topic of a live story: its terms and a title.
    pub fn topic(&self, story: &Story) -> Topic {
        self.stories.topic(story)
    }

    /// Takes the groups and stories that ended since the last call. No document can join them any more. A story comes
    /// with its topic.
    pub fn take_retired(&mut self) -> (Vec<DuplicateGroup>, Vec<(Story, Topic)>) {
        (self.groups.take_retired(), self.stories.take_retired())
    }

    /// Returns how many operations on groups and on stories there have been so far, by kind.
    pub fn counts(&self) -> (groups::GroupCounts, stories::StoryCounts) {
        (self.groups.counts(), self.stories.counts())
    }
}

/// The example of the README, compiled as a doctest.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
