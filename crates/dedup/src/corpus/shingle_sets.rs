//! Shingle sets of texts: a cache in memory, filled from the texts in the spool.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use twinprint_fingerprint::HashKey;
use twinprint_text::Measure;
use twinprint_text::overlap::{ShingleSet, ShingleSketch, Shingler, overlap};

use crate::corpus::item_texts::ItemTexts;
use crate::corpus::{Classes, ItemClasses};
use crate::error::DedupError;
use crate::ids::ItemId;
use twinprint_io::object_pool::ObjectPool;
use twinprint_io::work::{BlockBuffer, Spool, TextRef};

mod buffers;
mod key;

use self::buffers::SetBuffers;
pub(crate) use self::key::{CorpusKey, key_of};

/// A reference-counted shingle set.
pub(crate) type SharedSet = Arc<ShingleSet>;

/// The minimum number of texts per parallel task. Neighbouring short texts are in one block of the spool, which
/// a task reads once for all of them.
const MIN_TEXTS_PER_TASK: usize = 8;

/// The maximum number of texts per parallel task, so that the threads end their work at about the same time.
const MAX_TEXTS_PER_TASK: usize = 32;

/// The sketches take at most about one part in this number of the capacity of a cache.
const SKETCH_SHARE: usize = 4;

/// The number of texts per parallel task of [`SetCache::each`].
const TEXTS_PER_TASK: usize = 256;

/// Identifies a shingle set: the item whose text it is made from, and the measure (words or characters).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct SetKey {
    pub(crate) item: ItemId,
    pub(crate) measure: Measure,
}

/// A shingle set in the cache.
struct CachedSet {
    set: SharedSet,
    /// The value of [`SetCache::clock`] at the last load that requested this set.
    last_used: u32,
}

/// A sketch in the cache.
struct KeptSketch {
    sketch: Arc<ShingleSketch>,
    /// The value of [`SetCache::clock`] at the last use.
    last_used: AtomicU32,
}

/// A cache of the shingle sets of items. In addition to the sets of the current block it contains at most about
/// `capacity` bytes. The sketches of sets that were dropped exclude most pairs for which the sets would be made again.
pub(crate) struct SetCache<'c> {
    spool: &'c Spool,
    texts: ItemTexts<'c>,
    key: HashKey,
    cached: FxHashMap<SetKey, CachedSet>,
    /// The sketches of sets that were made, which stay when the sets are dropped.
    sketches: FxHashMap<SetKey, KeptSketch>,
    sketch_bytes: usize,
    /// The sets that were dropped since the last load. The next load takes over their buffers, and frees the others.
    dropped: Vec<SharedSet>,
    buffers: SetBuffers,
    /// The bytes of the cached shingle sets and of the sketches.
    bytes: usize,
    capacity: usize,
    /// A counter, incremented by every load and at the beginning of every block.
    clock: u32,
    /// The value of `clock` at the beginning of the current block. The sets of the first load after it stay in the
    /// cache, unless their item is dropped.
    block: u32,
    /// True once the run is cancelled. Then no more sets are made.
    cancel: &'c AtomicBool,
    /// The buffers of threads that load sets.
    loaders: ObjectPool<Loader>,
}

/// A canonical text in a spool.
#[derive(Clone, Copy)]
pub(crate) struct SpooledText<'c> {
    pub(crate) spool: &'c Spool,
    pub(crate) text: TextRef,
    pub(crate) measure: Measure,
}

/// The Jaccard of two texts, which are read for this one comparison. `key` is the key of the shingle hash.
pub(crate) fn jaccard(key: HashKey, [a, b]: [SpooledText<'_>; 2]) -> Result<f64, DedupError> {
    let measure = a.measure.with(b.measure);
    let mut shingler = Shingler::for_one_run(key);
    let mut buffer = BlockBuffer::default();
    let mut set = |text: SpooledText<'_>| -> Result<Vec<u64>, DedupError> {
        let canonical = text.spool.text(text.text, &mut buffer)?;
        Ok(shingler.shingle(canonical, measure))
    };
    Ok(overlap(&set(a)?, &set(b)?).jaccard())
}

/// The approximate size in bytes of the shingle set of a text of `text` bytes. A shingle takes 8 bytes, at most one
/// more because capacities are rounded up, and at most half a byte in the sketch. A shingle begins at every word (about 6
/// bytes) or at every character (3 bytes).
pub(crate) fn cost(text: usize, measure: Measure) -> usize {
    match measure {
        Measure::CharGrams => text * 9 / 3,
        Measure::WordGrams => text * 9 / 6,
    }
}

/// The memory of a kept sketch in bytes.
fn sketch_bytes(sketch: &ShingleSketch) -> usize {
    sketch.bytes() + size_of::<(SetKey, KeptSketch)>()
}

/// The buffers of one thread that loads shingle sets.
struct Loader {
    buffer: BlockBuffer,
    shingler: Shingler,
}

impl<'c> SetCache<'c> {
    pub(crate) fn new(
        spool: &'c Spool,
        classes: &'c Classes,
        order: &'c ItemClasses,
        capacity: usize,
        cancel: &'c AtomicBool,
    ) -> Self {
        let texts = ItemTexts::Classes { classes, order };
        Self::with_key(key_of(classes), spool, texts, capacity, cancel)
    }

    /// Like [`new`](Self::new), but for a part of a corpus. `key` is the [key](CorpusKey) of the whole corpus.
    pub(crate) fn with_key(
        key: HashKey,
        spool: &'c Spool,
        texts: ItemTexts<'c>,
        capacity: usize,
        cancel: &'c AtomicBool,
    ) -> Self {
        Self {
            spool,
            texts,
            key,
            cached: FxHashMap::default(),
            sketches: FxHashMap::default(),
            sketch_bytes: 0,
            dropped: Vec::new(),
            buffers: SetBuffers::default(),
            bytes: 0,
            capacity,
            clock: 0,
            block: 0,
            cancel,
            loaders: ObjectPool::new(),
        }
    }

    /// The measure of an item's own text: words or characters.
    pub(crate) fn measure(&self, item: ItemId) -> Measure {
        self.texts.measure(item)
    }

    /// The keys of the shingle sets by which two items are compared.
    pub(crate) fn pair_keys(&self, a: ItemId, b: ItemId) -> [SetKey; 2] {
        let measure = self.measure(a).with(self.measure(b));
        [a, b].map(|item| SetKey { item, measure })
    }

    /// The approximate size in bytes of an item's shingle set, in its own measure.
    pub(crate) fn cost(&self, item: ItemId) -> usize {
        cost(self.texts.bytes(item), self.measure(item))
    }

    /// The shingle set with this key, if it is cached.
    pub(crate) fn get(&self, key: SetKey) -> Option<&SharedSet> {
        self.cached.get(&key).map(|cached| &cached.set)
    }

    /// Begins a block. The sets of the next load stay in the cache until another block begins or their item is dropped.
    pub(crate) fn begin_block(&mut self) {
        self.clock += 1;
        self.block = self.clock;
    }

    /// Makes the sets that are not cached yet from their texts, in parallel, and caches them.
    pub(crate) fn load(&mut self, keys: impl Iterator<Item = SetKey>) -> Result<(), DedupError> {
        self.clock += 1;
        let clock = self.clock;
        let mut missing = Vec::new();
        for key in keys {
            match self.cached.get_mut(&key) {
                // A set from the first load of the block keeps the number of that load, by which `make_room` recognises
                // that it must stay.
                Some(cached) if cached.last_used == self.block + 1 => {}
                Some(cached) => cached.last_used = clock,
                None => missing.push(key),
            }
        }
        let place = |&SetKey { item, measure }: &SetKey| {
            (self.texts.block(item), item, measure == Measure::CharGrams)
        };
        missing.sort_by_cached_key(place);
        missing.dedup();
        let costs = missing
            .iter()
            .map(|key| cost(self.texts.bytes(key.item), key.measure));
        self.make_room(costs.sum());
        let loaded: Vec<(SetKey, SharedSet)> = missing
            .par_iter()
            .with_min_len(MIN_TEXTS_PER_TASK)
            .with_max_len(MAX_TEXTS_PER_TASK)
            .map(|&key| {
                let cut = |loader: &mut Loader| self.cut(key, loader);
                Ok((key, self.loaders.with(|| self.loader(), cut)?))
            })
            .collect::<Result<_, DedupError>>()?;
        // The costs are approximate. No set takes over a buffer that is dropped here.
        self.make_room(loaded.iter().map(|(_, set)| set.bytes()).sum());
        for (key, set) in loaded {
            self.bytes += set.bytes();
            self.keep_sketch(key, &set);
            let last_used = clock;
            self.cached.insert(key, CachedSet { set, last_used });
        }
        self.buffers.clear();
        Ok(())
    }

    /// Keeps the sketch of a set. If the sketches become too many, those that were not used for long are dropped.
    fn keep_sketch(&mut self, key: SetKey, set: &ShingleSet) {
        let sketch = set.sketch();
        if self.sketches.contains_key(&key) {
            return;
        }
        let (before, added) = (self.sketch_bytes, sketch_bytes(sketch));
        let most = self.capacity / SKETCH_SHARE;
        let is_full = self.sketch_bytes + added > most;
        for keep in [256, 64, 16, 4, 1] {
            // Each drop reads all sketches, so a quarter of the room is made free.
            if !is_full || self.sketch_bytes <= most / 4 * 3 {
                break;
            }
            let oldest = self.clock.saturating_sub(keep);
            let kept = &mut self.sketch_bytes;
            self.sketches.retain(|_, old| {
                let stays = *old.last_used.get_mut() >= oldest;
                if !stays {
                    *kept -= sketch_bytes(&old.sketch);
                }
                stays
            });
        }
        self.sketch_bytes += added;
        self.bytes = self.bytes - before + self.sketch_bytes;
        let kept = KeptSketch {
            sketch: Arc::clone(sketch),
            last_used: AtomicU32::new(self.clock),
        };
        self.sketches.insert(key, kept);
    }

    /// Drops the sets and sketches of an item with which no later item is compared.
    pub(crate) fn drop_item(&mut self, item: ItemId) {
        for measure in [Measure::WordGrams, Measure::CharGrams] {
            let key = SetKey { item, measure };
            if let Some(dropped) = self.sketches.remove(&key) {
                self.sketch_bytes -= sketch_bytes(&dropped.sketch);
                self.bytes -= sketch_bytes(&dropped.sketch);
            }
            if let Some(dropped) = self.cached.remove(&key) {
                self.bytes -= dropped.set.bytes();
                self.dropped.push(dropped.set);
            }
        }
    }

    /// True if the sketches of two sets show that their Jaccard is below `least`.
    pub(crate) fn are_apart(&self, keys: [SetKey; 2], least: f64) -> bool {
        let sketch = |key: SetKey| {
            let kept = self.sketches.get(&key)?;
            // Threads share the sketch, and a store would take it from the caches of the others.
            if kept.last_used.load(Ordering::Relaxed) != self.clock {
                kept.last_used.store(self.clock, Ordering::Relaxed);
            }
            Some(&kept.sketch)
        };
        match keys.map(sketch) {
            [Some(a), Some(b)] => !a.may_reach(b, least),
            _ => false,
        }
    }

    /// Makes the shingle set with this key from its text, without caching it.
    pub(crate) fn load_one(&self, key: SetKey) -> Result<SharedSet, DedupError> {
        self.cut(key, &mut self.loader())
    }

    /// Makes the shingle set of each key and calls `f` with it, in parallel, without caching. Returns the results in no
    /// particular order.
    pub(crate) fn each<T: Send>(
        &self,
        keys: Vec<SetKey>,
        f: impl Fn(SetKey, &[u64]) -> Option<T> + Sync,
    ) -> Result<Vec<T>, DedupError> {
        self.each_of(keys, |_| true, f)
    }

    /// Like [`each`](Self::each), but only for the texts of which `is_wanted` accepts the shingles in the order of the text,
    /// repeats included. The other sets are not sorted.
    pub(crate) fn each_of<T: Send>(
        &self,
        mut keys: Vec<SetKey>,
        is_wanted: impl Fn(&[u64]) -> bool + Sync,
        f: impl Fn(SetKey, &[u64]) -> Option<T> + Sync,
    ) -> Result<Vec<T>, DedupError> {
        keys.par_sort_unstable_by_key(|key| (self.texts.block(key.item), key.item));
        let tasks = keys.par_chunks(TEXTS_PER_TASK);
        let result = |key: SetKey, loader: &mut Loader| {
            if !is_wanted(self.grams(key, loader)?) {
                return Ok(None);
            }
            Ok(f(key, loader.shingler.sort_grams()))
        };
        let of_tasks: Vec<Vec<T>> = tasks
            .map_init(
                || self.loader(),
                |loader, keys| {
                    let results = keys.iter().map(|&key| result(key, loader));
                    results.filter_map(Result::transpose).collect()
                },
            )
            .collect::<Result<_, DedupError>>()?;
        Ok(of_tasks.into_iter().flatten().collect())
    }

    fn loader(&self) -> Loader {
        Loader {
            buffer: BlockBuffer::default(),
            shingler: Shingler::for_one_run(self.key),
        }
    }

    fn cut(&self, key: SetKey, loader: &mut Loader) -> Result<SharedSet, DedupError> {
        self.grams(key, loader)?;
        let shingles = loader.shingler.sort_grams();
        let mut buffer = self.buffers.take(shingles.len());
        buffer.extend_from_slice(shingles);
        Ok(Arc::new(ShingleSet::in_buffer(buffer)))
    }

    /// Makes the shingles of a text, in the order of the text and with repeats.
    fn grams<'l>(
        &self,
        SetKey { item, measure }: SetKey,
        loader: &'l mut Loader,
    ) -> Result<&'l [u64], DedupError> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(DedupError::cancelled());
        }
        let text = self.spool.text(self.texts.text(item), &mut loader.buffer)?;
        Ok(loader.shingler.grams(text, measure))
    }

    /// Drops the least recently used sets until `needed` bytes are free. New sets may take over their buffers. Sets from
    /// the first load of the current block stay.
    fn make_room(&mut self, needed: usize) {
        let mut dropped = std::mem::take(&mut self.dropped);
        for keep in [8, 4, 2, 1, 0] {
            if self.bytes + needed <= self.capacity {
                break;
            }
            let oldest = self.clock.saturating_sub(keep);
            let block = self.block;
            let is_old = |_: &SetKey, cached: &mut CachedSet| {
                cached.last_used < oldest && cached.last_used != block + 1
            };
            let first = dropped.len();
            dropped.extend(self.cached.extract_if(is_old).map(|(_, cached)| cached.set));
            let bytes = dropped[first..].iter().map(|set: &SharedSet| set.bytes());
            self.bytes -= bytes.sum::<usize>();
        }
        let buffers = &self.buffers;
        let buffer = |set| Arc::into_inner(set).map(ShingleSet::into_buffer);
        // The new sets need no more than this. The others are freed at once.
        let kept = AtomicUsize::new(0);
        let freed = dropped.into_par_iter().filter_map(buffer);
        freed.for_each(|buffer| {
            let bytes = buffer.capacity() * size_of::<u64>();
            if kept.fetch_add(bytes, Ordering::Relaxed) < needed {
                buffers.put(buffer);
            }
        });
    }
}

#[cfg(test)]
pub(crate) mod tests;
