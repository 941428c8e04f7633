//! A cache of the classes of texts, so that a text that is repeated is not analysed again.
//!
//! Crawls contain many byte-identical copies, and a lookup takes a small part of the time of an analysis. The cache has
//! a fixed size: it is a table of two-way buckets, in which a new text replaces the least recently used one. The cache
//! affects time only, since an analysis gives the same class.
//!
//! The texts are recognised by HighwayHash (Alakuijala, Cox and Wassenberg 2016) under a random key, which hashes long texts
//! several times as fast as SipHash. The hashes are not stored.

use std::sync::Mutex;

use highway::{HighwayHash, HighwayHasher, Key};

use crate::corpus::ClassKey;

/// The number of locks, a power of two. With this many locks, threads seldom wait for one another.
const SHARDS: usize = 64;
/// The number of buckets of each lock, a power of two. All buckets take 10 MiB and have room for a quarter of a million
/// texts.
const BUCKETS: usize = 1 << 11;

/// A keyed 128-bit hash of the bytes of a text.
pub(crate) type TextHash = [u64; 2];

#[derive(Clone, Copy, Default)]
struct CachedText {
    text: TextHash,
    class: ClassKey,
    /// The number of the batch whose analysis added the text, from 1; 0 in an empty slot. An earlier batch, which is
    /// analysed at the same time, may contain the text too.
    batch: u32,
}

/// The cache of the classes of texts.
pub(crate) struct TextCache {
    key: Key,
    /// The buckets under each lock. They are allocated at the first lookup, so that a small run allocates few. In a
    /// bucket, the slot that was used last comes first.
    shards: Vec<Mutex<Vec<[CachedText; 2]>>>,
}

impl TextCache {
    /// Creates an empty cache. `key` must be secret.
    pub(crate) fn new(key: [u64; 4]) -> Self {
        Self {
            key: Key(key),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
        }
    }

    /// Computes the hash by which a text is cached. Linear.
    pub(crate) fn hash(&self, text: &str) -> TextHash {
        HighwayHasher::new(self.key).hash128(text.as_bytes())
    }

    /// Looks up the class of a text among those cached in batches before `batch`. Texts of the same batch do not count,
    /// because their order in the input is not known yet, and the first text of a class must have its analysis.
    pub(crate) fn class(&self, text: TextHash, batch: u32) -> Option<ClassKey> {
        self.bucket(text, |[newer, older]| {
            if older.text == text {
                std::mem::swap(newer, older);
            }
            (newer.text == text && (1..batch).contains(&newer.batch)).then_some(newer.class)
        })
    }

    /// Adds the class of a text of `batch`, which is at least 1.
    pub(crate) fn insert(&self, text: TextHash, class: ClassKey, batch: u32) {
        self.bucket(text, |[newer, older]| {
            if newer.text != text {
                *older = *newer;
                *newer = CachedText { text, class, batch };
            }
            None
        });
    }

    fn bucket(
        &self,
        text: TextHash,
        f: impl FnOnce(&mut [CachedText; 2]) -> Option<ClassKey>,
    ) -> Option<ClassKey> {
        let [shard, bucket] = text.map(|half| half as usize);
        let mut buckets = self.shards.get(shard % SHARDS)?.lock().ok()?;
        if buckets.is_empty() {
            buckets.resize(BUCKETS, <[CachedText; 2]>::default());
        }
        f(buckets.get_mut(bucket % BUCKETS)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_in_later_batches_only() {
        let cache = TextCache::new([7; 4]);
        let (text, class) = ([1, 2], [3, 4]);
        assert_eq!(cache.class(text, 1), None);
        cache.insert(text, class, 1);
        assert_eq!(cache.class(text, 1), None);
        assert_eq!(cache.class(text, 2), Some(class));
        // A text that is added again keeps its first batch.
        cache.insert(text, class, 2);
        assert_eq!(cache.class(text, 2), Some(class));
    }

    #[test]
    fn the_least_recently_used_of_three_texts_in_a_bucket_is_dropped() {
        let cache = TextCache::new([7; 4]);
        let texts = [0u64, 1, 2].map(|i| [5 + SHARDS as u64 * i, 9]);
        for text in texts.iter().take(2) {
            cache.insert(*text, *text, 1);
        }
        assert_eq!(cache.class(texts[0], 2), Some(texts[0]));
        cache.insert(texts[2], texts[2], 1);
        let classes = texts.map(|text| cache.class(text, 2));
        assert_eq!(classes, [Some(texts[0]), None, Some(texts[2])]);
    }
}
