//! The plain directory: 16 bits per address, counted from the first row of each group of 256 addresses.
//!
//! The coarse part has the first row of each group, in 4 bytes. The fine part has, for each of the 2^u + 1 bounds of
//! 2^u addresses, its offset from the first row of its group, in 2 bytes.

use std::ops::Range;

use twinprint_fingerprint::kernel::prefetch_read;

use super::{Bounds, DirectoryForm, Encoded};
use crate::segment::span::Span;

/// log₂ of the number of addresses of a group.
const GROUP: u32 = 8;

/// An encoded plain directory, for reading.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain<'a> {
    coarse: &'a [[u8; 4]],
    fine: &'a [[u8; 2]],
}

impl<'a> Plain<'a> {
    pub(crate) fn new(coarse: &'a [u8], fine: &'a [u8]) -> Self {
        Self {
            coarse: coarse.as_chunks().0,
            fine: fine.as_chunks().0,
        }
    }

    /// Returns the first row of a group of addresses.
    #[inline]
    fn group(&self, group: usize) -> u32 {
        self.coarse.get(group).map_or(0, |&b| u32::from_le_bytes(b))
    }
}

impl Bounds for Plain<'_> {
    #[inline]
    fn prefetch(&self, address: u32) {
        prefetch_read(self.fine, address as usize);
    }

    #[inline]
    fn bucket(&self, address: u32) -> Span {
        let x = address as usize;
        let offset = |x: usize| self.fine.get(x).map_or(0, |&b| u16::from_le_bytes(b));
        let group = self.group(x >> GROUP);
        let next = self.group((x + 1) >> GROUP);
        Span {
            start: group.wrapping_add(offset(x).into()),
            end: next.wrapping_add(offset(x + 1).into()),
        }
    }

    #[inline]
    fn bucket_bytes(&self, address: u32) -> [Range<usize>; 2] {
        let x = address as usize;
        [4 * (x >> GROUP)..4 * ((x + 1) >> GROUP) + 4, 2 * x..2 * x + 4]
    }

    fn group_bits(&self) -> u32 {
        GROUP
    }

    fn group_rows(&self, address: u32) -> Span {
        let group = (address >> GROUP) as usize;
        let is_last = group + 1 >= self.coarse.len();
        Span {
            start: self.group(group),
            end: if is_last { u32::MAX } else { self.group(group + 1) },
        }
    }

    fn group_bytes(&self, address: u32) -> Range<usize> {
        let at = 4 * (address >> GROUP) as usize;
        at..(at + 8).min(4 * self.coarse.len())
    }
}

/// Encodes the directory for ascending bounds of buckets; `None` if a group of addresses has more than 65,535 rows.
pub(super) fn encode(bounds: &[u32]) -> Option<Encoded> {
    let (mut coarse, mut fine) = (Vec::new(), Vec::with_capacity(2 * bounds.len()));
    for group in bounds.chunks(1 << GROUP) {
        coarse.extend(group[0].to_le_bytes());
        for bound in group {
            fine.extend(u16::try_from(bound - group[0]).ok()?.to_le_bytes());
        }
    }
    Some(Encoded {
        form: DirectoryForm::Plain,
        coarse,
        fine,
    })
}
