//! Rows ordered by address, with a directory of bucket bounds: one permuted table in memory.
//!
//! Invariants: for addresses of u bits and n rows, `bounds` has 2^u + 1 entries and ascends from 0 to n; the rows of
//! address x are `rows[bounds[x]..bounds[x + 1]]`, in the order of their ids. Rows keep their own bit order (an address
//! is computed, not stored), so a query is compared without being permuted.
//!
//! Sorting takes two passes. The first divides the ids of each chunk of the input by the leading address bits. The
//! second gathers each division from all chunks and orders it by the other address bits. A division is small enough
//! to stay in cache. Only ids are divided, so the rows are never in memory a third time.
//! Both passes write to slices that belong to one task alone, so they run in parallel without unsafe code, and the
//! result does not depend on the number of threads. Rows that are already in order, as those of a segment are for its
//! first table, are copied without sorting.

use rayon::prelude::*;
use twinprint_fingerprint::Width;

use crate::address::Address;

/// log₂ of the approximate number of rows in a division of the first sorting pass. The rows and ids of a division fit a
/// second-level cache.
const DIVISION_LOG: u32 = 14;
/// The maximum number of address bits by which the first sorting pass divides rows. With more divisions, their write
/// positions would not fit the first-level cache.
const MAX_DIVIDING_BITS: u32 = 11;
/// The minimum number of rows in a chunk of the first sorting pass.
const MIN_CHUNK: usize = 1 << 16;

/// Rows sorted by address, with the bounds of every bucket.
#[derive(Clone, Debug)]
pub(crate) struct Buckets<W> {
    /// The fingerprints, sorted by address.
    pub(crate) rows: Vec<W>,
    /// The position of each row in the input.
    pub(crate) ids: Vec<u32>,
    bounds: Vec<u32>,
    address: Address,
    /// The output of the first sorting pass. It stays allocated, so that sorting again needs no new memory.
    spare_ids: Vec<u32>,
}

impl<W: Width> Buckets<W> {
    /// Creates an empty table, which [`Buckets::order`] fills.
    pub(crate) fn new() -> Self {
        Self {
            rows: Vec::new(),
            ids: Vec::new(),
            bounds: vec![0, 0],
            address: Address::new(0),
            spare_ids: Vec::new(),
        }
    }

    /// Sorts `rows`, fewer than 2³² of them, by their addresses. Takes O(n + 2^u) time for n rows and addresses of u
    /// bits.
    pub(crate) fn order(&mut self, rows: &[W], address: Address) {
        let n = rows.len();
        if rows.is_sorted_by_key(|&row| address.of(row)) {
            self.take(rows, address);
            return;
        }
        let high = n
            .max(1)
            .ilog2()
            .saturating_sub(DIVISION_LOG)
            .min(address.bits())
            .min(MAX_DIVIDING_BITS);
        let low = address.bits() - high;
        self.rows.resize(n, W::default());
        self.ids.resize(n, 0);
        self.spare_ids.resize(n, 0);
        self.bounds.clear();
        self.bounds.resize((1 << address.bits()) + 1, n as u32);

        let chunk = n.div_ceil(4 * rayon::current_num_threads()).max(MIN_CHUNK);
        let starts: Vec<Vec<u32>> = rows
            .par_chunks(chunk)
            .zip(self.spare_ids.par_chunks_mut(chunk))
            .enumerate()
            .map(|(c, (from, to_ids))| divide(from, (c * chunk) as u32, &address, low, to_ids))
            .collect();

        let mut divisions = Vec::with_capacity(1 << high);
        let (mut rest_rows, mut rest_ids) = (&mut self.rows[..], &mut self.ids[..]);
        let mut base = 0;
        for (d, bounds) in self.bounds[..1 << address.bits()]
            .chunks_mut(1 << low)
            .enumerate()
        {
            let len: usize = starts.iter().map(|s| (s[d + 1] - s[d]) as usize).sum();
            let (rows, ids);
            (rows, rest_rows) = rest_rows.split_at_mut(len);
            (ids, rest_ids) = rest_ids.split_at_mut(len);
            divisions.push(Division {
                index: d,
                base,
                rows,
                ids,
                bounds,
            });
            base += len as u32;
        }
        let spare_ids = &self.spare_ids;
        divisions.into_par_iter().for_each(|division| {
            let d = division.index;
            let pieces = starts.iter().enumerate().map(|(c, s)| {
                let piece = c * chunk + s[d] as usize..c * chunk + s[d + 1] as usize;
                &spare_ids[piece]
            });
            division.fill(rows, pieces.flatten().copied(), &address, low);
        });
        self.address = address;
    }

    /// Copies rows that are already sorted by address, and computes the bounds of the buckets.
    fn take(&mut self, rows: &[W], address: Address) {
        self.rows.clear();
        self.rows.extend_from_slice(rows);
        self.ids.clear();
        self.ids.extend(0..rows.len() as u32);
        self.bounds.clear();
        self.bounds.reserve((1 << address.bits()) + 1);
        for (id, &row) in (0u32..).zip(rows) {
            // Sets the start of the bucket of this row's address, and of the empty buckets before it.
            while self.bounds.len() <= address.of(row) as usize {
                self.bounds.push(id);
            }
        }
        self.bounds.resize((1 << address.bits()) + 1, rows.len() as u32);
        self.address = address;
    }

    /// Frees the memory that only [`Buckets::order`] needs.
    pub(crate) fn shrink(&mut self) {
        self.spare_ids = Vec::new();
    }

    /// The address by which the rows are sorted.
    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// Returns the positions of the rows with address `x`, which must be below 2^u for addresses of u bits.
    #[inline]
    pub(crate) fn bucket(&self, x: u32) -> std::ops::Range<usize> {
        self.bounds[x as usize] as usize..self.bounds[x as usize + 1] as usize
    }

    /// Prefetches the bounds of a bucket.
    #[inline]
    pub(crate) fn prefetch_bounds(&self, x: u32) {
        twinprint_fingerprint::kernel::prefetch_read(&self.bounds, x as usize);
    }

    /// Prefetches the first rows of a bucket. Its bounds should already be in the cache.
    #[inline]
    pub(crate) fn prefetch_rows(&self, x: u32) {
        twinprint_fingerprint::kernel::prefetch_read(&self.rows, self.bounds[x as usize] as usize);
    }

    /// The number of bytes allocated for rows, ids and bounds.
    pub(crate) fn bytes(&self) -> usize {
        self.rows.capacity() * size_of::<W>()
            + (self.ids.capacity() + self.spare_ids.capacity() + self.bounds.capacity()) * 4
    }
}

/// First sorting pass over one chunk: groups the ids of its rows by the leading address bits, all but the last `low`.
/// Returns the bounds of the groups.
fn divide<W: Width>(from: &[W], first_id: u32, address: &Address, low: u32, to_ids: &mut [u32]) -> Vec<u32> {
    let mut starts = vec![0u32; (1 << (address.bits() - low)) + 1];
    for &row in from {
        starts[(address.of(row) >> low) as usize + 1] += 1;
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    let mut cursor = starts.clone();
    for (id, &row) in (first_id..).zip(from) {
        let at = &mut cursor[(address.of(row) >> low) as usize];
        to_ids[*at as usize] = id;
        *at += 1;
    }
    starts
}

/// The slices of the output that one division of the address space owns.
struct Division<'a, W> {
    index: usize,
    /// The position of the division's first row in the whole output.
    base: u32,
    rows: &'a mut [W],
    ids: &'a mut [u32],
    bounds: &'a mut [u32],
}

impl<W: Width> Division<'_, W> {
    /// Second sorting pass: gathers the rows of this division, whose ids are `ids`, and sorts them by the last `low`
    /// address bits.
    fn fill(self, rows: &[W], ids: impl Iterator<Item = u32> + Clone, address: &Address, low: u32) {
        let trailing = (1u32 << low) - 1;
        let places: Vec<u32> = ids
            .clone()
            .map(|id| address.of(rows[id as usize]) & trailing)
            .collect();
        let mut cursor = vec![0u32; self.bounds.len()];
        for &place in &places {
            cursor[place as usize] += 1;
        }
        let mut sum = 0;
        for (bound, slot) in self.bounds.iter_mut().zip(&mut cursor) {
            *bound = self.base + sum;
            sum += std::mem::replace(slot, sum);
        }
        for (id, place) in ids.zip(places) {
            let at = &mut cursor[place as usize];
            self.rows[*at as usize] = rows[id as usize];
            self.ids[*at as usize] = id;
            *at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{at_every_width, for_random};
    use proptest::prelude::*;

    fn check<W: Width>(rows: &[W], mask: u128) {
        let address = Address::new(mask);
        let mut buckets = Buckets::new();
        buckets.order(&[1, 2, 3].map(W::truncate), Address::new(3));
        buckets.order(rows, address.clone());
        let mut expected: Vec<(u32, u32)> = (0..).zip(rows).map(|(id, &r)| (address.of(r), id)).collect();
        expected.sort_unstable();
        let ids: Vec<u32> = expected.iter().map(|e| e.1).collect();
        assert_eq!(buckets.ids, ids);
        for (&id, &row) in buckets.ids.iter().zip(&buckets.rows) {
            assert_eq!(rows[id as usize], row);
        }
        for x in 0..1u32 << address.bits() {
            let range = buckets.bucket(x);
            assert_eq!(range.start, expected.partition_point(|e| e.0 < x));
            assert_eq!(range.end, expected.partition_point(|e| e.0 <= x));
        }
    }

    fn orders_like_a_stable_sort<W: Width>() {
        for_random::<W, _>(256, &any::<(Vec<u128>, u128)>(), |(rows, mask)| {
            let mask = W::truncate(mask & 0x1000_0101_1001_1010_0011_1111_1111_1111).widen();
            let mut rows: Vec<W> = rows.into_iter().map(W::truncate).collect();
            check(&rows, mask);
            check(&rows, 0);
            let address = Address::new(mask);
            rows.sort_by_key(|&row| address.of(row));
            check(&rows, mask);
        });
    }

    fn orders_many_rows_over_several_chunks<W: Width>() {
        let rows: Vec<W> = (0..300_000u128)
            .map(|i| W::truncate(i.wrapping_mul(0xBF58_476D_1CE4_E5B9_9E37_79B9_7F4A_7C15)))
            .collect();
        check(&rows, 0xFFFF << (W::BITS - 16));
        check(&rows, 0x0000_0000_00FF_000F);
        let equal = vec![W::truncate(7); 200_000];
        check(&equal, 0xFFF);
    }

    at_every_width! {
        orders_like_a_stable_sort
        orders_many_rows_over_several_chunks
    }
}
