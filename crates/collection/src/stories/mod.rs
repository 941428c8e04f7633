//! The stories of a collection: loose clusters of its documents by terms and time.
//!
//! The stories are formed by [`twinprint_cluster::Stories`], which `twinprint cluster` uses as well. A document is
//! placed by its words if it leads a new group or if the story of its group has ended. Every other document joins the
//! story of its group. The row of a document contains the document's story and is written in the same transaction as
//! the document.
//!
//! The engine is in memory, and only the writing thread changes it. The disk contains a saved state of the engine
//! ([`saved`]) and a log of the changes since then ([`log`]). Each log entry is written in the transaction of its
//! change. When a collection is opened, the saved state is read and the log is replayed. When a replay would take more
//! than about a second, the state is saved again and the log is emptied, in one transaction.
//!
//! When a story ends, it is stored as a record with the topic that it has at that time, and is removed from the engine.
//! When a document is deleted, the size of its story decreases, and a title that the story took from the document is
//! dropped. The weight of the document in the story's centre stays, because other documents were compared with that
//! centre. A story without documents is removed.
//!
//! Invariants: A thread that holds the read lock of the [`StoryEngine`] sees the committed state. A replay of the log
//! on the saved state gives the same engine as the one in memory, byte for byte. In a collection with stories, every
//! document is in exactly one story, and the size of a story is the number of its documents.

mod log;
pub(crate) mod saved;

use twinprint_cluster::stories::{Stories, StoryOptions};
use twinprint_io::source::SortValue;
use twinprint_stream::time::{self, MAX_FUTURE_SECONDS};

pub(crate) use self::log::StoryLogEntry;
use super::settings::Settings;
use super::story_item::StoryItem;

/// The cost of replaying a log entry that places a document by its words, which compares the document with the live
/// stories. The unit is the cost of any other entry, [`OTHER_COST`].
const PLACE_COST: u64 = 16;
/// The cost of replaying a log entry that compares nothing: a duplicate joins a story, or a document is removed.
const OTHER_COST: u64 = 1;
/// The largest total replay cost of the log. When the log exceeds it, the state is saved and the log is emptied.
const MAX_REPLAY_COST: u64 = 1 << 16;
/// The largest total replay cost of the log when a collection is closed. If the log exceeds it, the state is saved
/// before closing.
const MAX_REPLAY_COST_AT_CLOSE: u64 = 1 << 12;

/// The story engine with its clock and the range of its log.
pub(crate) struct StoryEngine {
    pub(crate) engine: Stories,
    /// The latest time of any document, as Unix time in seconds.
    clock: i64,
    log: LogRange,
    /// The total cost of replaying the log.
    replay_cost: u64,
    /// The number of parts in which the saved state is stored.
    parts: u64,
}

/// The range of the numbers of log entries since the state was last saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct LogRange {
    first: u64,
    /// The number that the next log entry gets.
    next: u64,
}

/// The result of placing a document: the story that it joined.
pub(crate) struct StoryPlacement {
    pub(crate) story: u64,
    /// The stories that were merged into this one by the placement.
    pub(crate) merged: Vec<u64>,
}

impl StoryEngine {
    /// Creates an engine that contains no stories yet.
    pub(crate) fn new(options: StoryOptions) -> Self {
        Self {
            engine: Stories::new(options),
            clock: i64::MIN,
            log: LogRange::default(),
            replay_cost: 0,
            parts: 0,
        }
    }

    /// Adds a document with the time `time`. If the story of its group is live, the document joins that story.
    /// Otherwise it joins the nearest story, or starts a new one. Returns the story, and the log entry that records the
    /// change.
    pub(crate) fn put(
        &mut self,
        group_story: Option<u64>,
        document: u64,
        time: i64,
        item: &StoryItem,
    ) -> (StoryPlacement, StoryLogEntry) {
        self.clock = self.clock.max(time);
        let now = self.clock;
        self.engine.advance(now);
        if let Some(story) = group_story
            && self.engine.grow(story, time, now)
        {
            let placed = StoryPlacement {
                story: self.engine.resolve(story),
                merged: Vec::new(),
            };
            return (placed, StoryLogEntry::Grow { story, time, now });
        }
        let joined = item.represent(document, time, |item| self.engine.place(item, now));
        let placed = StoryPlacement {
            story: joined.story,
            merged: joined.merged,
        };
        let story = placed.story;
        let entry = StoryLogEntry::Place {
            document,
            story,
            time,
            now,
        };
        (placed, entry)
    }

    /// Removes a document from a live story and returns the log entry that records the change. Returns `None` if the
    /// story has ended, because the engine does not contain ended stories.
    pub(crate) fn shrink(&mut self, story: u64, document: u64) -> Option<StoryLogEntry> {
        let is_live = self.engine.shrink(story, document);
        is_live.then_some(StoryLogEntry::Shrink { story, document })
    }

    /// Replays an entry of the log. Returns `None` if the result differs from the recorded one.
    fn replay(&mut self, entry: StoryLogEntry, item: Option<&StoryItem>) -> Option<()> {
        match entry {
            StoryLogEntry::Grow { story, time, now } => {
                self.clock = now;
                self.engine.advance(now);
                self.engine.grow(story, time, now).then_some(())?;
            }
            StoryLogEntry::Place {
                document,
                story,
                time,
                now,
            } => {
                self.clock = now;
                self.engine.advance(now);
                let joined = item?.represent(document, time, |item| self.engine.place(item, now));
                (joined.story == story).then_some(())?;
            }
            StoryLogEntry::Shrink { story, document } => {
                self.engine.shrink(story, document).then_some(())?;
            }
        }
        // Stories that end during the replay are dropped here, because their records were stored when they ended first.
        self.engine.take_retired();
        Some(())
    }

    /// Adds the replay cost of a log entry to the total.
    fn count(&mut self, entry: StoryLogEntry) {
        self.replay_cost += match entry {
            StoryLogEntry::Place { .. } => PLACE_COST,
            StoryLogEntry::Grow { .. } | StoryLogEntry::Shrink { .. } => OTHER_COST,
        };
    }

    /// Counts an entry that is appended to the log, and returns its number.
    pub(crate) fn next_entry(&mut self, entry: StoryLogEntry) -> u64 {
        self.count(entry);
        let number = self.log.next;
        self.log.next += 1;
        number
    }

    /// True if the replay cost of the log exceeds its limit, so that the state should be saved. The limit is lower if
    /// `closing` is true, which means that the collection is being closed.
    pub(crate) fn is_due(&self, closing: bool) -> bool {
        let limit = if closing {
            MAX_REPLAY_COST_AT_CLOSE
        } else {
            MAX_REPLAY_COST
        };
        self.replay_cost > limit
    }
}

/// Returns the time by which a document is placed in a story: its own time if that can be parsed, otherwise `now`. A
/// time too far in the future is reduced.
pub(crate) fn seen_at(time: Option<&str>, now: i64) -> i64 {
    let own = time.and_then(|time| time::seconds(&SortValue::Text(time.into())));
    own.map_or(now, |own| own.min(now.saturating_add(MAX_FUTURE_SECONDS)))
}

/// The options of the story engine, from the settings; `None` if the collection keeps no stories.
pub(crate) fn options(settings: &Settings) -> Option<StoryOptions> {
    let signed = |seconds: Option<u64>| seconds.map(|seconds| i64::try_from(seconds).unwrap_or(i64::MAX));
    settings.stories.then(|| StoryOptions {
        threshold: settings.story_threshold.into(),
        merge: (settings.story_merge != Some(1.0)).then_some(settings.story_merge.into()),
        window: signed(settings.story_window),
        half_life: signed(settings.story_half_life),
        live: settings.story_live as usize,
        ..StoryOptions::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_without_a_plausible_time_gets_the_current_time() {
        let now = 1_700_000_000;
        assert_eq!(seen_at(None, now), now);
        assert_eq!(seen_at(Some("yesterday"), now), now);
        assert_eq!(seen_at(Some("1970-01-02"), now), 86_400);
        assert_eq!(seen_at(Some("9999-01-01"), now), now + MAX_FUTURE_SECONDS);
    }
}
