//! A sorted run of entries of a prefix index: 8 bytes each, with the postings of a token next to one another.
//!
//! ```text
//! run     1024 parts, one for each shard
//! part    entries, ascending by section and value: | tag, low 24 bits | size class, 8 | document, 32 |
//!         directory: 2^b + 1 positions, by the leading b bits of the tag (its section comes first)
//! section one of 16, by the leading 4 bits of the tag, which are not stored: the position gives them
//! ```
//!
//! b is at least 4 and leaves 8 to 16 entries per address, so the directory costs at most half a byte per entry. The
//! entries of a token are ordered by size class: a probe reads the classes that it can use and skips the rest. The
//! search for a token misses the cache once in the directory and once in the entries, and both are prefetched.

use std::ops::Range;

use rayon::prelude::*;
use twinprint_fingerprint::kernel::prefetch_read;

use super::place::{PostingPlace, SHARDS, TAG_BITS, class};
use super::young::{Shard, YoungPostings};

/// The number of leading bits of a tag that are not stored, because they follow from the position of an entry.
const SECTION_BITS: u32 = 4;
const SECTIONS: usize = 1 << SECTION_BITS;
/// The number of bits of a tag that an entry stores.
const STORED_BITS: u32 = TAG_BITS - SECTION_BITS;
/// The intended minimum number of entries per address.
const ENTRIES_PER_ADDRESS: usize = 8;
/// The number of tokens that are looked up together.
const BATCH_LOOKUPS: usize = 32;

/// A sorted run of fewer than 2³² entries.
#[derive(Clone, Debug)]
pub(super) struct PostingRun {
    /// The parts of the run, one for each of the [`SHARDS`] shards.
    parts: Vec<RunPart>,
    entries: usize,
}

#[derive(Clone, Debug, Default)]
struct RunPart {
    entries: Box<[u64]>,
    /// The position of the first entry of each address, and the end of the last. Empty if there are no entries.
    bounds: Box<[u32]>,
    /// The number of bits of a tag below its address.
    shift: u32,
}

/// Encodes an entry. The section of the tag is not stored.
fn entry(tag: u32, class: u8, document: u32) -> u64 {
    // The leading bits of the tag, which are its section, are shifted out.
    u64::from(tag) << (64 - STORED_BITS) | u64::from(class) << 32 | u64::from(document)
}

fn section(tag: u32) -> usize {
    (tag >> STORED_BITS) as usize
}

/// Merges two ascending slices, and appends the result to `out`.
fn merge(a: &[u64], b: &[u64], out: &mut Vec<u64>) {
    let (mut i, mut j) = (0, 0);
    while let (Some(&x), Some(&y)) = (a.get(i), b.get(j)) {
        let first = x <= y;
        out.push(if first { x } else { y });
        i += usize::from(first);
        j += usize::from(!first);
    }
    out.extend_from_slice(&a[i..]);
    out.extend_from_slice(&b[j..]);
}

impl RunPart {
    /// Creates one part of a run from entries that ascend within each section, and from the end of each section.
    fn new(entries: Vec<u64>, ends: [usize; SECTIONS]) -> Self {
        if entries.is_empty() {
            return Self::default();
        }
        let bits = (entries.len() / ENTRIES_PER_ADDRESS)
            .max(1)
            .ilog2()
            .clamp(SECTION_BITS, TAG_BITS);
        let mut bounds = Vec::with_capacity((1 << bits) + 1);
        let mut at = 0;
        for (section, end) in ends.into_iter().enumerate() {
            while at < end {
                let tag = (section as u64) << STORED_BITS | entries[at] >> (64 - STORED_BITS);
                let address = (tag >> (TAG_BITS - bits)) as usize;
                // A run has fewer than 2^32 entries, so the cast is lossless.
                while bounds.len() <= address {
                    bounds.push(at as u32);
                }
                at += 1;
            }
        }
        bounds.resize((1 << bits) + 1, entries.len() as u32);
        Self {
            entries: entries.into_boxed_slice(),
            bounds: bounds.into_boxed_slice(),
            shift: TAG_BITS - bits,
        }
    }

    fn from_young(shard: &Shard, size_of: impl Fn(u32) -> u32) -> Self {
        let mut sorted: Vec<(usize, u64)> = shard
            .postings()
            .iter()
            .map(|p| {
                (
                    section(p.tag),
                    entry(p.tag, class(size_of(p.document)), p.document),
                )
            })
            .collect();
        sorted.sort_unstable();
        let ends = std::array::from_fn(|s| sorted.partition_point(|x| x.0 <= s));
        Self::new(sorted.iter().map(|x| x.1).collect(), ends)
    }

    fn section(&self, section: usize) -> &[u64] {
        // The number of addresses of one section.
        let each = (self.bounds.len() / SECTIONS).max(1);
        let bound = |s: usize| self.bounds.get(s * each).map_or(0, |&b| b as usize);
        &self.entries[bound(section)..bound(section + 1)]
    }

    fn merge(&self, newer: &Self) -> Self {
        let mut entries = Vec::with_capacity(self.entries.len() + newer.entries.len());
        let ends = std::array::from_fn(|s| {
            merge(self.section(s), newer.section(s), &mut entries);
            entries.len()
        });
        Self::new(entries, ends)
    }

    fn address(&self, tag: u32) -> usize {
        (tag >> self.shift) as usize
    }

    /// Returns the positions of the entries at the address of a tag.
    fn bounds(&self, tag: u32) -> Range<usize> {
        match self.bounds.get(self.address(tag)..) {
            Some(&[from, to, ..]) => from as usize..to as usize,
            _ => 0..0,
        }
    }

    /// Returns the documents of a tag whose size classes are in `low..=high`. `range` has the positions of the entries
    /// at the tag's address.
    fn documents(&self, range: Range<usize>, tag: u32, low: u8, high: u8) -> impl Iterator<Item = u32> + '_ {
        let entries = &self.entries[range];
        // All entries at one address belong to one section, so the stored bits identify the tag.
        let (first, last) = (entry(tag, low, 0), entry(tag, high, u32::MAX));
        entries[entries.partition_point(|&e| e < first)..]
            .iter()
            .take_while(move |&&e| e <= last)
            .map(|&e| e as u32)
    }
}

impl PostingRun {
    /// Creates a run from the young entries, of which there must be fewer than 2³².
    pub(super) fn from_young(young: &YoungPostings, size_of: impl Fn(u32) -> u32 + Sync) -> Self {
        Self {
            parts: young
                .shards()
                .par_iter()
                .map(|shard| RunPart::from_young(shard, &size_of))
                .collect(),
            entries: young.len(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries
    }

    /// Takes over the entries of another run, part by part. In addition to both runs, memory is needed for one new part
    /// for each thread. The two runs together must have fewer than 2³² entries.
    pub(super) fn absorb(&mut self, newer: Self) {
        self.entries += newer.entries;
        self.parts
            .par_iter_mut()
            .zip(newer.parts)
            .for_each(|(part, newer)| *part = part.merge(&newer));
    }

    /// Appends the documents of the tokens at `places` whose size class is at least `low` and at most the class given
    /// with the token.
    pub(super) fn collect(&self, places: &[(PostingPlace, u8)], low: u8, out: &mut Vec<u32>) {
        debug_assert_eq!(self.parts.len(), SHARDS);
        for places in places.chunks(BATCH_LOOKUPS) {
            for (place, _) in places {
                let part = &self.parts[place.shard];
                prefetch_read(&part.bounds, part.address(place.tag));
            }
            let mut ranges = [const { 0..0 }; BATCH_LOOKUPS];
            for ((place, _), range) in places.iter().zip(&mut ranges) {
                let part = &self.parts[place.shard];
                *range = part.bounds(place.tag);
                prefetch_read(&part.entries, range.start);
                prefetch_read(&part.entries, range.start + 8);
            }
            for ((place, high), range) in places.iter().zip(ranges) {
                let part = &self.parts[place.shard];
                out.extend(part.documents(range, place.tag, low, *high));
            }
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let part = |p: &RunPart| p.entries.len() * 8 + p.bounds.len() * 4;
        self.parts.len() * size_of::<RunPart>() + self.parts.iter().map(part).sum::<usize>()
    }
}
