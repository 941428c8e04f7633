//! Remembers how runs of ideographs were cut. Corpora repeat themselves: boilerplate, quotations, the copies that are looked for.
//!
//! Exact: a slot holds one run whole and where its words end. A run has two slots it may be in, of which the one used longer ago is
//! driven out. Short runs, by far the most, have a table of their own, in which both slots are one cache line. A table is much larger
//! than the caches near the core, so a caller finds the places of many runs first and asks for them to be fetched ahead.

use std::fmt;

use twinprint_fingerprint::kernel::prefetch_read;

/// Bytes of a short run at most: nine ideographs.
const SHORT: usize = 28;
/// Bytes of a long run at most: twenty ideographs. Longer ones are cut anew each time.
const LONG: usize = 60;
/// Buckets of each table, powers of two: 8 MiB each.
const SHORT_BUCKETS: usize = 1 << 17;
const LONG_BUCKETS: usize = 1 << 16;
/// Bytes of an ideograph; runs with longer ones (rare, beyond the basic plane) are not kept.
const IDEOGRAPH: usize = 3;

/// What is remembered: 16 MiB, made when the first run is looked for.
#[derive(Default)]
pub(super) struct Cache {
    short: Table<SHORT>,
    long: Table<LONG>,
}

/// Where a run is to be looked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    Short(u32),
    Long(u32),
    /// Too long to be kept.
    Nowhere,
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").finish_non_exhaustive()
    }
}

impl Cache {
    pub(super) fn place(run: &str) -> Place {
        if run.len() <= SHORT {
            Place::Short(place(&padded::<SHORT>(run)) % SHORT_BUCKETS as u32)
        } else if run.len() <= LONG {
            Place::Long(place(&padded::<LONG>(run)) % LONG_BUCKETS as u32)
        } else {
            Place::Nowhere
        }
    }

    /// Brings a place near, for a look at it soon.
    pub(super) fn fetch(&self, place: Place) {
        match place {
            Place::Short(bucket) => self.short.fetch(bucket),
            Place::Long(bucket) => self.long.fetch(bucket),
            Place::Nowhere => {}
        }
    }

    /// Calls `word` with the byte range of each word of `run`, whose place is `place`; `cut` cuts a run that is not known, by calling
    /// its argument likewise.
    pub(super) fn cut_with(
        &mut self,
        run: &str,
        place: Place,
        mut cut: impl FnMut(&str, &mut dyn FnMut(usize, usize)),
        mut word: impl FnMut(usize, usize),
    ) {
        let ends = match place {
            Place::Short(bucket) => self.short.ends(run, bucket, SHORT_BUCKETS, &mut cut),
            Place::Long(bucket) => self.long.ends(run, bucket, LONG_BUCKETS, &mut cut),
            Place::Nowhere => None,
        };
        let Some(mut ends) = ends else {
            return cut(run, &mut word);
        };
        let mut from = 0;
        while ends != 0 {
            let to = (ends.trailing_zeros() as usize + 1) * IDEOGRAPH;
            word(from, to);
            from = to;
            ends &= ends - 1;
        }
    }
}

#[derive(Clone, Copy)]
struct Slot<const N: usize> {
    run: [u8; N],
    /// Bit i: a word ends after ideograph i. Zero in an empty slot, since every run ends with a word.
    ends: u32,
}

/// The two slots of a run, the one used last first.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Bucket<const N: usize>([Slot<N>; 2]);

#[derive(Default)]
struct Table<const N: usize> {
    buckets: Vec<Bucket<N>>,
}

impl<const N: usize> Table<N> {
    fn fetch(&self, bucket: u32) {
        if let Some(bucket) = self.buckets.get(bucket as usize) {
            prefetch_read(&bucket.0, 0);
            if size_of::<Bucket<N>>() > 64 {
                prefetch_read(&bucket.0, 1);
            }
        }
    }

    /// Where the words of a run end, in the bits of a slot; nothing where they do not fit in.
    fn ends(
        &mut self,
        run: &str,
        bucket: u32,
        buckets: usize,
        cut: &mut impl FnMut(&str, &mut dyn FnMut(usize, usize)),
    ) -> Option<u32> {
        if self.buckets.is_empty() {
            let empty = Slot { run: [0; N], ends: 0 };
            self.buckets = vec![Bucket([empty; 2]); buckets];
        }
        let run_here = padded::<N>(run);
        let Bucket([newer, older]) = self.buckets.get_mut(bucket as usize)?;
        if newer.ends != 0 && newer.run == run_here {
            return Some(newer.ends);
        }
        if older.ends == 0 || older.run != run_here {
            let ends = ends_by(run, cut)?;
            *older = Slot { run: run_here, ends };
        }
        std::mem::swap(newer, older);
        Some(newer.ends)
    }
}

/// Cuts a run; nothing where its ideographs are not all of one length.
fn ends_by(run: &str, cut: &mut impl FnMut(&str, &mut dyn FnMut(usize, usize))) -> Option<u32> {
    let mut ends = 0;
    let mut whole = true;
    cut(run, &mut |_, to| {
        whole &= to % IDEOGRAPH == 0;
        ends |= 1u32 << (to / IDEOGRAPH).saturating_sub(1).min(31);
    });
    whole.then_some(ends)
}

/// The run, no longer than `N`, filled up with zeros.
fn padded<const N: usize>(run: &str) -> [u8; N] {
    let mut padded = [0; N];
    for (to, from) in padded.iter_mut().zip(run.as_bytes()) {
        *to = *from;
    }
    padded
}

/// The place of a run: products of its words with odd constants, folded. Quality matters little and safety not at all, since the run
/// itself is compared.
fn place<const N: usize>(run: &[u8; N]) -> u32 {
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
        /// All runs share one bucket, so that they drive one another out.
        #[test]
        fn words_are_those_of_the_cutter(runs in prop::collection::vec("[一丁七万𠀀]{1,4}|[一丁七万]{9,22}", 1..60)) {
            let mut cache = Cache::default();
            for run in &runs {
                let expected = words(|word| cut(run, word));
                let place = match Cache::place(run) {
                    Place::Short(_) => Place::Short(7),
                    Place::Long(_) => Place::Long(7),
                    Place::Nowhere => Place::Nowhere,
                };
                prop_assert_eq!(&words(|word| cache.cut_with(run, place, cut, word)), &expected);
            }
        }
    }
}
