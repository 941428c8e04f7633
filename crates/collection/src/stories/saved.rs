//! The saved state of the stories, and how they are read again.
//!
//! The state is the engine's own bytes, compressed, in parts. An entry of `meta` says how many parts there are, where the log begins and
//! where it ends, and what the clock was: a part or an entry that got lost is noticed.

use redb::ReadTransaction;
use twinprint_cluster::stories::Stories;

use super::super::error::CollectionError;
use super::super::seal::unseal;
use super::super::settings::Settings;
use super::super::store::{META, STORY_LOG, STORY_STATE, Store, words};
use super::super::tables::Tables;
use super::log::Entry;
use super::{Item, Kept, options};

/// Bytes of a part.
const PART: usize = 1 << 20;
/// Level of compression: what is saved is written more often than read.
const LEVEL: i32 = 1;

impl Kept {
    /// Saves the state where it is due, and says where the log is.
    pub(crate) fn write(&mut self, tables: &mut Tables<'_>, closing: bool) -> Result<(), CollectionError> {
        if self.is_due(closing) {
            let packed = zstd::bulk::compress(&self.engine.encode(), LEVEL);
            let packed = packed.map_err(|error| CollectionError::invalid(format!("stories: {error}")))?;
            let pieces: Vec<&[u8]> = packed.chunks(PART).collect();
            tables.save_stories(&pieces)?;
            self.parts = pieces.len() as u64;
            self.log[0] = self.log[1];
            self.work = 0;
        }
        let [from, next] = self.log;
        let head = [from, next, self.parts, self.clock as u64];
        tables.put_meta("stories", head.into_iter().flat_map(u64::to_le_bytes).collect())
    }
}

/// The stories as they are on the disk; none where the collection keeps none. Reads the state, and does again what the log says.
pub(crate) fn load(
    store: &Store,
    transaction: &ReadTransaction,
    settings: &Settings,
) -> Result<Option<Kept>, CollectionError> {
    let Some(options) = options(settings) else {
        return Ok(None);
    };
    let lost = |what: String| store.damaged(format!("stories: {what}"));
    let meta = store.table(transaction, META)?;
    let Some(head) = store.sealed_by_name(&meta, "meta", "stories")? else {
        return Ok(Some(Kept::new(options)));
    };
    let [from, next, parts, clock] =
        words::<4>(&head).ok_or_else(|| lost("their place is unknown".to_owned()))?;
    let mut kept = Kept {
        clock: clock as i64,
        log: [from, next],
        parts,
        ..Kept::new(options.clone())
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
        kept.engine = engine.ok_or_else(|| lost("their state makes no sense".to_owned()))?;
    }
    let table = store.table(transaction, STORY_LOG)?;
    let entries = table.range(from..next).map_err(|error| store.unreadable(error))?;
    let mut due = from;
    for entry in entries {
        let (key, sealed) = entry.map_err(|error| store.unreadable(error))?;
        let number = key.value();
        let (entry, packed) = unseal("story_log", &number.to_le_bytes(), sealed.value())
            .and_then(Entry::decode)
            .ok_or_else(|| store.wrong("story_log", number))?;
        let item = match entry {
            Entry::Place { .. } => {
                Some(Item::unpack(packed).ok_or_else(|| store.wrong("story_log", number))?)
            }
            _ => None,
        };
        if number == due && kept.again(entry, item.as_ref()).is_some() {
            due += 1;
        } else {
            return Err(lost(format!(
                "entry {number} of their log comes to something else than it did"
            )));
        }
        kept.count(entry);
    }
    if due != next {
        return Err(lost(format!("entry {due} of their log is lost")));
    }
    Ok(Some(kept))
}
