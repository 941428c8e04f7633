//! Stories of a collection: loose clusters of its documents by terms and time.
//!
//! The engine is [`twinprint_cluster::Stories`], the same as that of `twinprint cluster`. A document that founds a group, or whose group's
//! story has ended, is placed by its words. Every other document joins the story of its group. The row of a document contains its story and
//! is written in the same transaction as the document.
//!
//! The engine is in memory and belongs to the writing thread. The disk contains its saved state ([`saved`]) and a log of the steps since then
//! ([`log`]); each entry is written in the transaction of its step. When a collection is opened, the state is read and the log replayed. When
//! a replay would take more than about a second, the state is saved and the log emptied, in one transaction.
//!
//! A story that ends is stored as a record with its topic at that time, and leaves the engine. A deleted document reduces the size of its story
//! and takes its title with it; its weight in the story's centre stays, since other documents were compared with that centre. A story without
//! documents is removed.
//!
//! Invariants: a thread that holds the lock of the [`StoryEngine`] for reading sees the committed state; the saved state and the log give the
//! engine in memory, byte for byte; every document of a collection with stories is in one, and the size of a story is the number of its
//! documents.

mod log;
pub(crate) mod saved;

use twinprint_cluster::stories::{Stories, StoryOptions};
use twinprint_io::source::SortValue;
use twinprint_stream::time::{self, MAX_FUTURE_SECONDS};

pub(crate) use self::log::StoryLogEntry;
use super::settings::Settings;
use super::story_item::StoryItem;

/// The replay cost of a placed item. A placement compares the item with the stories; the other steps cost [`OTHER_COST`].
const PLACE_COST: u64 = 16;
/// The replay cost of a step that places nothing.
const OTHER_COST: u64 = 1;
/// The largest replay cost of the log. Beyond it, the state is saved.
const MAX_REPLAY_COST: u64 = 1 << 16;
/// The largest replay cost of the log that a closed collection leaves.
const MAX_REPLAY_COST_AT_CLOSE: u64 = 1 << 12;

/// The story engine with its clock and the position of its log.
pub(crate) struct StoryEngine {
    pub(crate) engine: Stories,
    /// The latest time of any document, in seconds since 1970.
    clock: i64,
    log: LogRange,
    /// The cost of replaying the log.
    replay_cost: u64,
    /// The number of parts of the saved state.
    parts: u64,
}

/// The numbers of the log entries since the last saved state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct LogRange {
    first: u64,
    /// The number of the next entry.
    next: u64,
}

/// The story that a document joined.
pub(crate) struct StoryPlacement {
    pub(crate) story: u64,
    /// The stories that were merged into it.
    pub(crate) merged: Vec<u64>,
}

impl StoryEngine {
    /// An engine without stories.
    pub(crate) fn new(options: StoryOptions) -> Self {
        Self {
            engine: Stories::new(options),
            clock: i64::MIN,
            log: LogRange::default(),
            replay_cost: 0,
            parts: 0,
        }
    }

    /// Adds a document seen at `time`. It joins the story of its group if that is live, or else the nearest story or a new one. Returns the story
    /// and the entry for the log.
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

    /// Removes a document from a story. Returns the entry for the log; `None` if the story has ended.
    pub(crate) fn shrink(&mut self, story: u64, document: u64) -> Option<StoryLogEntry> {
        let is_live = self.engine.shrink(story, document);
        is_live.then_some(StoryLogEntry::Shrink { story, document })
    }

    /// Replays an entry of the log. Returns `None` if the result is not the recorded one.
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
        // The records of ended stories are on the disk already.
        self.engine.take_retired();
        Some(())
    }

    /// Adds the cost of an entry of the log.
    fn count(&mut self, entry: StoryLogEntry) {
        self.replay_cost += match entry {
            StoryLogEntry::Place { .. } => PLACE_COST,
            StoryLogEntry::Grow { .. } | StoryLogEntry::Shrink { .. } => OTHER_COST,
        };
    }

    /// Returns the number of an entry that is appended to the log.
    pub(crate) fn next_entry(&mut self, entry: StoryLogEntry) -> u64 {
        self.count(entry);
        let number = self.log.next;
        self.log.next += 1;
        number
    }

    /// True if the state should be saved.
    pub(crate) fn is_due(&self, closing: bool) -> bool {
        let limit = if closing {
            MAX_REPLAY_COST_AT_CLOSE
        } else {
            MAX_REPLAY_COST
        };
        self.replay_cost > limit
    }
}

/// Returns the time when a document was seen: its own time if that can be parsed, or else the present.
pub(crate) fn seen_at(time: Option<&str>, now: i64) -> i64 {
    let own = time.and_then(|time| time::seconds(&SortValue::Text(time.into())));
    own.map_or(now, |own| own.min(now.saturating_add(MAX_FUTURE_SECONDS)))
}

/// The options of the story engine; `None` if the collection keeps no stories.
pub(crate) fn options(settings: &Settings) -> Option<StoryOptions> {
    let signed = |seconds: Option<u64>| seconds.map(|seconds| i64::try_from(seconds).unwrap_or(i64::MAX));
    settings.stories.then(|| StoryOptions {
        threshold: settings.story_threshold,
        merge: (settings.story_merge < 1.0).then_some(settings.story_merge),
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
