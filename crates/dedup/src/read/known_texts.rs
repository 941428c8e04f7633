//! Texts met before, so that a copy of one is not analysed again.
//!
//! Crawls are full of copies, byte for byte, and finding that a text is one takes a twentieth of the time that analysing it takes. What is kept
//! is bounded: a table of two-way buckets, in which the text met longer ago makes room. Whether a text is still known decides nothing
//! but time, since its analysis would give the same class.

use std::sync::Mutex;

use crate::corpus::ClassKey;

/// Locks, so that threads seldom wait for one another: a power of two.
const SHARDS: usize = 64;
/// Buckets under each lock: a power of two. All buckets take 10 MiB and hold a quarter of a million texts.
const BUCKETS: usize = 1 << 11;

/// A keyed hash of a text's bytes, 128 bits.
pub(crate) type TextHash = [u64; 2];

#[derive(Clone, Copy, Default)]
struct Slot {
    text: TextHash,
    class: ClassKey,
    /// The batch in which it was met, from 1; 0 in an empty slot.
    batch: u32,
}

/// The classes of texts met before.
pub(crate) struct KnownTexts {
    /// Empty until one of its texts is looked for, so that a small run makes few. Of each bucket, the slot used last comes first.
    shards: Vec<Mutex<Vec<[Slot; 2]>>>,
}

impl KnownTexts {
    pub(crate) fn new() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
        }
    }

    /// The class of a text that was met in a batch before `batch`. One met in the same batch does not count: which of the two comes
    /// first in the input is not known yet, and the first must bring its analysis.
    pub(crate) fn class(&self, text: TextHash, batch: u32) -> Option<ClassKey> {
        self.bucket(text, |[newer, older]| {
            if older.text == text {
                std::mem::swap(newer, older);
            }
            (newer.text == text && (1..batch).contains(&newer.batch)).then_some(newer.class)
        })
    }

    /// Keeps the class of a text met in `batch`, which is at least 1.
    pub(crate) fn keep(&self, text: TextHash, class: ClassKey, batch: u32) {
        self.bucket(text, |[newer, older]| {
            if newer.text != text {
                *older = *newer;
                *newer = Slot { text, class, batch };
            }
            None
        });
    }

    fn bucket(&self, text: TextHash, f: impl FnOnce(&mut [Slot; 2]) -> Option<ClassKey>) -> Option<ClassKey> {
        let [shard, bucket] = text.map(|half| half as usize);
        let mut buckets = self.shards.get(shard % SHARDS)?.lock().ok()?;
        if buckets.is_empty() {
            buckets.resize(BUCKETS, <[Slot; 2]>::default());
        }
        f(buckets.get_mut(bucket % BUCKETS)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_known_from_the_next_batch_on() {
        let known = KnownTexts::new();
        let (text, class) = ([1, 2], [3, 4]);
        assert_eq!(known.class(text, 1), None);
        known.keep(text, class, 1);
        assert_eq!(known.class(text, 1), None);
        assert_eq!(known.class(text, 2), Some(class));
        // Met again while it was not yet to be asked for: the batch it was first met in stays.
        known.keep(text, class, 2);
        assert_eq!(known.class(text, 2), Some(class));
    }

    #[test]
    fn of_three_in_one_bucket_the_one_used_longest_ago_is_forgotten() {
        let known = KnownTexts::new();
        let texts = [0u64, 1, 2].map(|i| [5 + SHARDS as u64 * i, 9]);
        for text in texts.iter().take(2) {
            known.keep(*text, *text, 1);
        }
        assert_eq!(known.class(texts[0], 2), Some(texts[0]));
        known.keep(texts[2], texts[2], 1);
        let classes = texts.map(|text| known.class(text, 2));
        assert_eq!(classes, [Some(texts[0]), None, Some(texts[2])]);
    }
}
