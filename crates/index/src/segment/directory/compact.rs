//! The compact directory: 8 bits per address, counted from the first row of each group of 8 to 64 addresses.
//!
//! The coarse part has the first row of each group, in 4 bytes. The fine part has, for each of the 2^u + 1 bounds of
//! 2^u addresses, its offset from the first row of its group, in one byte. A group is as large as the rows allow, so
//! that no offset is above 255. Its size follows from the lengths of the two parts.

use std::ops::Range;

use twinprint_fingerprint::kernel::prefetch_read;

use super::{Bounds, DirectoryForm, Encoded};
use crate::segment::span::Span;

/// log₂ of the possible numbers of addresses of a group.
const GROUPS: std::ops::RangeInclusive<u32> = 3..=6;

/// An encoded compact directory, for reading.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compact<'a> {
    coarse: &'a [[u8; 4]],
    fine: &'a [u8],
    /// log₂ of the number of addresses of a group.
    group: u32,
}

impl<'a> Compact<'a> {
    pub(crate) fn new(coarse: &'a [u8], fine: &'a [u8]) -> Self {
        let coarse = coarse.as_chunks().0;
        // If all bounds are in one group, every size has the same groups.
        let fits = |&group: &u32| fine.len().div_ceil(1 << group) == coarse.len();
        let group = GROUPS.rev().find(fits).unwrap_or(*GROUPS.end());
        Self { coarse, fine, group }
    }

    /// Returns the first row of the group of an address.
    #[inline]
    fn first(&self, x: usize) -> u32 {
        let first = self.coarse.get(x >> self.group);
        first.map_or(0, |&b| u32::from_le_bytes(b))
    }

    #[inline]
    fn bound(&self, x: usize) -> u32 {
        let offset = self.fine.get(x).copied().unwrap_or(0);
        self.first(x).wrapping_add(offset.into())
    }
}

impl Bounds for Compact<'_> {
    #[inline]
    fn prefetch(&self, address: u32) {
        prefetch_read(self.fine, address as usize);
    }

    #[inline]
    fn bucket(&self, address: u32) -> Span {
        let x = address as usize;
        Span {
            start: self.bound(x),
            end: self.bound(x + 1),
        }
    }

    #[inline]
    fn bucket_bytes(&self, address: u32) -> [Range<usize>; 2] {
        let x = address as usize;
        [4 * (x >> self.group)..4 * ((x + 1) >> self.group) + 4, x..x + 2]
    }

    fn group_bits(&self) -> u32 {
        self.group
    }

    fn group_rows(&self, address: u32) -> Span {
        let group = (address >> self.group) as usize;
        let first = |group: usize| self.coarse.get(group).map(|&b| u32::from_le_bytes(b));
        Span {
            start: first(group).unwrap_or(0),
            end: first(group + 1).unwrap_or(u32::MAX),
        }
    }

    fn group_bytes(&self, address: u32) -> Range<usize> {
        let at = 4 * (address >> self.group) as usize;
        at..(at + 8).min(4 * self.coarse.len())
    }
}

/// Encodes the directory for ascending bounds of buckets; `None` if 8 addresses have more than 255 rows.
pub(super) fn encode(bounds: &[u32]) -> Option<Encoded> {
    let fits = |&group: &u32| {
        let mut groups = bounds.chunks(1 << group);
        groups.all(|bounds| bounds[bounds.len() - 1] - bounds[0] <= u8::MAX.into())
    };
    let group = GROUPS.rev().find(fits)?;
    let (mut coarse, mut fine) = (Vec::new(), Vec::with_capacity(bounds.len()));
    for group in bounds.chunks(1 << group) {
        coarse.extend(group[0].to_le_bytes());
        fine.extend(group.iter().map(|bound| (bound - group[0]) as u8));
    }
    Some(Encoded {
        form: DirectoryForm::Compact,
        coarse,
        fine,
    })
}
