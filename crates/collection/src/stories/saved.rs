//! Saves the state of the stories to the store, and loads it again.
//!
//! The saved state is the encoded and compressed engine, stored in parts. The entry `stories` in the table `meta`
//! records the first and the next number of the log, the number of parts and the clock. So a lost part or log entry is
//! detected.

use redb::ReadTransaction;
use twinprint_cluster::stories::Stories;

use super::log::StoryLogEntry;
use super::{LogRange, StoryEngine, options};
use crate::database::{Database, META, STORY_LOG, STORY_STATE, words};
use crate::error::CollectionError;
use crate::seal::unseal;
use crate::settings::Settings;
use crate::story_item::StoryItem;
use crate::tables::Tables;

/// The size of a part of the saved state, in bytes.
const PART_BYTES: usize = 1 << 20;
/// The zstd level of the saved state. A fast level is used because the state is written more often than it is read.
const LEVEL: i32 = 1;

impl StoryEngine {
    /// Records the range of the log in the store. If the log has become too long, saves the state of the engine first
    /// and empties the log.
    pub(crate) fn write(&mut self, tables: &mut Tables<'_>, closing: bool) -> Result<(), CollectionError> {
        if self.is_due(closing) {
            let packed = zstd::bulk::compress(&self.engine.encode(), LEVEL);
            let packed = packed.map_err(|error| {
                CollectionError::invalid(format!("the stories cannot be compressed: {error}"))
            })?;
            let pieces: Vec<&[u8]> = packed.chunks(PART_BYTES).collect();
            tables.stories()?.save_state(&pieces)?;
            self.parts = pieces.len() as u64;
            self.log.first = self.log.next;
            self.replay_cost = 0;
        }
        let head = [self.log.first, self.log.next, self.parts, self.clock as u64];
        tables.put_meta("stories", head.into_iter().flat_map(u64::to_le_bytes).collect())
    }
}

/// Rebuilds the story engine from the saved state and the log; `None` if the collection keeps no stories.
pub(crate) fn load(
    store: &Database,
    transaction: &ReadTransaction,
    settings: &Settings,
) -> Result<Option<StoryEngine>, CollectionError> {
    let Some(options) = options(settings) else {
        return Ok(None);
    };
    let lost = |what: String| store.damaged(format!("stories: {what}"));
    let meta = store.table(transaction, META)?;
    let Some(head) = store.sealed_by_name(&meta, "meta", "stories")? else {
        return Ok(Some(StoryEngine::new(options)));
    };
    let [from, next, parts, clock] =
        words::<4>(&head).ok_or_else(|| lost("the range of their log cannot be decoded".to_owned()))?;
    let mut stories = StoryEngine {
        clock: clock as i64,
        log: LogRange { first: from, next },
        parts,
        ..StoryEngine::new(options.clone())
    };
    if parts > 0 {
        let table = store.table(transaction, STORY_STATE)?;
        let mut packed = Vec::new();
        for part in 0..parts {
            let bytes = store.sealed(&table, "story_state", part)?;
            packed.extend(bytes.ok_or_else(|| lost(format!("part {part} of their state is lost")))?);
        }
        let bytes = zstd::stream::decode_all(packed.as_slice()).ok();
        let engine = bytes.and_then(|bytes| Stories::decode(&bytes, options));
        stories.engine = engine.ok_or_else(|| lost("their state cannot be decoded".to_owned()))?;
    }
    let table = store.table(transaction, STORY_LOG)?;
    let entries = table.range(from..next).map_err(|error| store.unreadable(error))?;
    let mut due = from;
    for entry in entries {
        let (key, sealed) = entry.map_err(|error| store.unreadable(error))?;
        let number = key.value();
        let (entry, packed) = unseal("story_log", &number.to_le_bytes(), sealed.value())
            .and_then(StoryLogEntry::decode)
            .ok_or_else(|| store.wrong_checksum("story_log", number))?;
        let item = match entry {
            StoryLogEntry::Place { .. } => {
                Some(StoryItem::unpack(packed).ok_or_else(|| store.wrong_checksum("story_log", number))?)
            }
            _ => None,
        };
        if number == due && stories.replay(entry, item.as_ref()).is_some() {
            due += 1;
        } else {
            return Err(lost(format!("entry {number} of their log cannot be replayed")));
        }
        stories.count(entry);
    }
    if due != next {
        return Err(lost(format!("entry {due} of their log is lost")));
    }
    Ok(Some(stories))
}
