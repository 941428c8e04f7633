//! Shingle sets of texts, loaded from the spool when a pair is to be verified and kept while there is room.

use std::hash::Hasher;
use std::sync::Arc;

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use siphasher::sip128::{Hasher128, SipHasher13};
use twinprint_fingerprint::HashKey;
use twinprint_text::Measure;
use twinprint_text::overlap::{ShingleSet, Shingler};

use crate::corpus::Classes;
use crate::error::DedupError;
use twinprint_io::work::{BlockBuffer, Spool};

/// A set that is shared with who asked for it.
pub(crate) type Set = Arc<ShingleSet>;

/// Texts handed to one task at least: a block's texts go together.
const MIN_TEXTS_PER_TASK: usize = 8;

/// What a set is of: an item, by a measure.
pub(crate) type SetKey = (u32, Measure);

struct Held {
    set: Set,
    /// The load that last asked for it.
    used: u32,
}

/// Sets of items (classes in keep order), at most about `room` bytes beyond those of the current block.
pub(crate) struct Sets<'c> {
    spool: &'c Spool,
    classes: &'c Classes,
    order: &'c [u32],
    shingler: HashKey,
    held: FxHashMap<SetKey, Held>,
    bytes: usize,
    room: usize,
    clock: u32,
    /// Loads from this one on stay: the current block's.
    block: u32,
}

/// The key of the shingle hash, drawn from the fingerprints of the whole corpus: the same in every run on the same input, and not
/// to be known by whoever prepares a document with shingles that collide with those of another, since the document itself
/// changes it.
pub(crate) fn key_of(classes: &Classes) -> HashKey {
    let mut hasher = SipHasher13::new();
    for fingerprint in &classes.fingerprint {
        hasher.write(&fingerprint.to_le_bytes());
    }
    let hash = hasher.finish128();
    HashKey::new(hash.h1, hash.h2)
}

/// About the bytes that the set of a text of so many bytes takes: a shingle of 8 bytes, and one of the outline, a word of about 6, or a
/// character of 3.
pub(crate) fn cost(text: usize, measure: Measure) -> usize {
    match measure {
        Measure::CharGrams => text * 9 / 3,
        Measure::WordGrams => text * 9 / 6,
    }
}

/// Buffers of one loading thread.
struct Loader {
    buffer: BlockBuffer,
    shingler: Shingler,
}

impl<'c> Sets<'c> {
    pub(crate) fn new(spool: &'c Spool, classes: &'c Classes, order: &'c [u32], room: usize) -> Self {
        Self {
            spool,
            classes,
            order,
            shingler: key_of(classes),
            held: FxHashMap::default(),
            bytes: 0,
            room,
            clock: 0,
            block: 0,
        }
    }

    pub(crate) fn measure(&self, item: u32) -> Measure {
        self.classes.measure[self.order[item as usize] as usize]
    }

    /// About the bytes an item's set takes.
    pub(crate) fn cost(&self, item: u32) -> usize {
        let text = self.classes.text[self.order[item as usize] as usize];
        cost(text.len(), self.measure(item))
    }

    pub(crate) fn get(&self, key: SetKey) -> Option<&Set> {
        self.held.get(&key).map(|held| &held.set)
    }

    /// Sets loaded from now on stay until the next call.
    pub(crate) fn begin_block(&mut self) {
        self.clock += 1;
        self.block = self.clock;
    }

    /// Loads the sets that are not there, each text unpacked and cut once.
    pub(crate) fn load(&mut self, keys: impl Iterator<Item = SetKey>) -> Result<(), DedupError> {
        self.clock += 1;
        let clock = self.clock;
        let mut missing = Vec::new();
        for key in keys {
            match self.held.get_mut(&key) {
                // A set the block began with keeps its stamp, by which it stays.
                Some(held) if held.used == self.block + 1 => {}
                Some(held) => held.used = clock,
                None => missing.push(key),
            }
        }
        let place = |&(item, measure): &SetKey| {
            let text = self.classes.text[self.order[item as usize] as usize];
            (text.block, item, measure == Measure::CharGrams)
        };
        missing.sort_unstable_by_key(place);
        missing.dedup();
        let loaded: Vec<(SetKey, Set)> = missing
            .par_iter()
            .with_min_len(MIN_TEXTS_PER_TASK)
            .map_init(
                || self.loader(),
                |loader, &key| self.cut(key, loader).map(|set| (key, set)),
            )
            .collect::<Result<_, _>>()?;
        self.make_room(loaded.iter().map(|(_, set)| set.bytes()).sum());
        for (key, set) in loaded {
            self.bytes += set.bytes();
            self.held.insert(key, Held { set, used: clock });
        }
        Ok(())
    }

    /// The set of a key that was not loaded.
    pub(crate) fn load_one(&self, key: SetKey) -> Result<Set, DedupError> {
        self.cut(key, &mut self.loader())
    }

    fn loader(&self) -> Loader {
        Loader {
            buffer: BlockBuffer::default(),
            shingler: Shingler::new(self.shingler),
        }
    }

    fn cut(&self, (item, measure): SetKey, loader: &mut Loader) -> Result<Set, DedupError> {
        let place = self.classes.text[self.order[item as usize] as usize];
        let text = self.spool.text(place, &mut loader.buffer)?;
        let shingles = loader.shingler.shingle(text, measure);
        Ok(Arc::new(ShingleSet::new(shingles)))
    }

    /// Drops the sets longest unused, but none of the current block.
    fn make_room(&mut self, coming: usize) {
        for keep in [8, 4, 2, 1, 0] {
            if self.bytes + coming <= self.room {
                return;
            }
            let oldest = self.clock.saturating_sub(keep);
            let (block, bytes) = (self.block, &mut self.bytes);
            self.held.retain(|_, held| {
                let stays = held.used >= oldest || held.used == block + 1;
                if !stays {
                    *bytes -= held.set.bytes();
                }
                stays
            });
        }
    }
}
