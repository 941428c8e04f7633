//! The stories of a collection: loose clusters of its documents by terms and time, kept with them.
//!
//! The engine is [`twinprint_cluster::Stories`], the same as of `twinprint cluster`. A document that founds a group, or whose group's story has ended,
//! is placed by its words; every other is one more of its group's story. The story of a document stands in its row, and is written in the
//! same transaction as the document.
//!
//! The engine lives in memory, in the hands of the thread that writes. On disk are what it was at some time (the saved state, [`saved`]) and
//! everything that happened to it since (the log, [`log`]), each entry in the transaction of the write that it belongs to. Opened, a
//! collection reads the state and does again what the log says; when that would take more than a second or so, the state is saved
//! anew and the log begins anew, in one transaction.
//!
//! What ends is written as a record with its topic as of then, and leaves the engine. A document that goes leaves its story with one document
//! less and takes its title along; what it weighs in the centre stays, since others were compared with that. A story without
//! documents is gone.
//!
//! Invariants: whoever holds the lock of [`Kept`] for reading sees what is committed; the saved state and the log give the engine in
//! memory, byte for byte; every document of a collection with stories has one, and what a story says of its size is true.

mod check;
mod commit;
mod item;
mod log;
mod query;
mod saved;
mod tables;

use twinprint_cluster::stories::{Stories, StoryOptions};

pub use self::query::{Story, StoryDetail, StoryList, StoryQuery, StoryTerm};

pub(crate) use self::item::Item;
pub(crate) use self::saved::load;
pub(crate) use self::tables::{StoryRecord, StoryTables};

use self::log::Entry;
use super::settings::Settings;
use twinprint_io::source::SortValue;
use twinprint_stream::time::{self, MAX_FUTURE_SECONDS};

/// What doing again takes, placing an item beside anything else, and how much of it the log may hold.
const WORK: [u64; 2] = [16, 1];
const MOST_WORK: u64 = 1 << 16;
/// At the end of a collection, how much of it is left to be done again.
const LEFT_WORK: u64 = 1 << 12;

/// The engine with its clock, and where the log is.
pub(crate) struct Kept {
    pub(crate) engine: Stories,
    /// The latest time of any document.
    clock: i64,
    /// Numbers of the first entry of the log and of the next.
    log: [u64; 2],
    /// What doing the log again would take.
    work: u64,
    /// Parts of the saved state.
    parts: u64,
}

/// Where a document went.
pub(crate) struct Placed {
    pub(crate) story: u64,
    /// Stories that are now part of it.
    pub(crate) merged: Vec<u64>,
}

impl Kept {
    pub(crate) fn new(options: StoryOptions) -> Self {
        Self {
            engine: Stories::new(options),
            clock: i64::MIN,
            log: [0; 2],
            work: 0,
            parts: 0,
        }
    }

    /// A document seen at `time`: of the story of its group, where that lives, or else of the nearest or a new one. Tells what belongs into
    /// the log.
    fn put(&mut self, label: Option<u64>, document: u64, time: i64, item: &Item) -> (Placed, Entry) {
        self.clock = self.clock.max(time);
        let now = self.clock;
        self.engine.advance(now);
        if let Some(label) = label
            && self.engine.grow(label, time, now)
        {
            let placed = Placed {
                story: self.engine.resolve(label),
                merged: Vec::new(),
            };
            let story = label;
            return (placed, Entry::Grow { story, time, now });
        }
        let joined = item.represent(document, time, |item| self.engine.place(item, now));
        let placed = Placed {
            story: joined.story,
            merged: joined.merged,
        };
        let story = placed.story;
        let entry = Entry::Place {
            document,
            story,
            time,
            now,
        };
        (placed, entry)
    }

    /// A document of a story is gone. Nothing where the story does not live.
    fn shrink(&mut self, story: u64, document: u64) -> Option<Entry> {
        let lives = self.engine.shrink(story, document);
        lives.then_some(Entry::Shrink { story, document })
    }

    /// Does an entry of the log again. Nothing where that comes to something else than it did.
    fn again(&mut self, entry: Entry, item: Option<&Item>) -> Option<()> {
        match entry {
            Entry::Grow { story, time, now } => {
                self.clock = now;
                self.engine.advance(now);
                self.engine.grow(story, time, now).then_some(())?;
            }
            Entry::Place {
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
            Entry::Shrink { story, document } => {
                self.engine.shrink(story, document).then_some(())?;
            }
        }
        // What ended is on the disk already.
        self.engine.take_retired();
        Some(())
    }

    /// Counts an entry of the log.
    fn count(&mut self, entry: Entry) {
        let [place, other] = WORK;
        self.work += if matches!(entry, Entry::Place { .. }) {
            place
        } else {
            other
        };
    }

    /// The number of an entry to be logged.
    fn note(&mut self, entry: Entry) -> u64 {
        self.count(entry);
        let number = self.log[1];
        self.log[1] += 1;
        number
    }

    /// Whether the state is to be saved anew.
    pub(crate) fn is_due(&self, closing: bool) -> bool {
        self.work > if closing { LEFT_WORK } else { MOST_WORK }
    }
}

/// When a document was seen: by its own time, if that is one, or else when it came in.
fn seen(time: Option<&str>, now: i64) -> i64 {
    let own = time.and_then(|time| time::seconds(&SortValue::Text(time.into())));
    own.map_or(now, |own| own.min(now.saturating_add(MAX_FUTURE_SECONDS)))
}

/// How stories are formed; none where none are kept.
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
    fn a_document_is_seen_at_its_time_or_when_it_comes_in() {
        let now = 1_700_000_000;
        assert_eq!(seen(None, now), now);
        assert_eq!(seen(Some("yesterday"), now), now);
        assert_eq!(seen(Some("1970-01-02"), now), 86_400);
        assert_eq!(seen(Some("9999-01-01"), now), now + MAX_FUTURE_SECONDS);
    }
}
