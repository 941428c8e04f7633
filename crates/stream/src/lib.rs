//! Clusters of a stream: documents come one at a time and are placed at once, in a duplicate group and in a story.
//!
//! A **group** is tight: its members were verified on the text ([`twinprint_cluster::groups`]). A **story** is loose: documents of one event or subject,
//! by terms and time ([`twinprint_cluster::stories`]). A group sends its founder to the stories; its other members are the story's as well, but do not weigh in
//! its centre or its topic. [`Stream`] is the library's way in; [`cluster`](fn@cluster) runs it over files.
//!
//! The clock of the stream is the latest time of any document so far, so that it never goes back; documents without a time are seen at
//! that time, and if none has one, the clock stands still and nothing is retired by age.
//!
//! Invariant: what is placed depends on the order of the documents alone, not on threads, and not on whether the state was stored and read
//! again in between.

#![forbid(unsafe_code)]

mod agreement;
mod error;
mod feed;
pub mod fields;
mod judge;
pub mod leader_index;
mod leaders;
mod members;
mod options;
mod page;
mod prepare;
mod role;
mod rows;
mod run;
mod runs;
mod state;
mod state_file;
#[cfg(test)]
mod tests;
pub mod time;
pub mod words;

use twinprint_cluster::groups::{DuplicateGroup, GroupItem, Groups};
use twinprint_cluster::stories::{Representative, Stories, Story, StoryPlacement, Topic};
use twinprint_cluster::{Similarity, groups, stories};
use twinprint_fingerprint::HashKey;
use twinprint_io::VERSION;

pub use agreement::AgreementReport;
pub use error::StreamError;
pub use fields::FieldKeys;
pub use judge::LabelledDocuments;
pub use options::{Scope, StreamOptions};
pub use prepare::{Document, Prepared, Preparer};
pub use run::{ClusterJob, ClusterRun, ClusterSummary, cluster};
pub use state::StateError;
pub use time::{parse_span, parse_time};
pub use twinprint_cluster::groups::Preference;
pub use twinprint_cluster::stories::Method;

use leaders::Leaders;
use runs::PastRuns;

/// Where a document was placed.
#[derive(Clone, Debug, PartialEq)]
pub struct Assigned {
    /// Its number in the stream, from 0.
    pub document: u64,
    /// Its duplicate group, which may become part of another: see [`Stream::group`].
    pub group: u64,
    /// Its story, which may become part of another: see [`Stream::story`].
    pub story: u64,
    /// The leader it was verified against, by number; itself where it founded the group.
    pub leader: u64,
    /// Its similarity to that leader.
    pub similarity: Similarity,
}

impl Assigned {
    /// Whether it is no duplicate of anything seen before.
    pub fn is_new(&self) -> bool {
        self.leader == self.document
    }
}

/// Groups and stories of a stream. Memory is bounded by the live ones, see [`StreamOptions`].
#[derive(Debug)]
pub struct Stream {
    options: StreamOptions,
    key: HashKey,
    documents: u64,
    /// The latest time so far.
    clock: Option<i64>,
    groups: Groups,
    stories: Stories,
    leaders: Leaders,
    past: PastRuns,
}

/// A key that is different in every process; it decides nothing that is written.
fn random_key() -> HashKey {
    use std::hash::{BuildHasher, RandomState};
    HashKey::new(RandomState::new().hash_one(0), RandomState::new().hash_one(1))
}

impl Stream {
    /// A stream of which nothing has been seen.
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

    /// The options it was made with.
    pub fn options(&self) -> &StreamOptions {
        &self.options
    }

    /// Documents placed so far.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// Prepares documents for this stream, on any thread.
    pub fn preparer(&self) -> Preparer {
        Preparer::new(&self.options.profile, self.key)
    }

    /// Prepares and places a document. To use many threads, prepare documents on all of them and place them on one.
    pub fn add(&mut self, document: &Document<'_>) -> Assigned {
        let prepared = self.preparer().prepare(document);
        self.place(&prepared)
    }

    /// Counts the words of a document that will be placed later, so that what they weigh is known better; see
    /// [`Stories::count_ahead`].
    pub fn count_ahead(&mut self, document: &Prepared) {
        self.represent(document, 0, 0, |stories, item, _| stories.count_ahead(item));
    }

    /// The vector that a document would have in its story now: terms and weights, of length 1.
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
            // The founder of a group, or the first duplicate after the group's story has ended.
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

    fn represent<T>(
        &mut self,
        document: &Prepared,
        number: u64,
        time: i64,
        f: impl FnOnce(&mut Stories, &Representative<'_>, i64) -> T,
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
        f(&mut self.stories, &item, self.clock.unwrap_or(0))
    }

    /// The group that has become of one.
    pub fn group(&self, group: u64) -> u64 {
        self.groups.resolve(group)
    }

    /// The story that has become of one.
    pub fn story(&self, story: u64) -> u64 {
        self.stories.resolve(story)
    }

    /// Live groups, oldest first.
    pub fn groups(&self) -> impl ExactSizeIterator<Item = &DuplicateGroup> {
        self.groups.live()
    }

    /// Live stories, oldest first.
    pub fn stories(&self) -> impl ExactSizeIterator<Item = &Story> {
        self.stories.live()
    }

    /// What a live story is about.
    pub fn topic(&self, story: &Story) -> Topic {
        self.stories.topic(story)
    }

    /// The groups and stories that were retired since the last call: still of interest, but nothing will join them.
    pub fn take_retired(&mut self) -> (Vec<DuplicateGroup>, Vec<(Story, Topic)>) {
        (self.groups.take_retired(), self.stories.take_retired())
    }

    /// What was done so far.
    pub fn counts(&self) -> (groups::GroupCounts, stories::StoryCounts) {
        (self.groups.counts(), self.stories.counts())
    }
}
