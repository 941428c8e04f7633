//! A cache of the words of runs of ideographs. Texts repeat the same runs: boilerplate, quotations, near-duplicates.
//!
//! The cache is exact: a slot stores a whole run and the ends of its words. A bucket has two slots; the one that was
//! used less recently is evicted. Short runs, by far the most frequent, have a table of their own, in which a bucket is
//! one cache line. The tables are much larger than the caches of a core, so the caller first finds the buckets of many
//! runs and prefetches them.

use std::fmt;

use twinprint_fingerprint::Span;
use twinprint_fingerprint::kernel::prefetch_read;

/// The maximum length of a run in the table of short runs, in bytes: nine ideographs.
const SHORT_BYTES: usize = 28;
/// The maximum length of a run in the table of long runs, in bytes: twenty ideographs. Longer runs are not cached.
const LONG_BYTES: usize = 60;
/// Number of buckets of the table of short runs, a power of two. The table has 8 MiB.
const SHORT_BUCKETS: usize = 1 << 17;
/// Number of buckets of the table of long runs, a power of two. The table has 8 MiB.
const LONG_BUCKETS: usize = 1 << 16;
/// Number of bytes of an ideograph in the basic plane. Runs with other ideographs, which are rare and longer, are not
/// cached.
const IDEOGRAPH_BYTES: usize = 3;

/// Two tables of 8 MiB. Each is allocated when a run is first looked up in it.
#[derive(Default)]
pub(super) struct SegmentationCache {
    short: Table<SHORT_BYTES>,
    long: Table<LONG_BYTES>,
}

/// The table and the bucket in which a run may be cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BucketRef {
    Short(u32),
    Long(u32),
    /// No bucket: the run is too long to be cached.
    Uncached,
}

impl fmt::Debug for SegmentationCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SegmentationCache").finish_non_exhaustive()
    }
}

/// A run of characters of one script in a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run<'t> {
    text: &'t str,
    span: Span,
}

impl<'t> Run<'t> {
    /// The run at a span of a text, which begins and ends between characters.
    pub(super) fn new(text: &'t str, span: Span) -> Self {
        Self { text, span }
    }

    /// The run as a text of its own.
    pub(super) fn as_str(self) -> &'t str {
        let range = self.span.start as usize..self.span.end as usize;
        self.text.get(range).unwrap_or_default()
    }

    fn len(self) -> usize {
        (self.span.end - self.span.start) as usize
    }

    /// The bytes of the run, which has at most `N`, padded with zeros.
    #[inline(always)]
    fn padded<const N: usize>(self) -> [u8; N] {
        debug_assert!(self.len() <= N);
        let near = self.text.as_bytes().get(self.span.start as usize..);
        // The bytes after the run are masked. A copy of as many bytes as the run has would be several times as slow.
        match (
            near.and_then(<[u8]>::first_chunk),
            MASKS.get(LONG_BYTES - self.len()..).and_then(<[u8]>::first_chunk),
        ) {
            (Some(near), Some(mask)) => and(near, mask),
            _ => padded_at_the_end(self.as_str()),
        }
    }
}

/// As many ones as a run can have bytes, and as many zeros as can follow them.
const MASKS: [u8; 2 * LONG_BYTES] = {
    let mut masks = [0; 2 * LONG_BYTES];
    let mut i = 0;
    while i < LONG_BYTES {
        masks[i] = u8::MAX;
        i += 1;
    }
    masks
};

#[inline(always)]
fn and<const N: usize>(bytes: &[u8; N], mask: &[u8; N]) -> [u8; N] {
    std::array::from_fn(|i| bytes[i] & mask[i])
}

/// [`Run::padded`] for a run near the end of its text.
#[cold]
fn padded_at_the_end<const N: usize>(run: &str) -> [u8; N] {
    let mut padded = [0; N];
    for (to, from) in padded.iter_mut().zip(run.as_bytes()) {
        *to = *from;
    }
    padded
}

impl SegmentationCache {
    /// The bucket in which `run` may be cached.
    pub(super) fn bucket(run: Run<'_>) -> BucketRef {
        if run.len() <= SHORT_BYTES {
            BucketRef::Short(bucket_hash(&run.padded::<SHORT_BYTES>()) % SHORT_BUCKETS as u32)
        } else if run.len() <= LONG_BYTES {
            BucketRef::Long(bucket_hash(&run.padded::<LONG_BYTES>()) % LONG_BUCKETS as u32)
        } else {
            BucketRef::Uncached
        }
    }

    /// Prefetches a bucket that will be read soon.
    pub(super) fn prefetch(&self, bucket: BucketRef) {
        match bucket {
            BucketRef::Short(bucket) => self.short.prefetch(bucket),
            BucketRef::Long(bucket) => self.long.prefetch(bucket),
            BucketRef::Uncached => {}
        }
    }

    /// Calls `word` with the start and end byte of each word of `run`. `bucket` is the bucket of the run. If the run is
    /// not cached, `cut` is called to find its words; it reports each word to its second argument, in the same way as
    /// `word` is called.
    pub(super) fn cut_with(
        &mut self,
        run: Run<'_>,
        bucket: BucketRef,
        mut cut: impl FnMut(&str, &mut dyn FnMut(usize, usize)),
        mut word: impl FnMut(usize, usize),
    ) {
        let ends = match bucket {
            BucketRef::Short(bucket) => self.short.ends(run, bucket, SHORT_BUCKETS, &mut cut),
            BucketRef::Long(bucket) => self.long.ends(run, bucket, LONG_BUCKETS, &mut cut),
            BucketRef::Uncached => None,
        };
        let Some(mut ends) = ends else {
            return cut(run.as_str(), &mut word);
        };
        let mut from = 0;
        while ends != 0 {
            let to = (ends.trailing_zeros() as usize + 1) * IDEOGRAPH_BYTES;
            word(from, to);
            from = to;
            ends &= ends - 1;
        }
    }
}

#[derive(Clone, Copy)]
struct Slot<const N: usize> {
    run: [u8; N],
    /// Bit i is 1 if a word ends after ideograph i. A run ends with a word, so 0 means that the slot is empty.
    ends: u32,
}

/// The two slots in which a run may be. The first is the slot that was used last.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Bucket<const N: usize>([Slot<N>; 2]);

#[derive(Default)]
struct Table<const N: usize> {
    buckets: Vec<Bucket<N>>,
}

impl<const N: usize> Table<N> {
    fn prefetch(&self, bucket: u32) {
        if let Some(bucket) = self.buckets.get(bucket as usize) {
            prefetch_read(&bucket.0, 0);
            if size_of::<Bucket<N>>() > 64 {
                prefetch_read(&bucket.0, 1);
            }
        }
    }

    /// Finds the ends of the words of a run, in the form of [`Slot::ends`], in the cache or with `cut`. `None` if a
    /// slot cannot store them.
    fn ends(
        &mut self,
        run: Run<'_>,
        bucket: u32,
        buckets: usize,
        cut: &mut impl FnMut(&str, &mut dyn FnMut(usize, usize)),
    ) -> Option<u32> {
        if self.buckets.is_empty() {
            let empty = Slot { run: [0; N], ends: 0 };
            self.buckets = vec![Bucket([empty; 2]); buckets];
        }
        let key = run.padded::<N>();
        let Bucket([newer, older]) = self.buckets.get_mut(bucket as usize)?;
        if newer.ends != 0 && newer.run == key {
            return Some(newer.ends);
        }
        if older.ends == 0 || older.run != key {
            let ends = ends_by(run.as_str(), cut)?;
            *older = Slot { run: key, ends };
        }
        std::mem::swap(newer, older);
        Some(newer.ends)
    }
}

/// Finds the ends of the words of a run with `cut`, in the form of [`Slot::ends`]. `None` if a word does not end after
/// a whole number of ideographs of [`IDEOGRAPH_BYTES`] bytes.
fn ends_by(run: &str, cut: &mut impl FnMut(&str, &mut dyn FnMut(usize, usize))) -> Option<u32> {
    let mut ends = 0;
    let mut whole = true;
    cut(run, &mut |_, to| {
        whole &= to % IDEOGRAPH_BYTES == 0;
        ends |= 1u32 << (to / IDEOGRAPH_BYTES).saturating_sub(1).min(31);
    });
    whole.then_some(ends)
}

/// A hash of a run, which selects its bucket: its 64-bit words are multiplied by an odd constant and the halves of the
/// product combined. Collisions cost only time, because the runs themselves are compared.
fn bucket_hash<const N: usize>(run: &[u8; N]) -> u32 {
    let (words, rest) = run.as_chunks::<4>();
    debug_assert!(rest.is_empty());
    let mut mixed = 0x9E37_79B9_7F4A_7C15u64;
    for pair in words.chunks(2) {
        let word = pair
            .iter()
            .fold(0, |word, &half| word << 32 | u64::from(u32::from_le_bytes(half)));
        mixed = (mixed.rotate_left(23) ^ word).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    }
    (mixed >> 40) as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Cuts after every ideograph that is smaller than the one before.
    fn cut(run: &str, word: &mut dyn FnMut(usize, usize)) {
        let (mut from, mut last) = (0, '\0');
        for (at, c) in run.char_indices() {
            if c < last {
                word(from, at);
                from = at;
            }
            last = c;
        }
        word(from, run.len());
    }

    fn words(by: impl FnOnce(&mut dyn FnMut(usize, usize))) -> Vec<(usize, usize)> {
        let mut words = Vec::new();
        by(&mut |from, to| words.push((from, to)));
        words
    }

    proptest! {
        /// All runs share one bucket, so that they evict one another.
        #[test]
        fn words_are_those_of_the_cutter(
            runs in prop::collection::vec(
                "[一丁七万𠀀]{1,4}|[一丁七万]{9,22}|[一丁七]{8}𠀀|[一丁七]{18,19}𠀀",
                1..60,
            ),
        ) {
            let mut cache = SegmentationCache::default();
            // All runs but the last have other bytes after them.
            let text = runs.concat();
            let mut start = 0;
            for run in &runs {
                let expected = words(|word| cut(run, word));
                let end = start + run.len() as u32;
                let alone = Run::new(run, Span { start: 0, end: end - start });
                let run = Run::new(&text, Span { start, end });
                start = end;
                prop_assert_eq!(SegmentationCache::bucket(run), SegmentationCache::bucket(alone));
                let bucket = match SegmentationCache::bucket(run) {
                    BucketRef::Short(_) => BucketRef::Short(7),
                    BucketRef::Long(_) => BucketRef::Long(7),
                    BucketRef::Uncached => BucketRef::Uncached,
                };
                prop_assert_eq!(&words(|word| cache.cut_with(run, bucket, cut, word)), &expected);
            }
        }
    }
}
