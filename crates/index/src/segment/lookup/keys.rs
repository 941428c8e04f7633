//! Lookups by whole keys: each key of a table is found by a search among its sorted rows (Manku, Jain and Das Sarma
//! 2007), not only by the leading bits that the directory knows.
//!
//! A key consists of all bits of a table's mask, or, for the variations of a query, of all bits of a fingerprint. The
//! directory leads to the rows with the leading bits of the key, and the search looks for the key among them. In a table
//! with one address bit, it is a search in half of the table.
//!
//! These lookups serve to compare methods and to count their work. They do not prefetch, so a lookup by the directory
//! ([`super`]) is several times as fast.

use twinprint_fingerprint::Width;

use super::ids::{NO_ROW, RowMatch};
use super::probes::REPORT_ROWS;
use super::{Receive, Scratch, Stats};
use crate::flips;
use crate::naive::variation_count;
use crate::plan::even_radii;
use crate::segment::MAX_KEYS;
use crate::segment::codec::{KeyReads, KeyedRows, LowerBound, each_codec};
use crate::segment::span::Span;
use crate::segment::{Segment, SegmentError};

/// The number of address bits up to which the buckets of all addresses are found once, before the lookups.
const FEW_ADDRESS_BITS: u32 = 8;

/// The way in which a lookup finds rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Search {
    /// By the leading key bits, with the directory of the table. All rows with the same leading bits are candidates. This
    /// is the fastest way.
    #[default]
    Directory,
    /// By all key bits, with a binary search.
    Binary,
    /// By all key bits, with an interpolation search, which takes fewer steps if fingerprints are uniform.
    Interpolation,
    /// All variations of the query within the radius are looked up in the first table, with a binary search. This is one
    /// of the naive ways ([`crate::naive`]).
    Variations,
    /// The query is compared with every row. This is the other naive way.
    Scan,
}

/// The keys of one table that are probed.
struct KeyProbes<W> {
    table: usize,
    /// The key bits in a fingerprint that is not permuted, and their number.
    mask: W,
    key_bits: u32,
    /// The largest number of key bits that may differ.
    radius: u32,
    /// The buckets of all addresses if there are few. To find one of few buckets in a directory may take long, because
    /// it is read from the beginning.
    few_buckets: Vec<Span>,
}

impl<W: Width> Segment<W> {
    /// Like [`Segment::lookup_batch`], with another way to find rows. All ways find the same, if the plan of the tables
    /// is exact.
    ///
    /// ```
    /// use twinprint_index::segment::{Builder, Options, Scratch, Search};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let mut builder = Builder::new(&directory.path().join("rows.seg"), &Options::default())?;
    /// builder.push(0b0000_u64, 17)?;
    /// let segment = builder.finish()?;
    /// let mut found = Vec::new();
    /// let mut hit = |_query, id, _fingerprint, distance| found.push((id, distance));
    /// let stats = segment.lookup_batch_by(Search::Variations, &[0b0101], 3, &mut Scratch::default(), &mut hit)?;
    /// assert_eq!(found, [(17, 2)]);
    /// assert_eq!(stats.probes, 43_745);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `TooManyKeys` if a query would probe more than [`MAX_KEYS`] keys; the errors of [`Segment::lookup`].
    pub fn lookup_batch_by(
        &self,
        search: Search,
        queries: &[W],
        k: u32,
        scratch: &mut Scratch<W>,
        mut hit: impl FnMut(usize, u64, W, u32),
    ) -> Result<Stats, SegmentError> {
        let method = match search {
            Search::Directory => return self.lookup_batch(queries, k, scratch, hit),
            Search::Interpolation => LowerBound::Interpolation,
            Search::Binary | Search::Variations | Search::Scan => LowerBound::Binary,
        };
        let mut stats = Stats::default();
        let mut all = super::EachId(|query: u32, id, fingerprint, distance| {
            hit(query as usize, id, fingerprint, distance);
        });
        let Some(mut probes) = self.key_probes(search, k) else {
            self.scan(queries, k, &mut scratch.rows, &mut stats, &mut all)?;
            return Ok(stats);
        };
        let keys = probes.iter().map(|p| variation_count(p.key_bits, p.radius));
        let keys = keys.fold(0, u128::saturating_add);
        if keys > MAX_KEYS.into() {
            return Err(SegmentError::TooManyKeys { keys });
        }
        for p in &mut probes {
            p.few_buckets = each_codec!(self.buckets(p.table), rows => self.few_buckets(p.table, &rows))?;
        }
        let mut found = Vec::new();
        for (query, number) in queries.iter().zip(0..) {
            for (p, probing) in probes.iter().enumerate() {
                let job = KeyLookup {
                    segment: self,
                    probing,
                    earlier: &probes[..p],
                    k,
                    method,
                };
                each_codec!(self.buckets(probing.table), rows => job.run(&rows, (*query, number), &mut stats, &mut found))?;
            }
            if found.len() >= REPORT_ROWS {
                let _continue = all.receive(self, &mut found)?;
                found.clear();
            }
        }
        if !found.is_empty() {
            let _end = all.receive(self, &mut found)?;
        }
        Ok(stats)
    }

    /// Returns the buckets of all addresses of a table, or nothing if there are more than [`FEW_ADDRESS_BITS`] allow.
    fn few_buckets(&self, table: usize, rows: &impl KeyedRows<W>) -> Result<Vec<Span>, SegmentError> {
        match self.tables[table].order.address_bits() {
            bits @ ..=FEW_ADDRESS_BITS => (0..1 << bits).map(|address| rows.bucket_of(address)).collect(),
            _ => Ok(Vec::new()),
        }
    }

    /// The keys that a lookup of radius `k` probes, or `None` if every row is to be compared: for a scan, and if the
    /// tables do not serve the radius.
    fn key_probes(&self, search: Search, k: u32) -> Option<Vec<KeyProbes<W>>> {
        let plan = &self.footer.plan;
        if search == Search::Scan {
            return None;
        }
        if search == Search::Variations {
            return Some(vec![KeyProbes {
                table: 0,
                mask: W::truncate(u128::MAX),
                key_bits: W::BITS,
                radius: k,
                few_buckets: Vec::new(),
            }]);
        }
        let specs = &plan.tables;
        let union = specs.iter().fold(0, |all, spec| all | spec.mask);
        let widths: u32 = specs.iter().map(|spec| spec.mask.count_ones()).sum();
        let radii: Vec<i32> = if k == plan.k || !self.exact {
            specs.iter().map(|spec| spec.radius as i32).collect()
        } else if union.count_ones() == widths {
            // Disjoint keys serve any radius; see `search`.
            even_radii(k, specs.len() as u32)
        } else if k < plan.k {
            specs.iter().map(|spec| spec.radius as i32).collect()
        } else {
            return None;
        };
        let probes = specs.iter().zip(radii).enumerate();
        let probed = probes.filter_map(|(table, (spec, radius))| {
            let key_bits = spec.mask.count_ones();
            Some(KeyProbes {
                table,
                mask: W::truncate(spec.mask),
                key_bits,
                radius: u32::try_from(radius).ok()?.min(key_bits),
                few_buckets: Vec::new(),
            })
        });
        Some(probed.collect())
    }
}

/// The part of a lookup in one table.
struct KeyLookup<'j, W> {
    segment: &'j Segment<W>,
    probing: &'j KeyProbes<W>,
    earlier: &'j [KeyProbes<W>],
    k: u32,
    method: LowerBound,
}

impl<W: Width> KeyLookup<'_, W> {
    /// Probes the keys of a query, and appends its matches that no earlier table finds.
    fn run(
        &self,
        rows: &impl KeyedRows<W>,
        (query, number): (W, u32),
        stats: &mut Stats,
        found: &mut Vec<RowMatch<W>>,
    ) -> Result<(), SegmentError> {
        let KeyProbes {
            table,
            key_bits,
            radius,
            ..
        } = *self.probing;
        let stored = &self.segment.tables[table];
        let permuted_query = stored.order.permute(query);
        let below = W::BITS - key_bits;
        let rest = W::truncate(u128::MAX.checked_shr(128 - below).unwrap_or(0));
        let mut reads = KeyReads::default();
        let (mut probes, mut candidates, mut matches) = (0, 0, 0);
        let mut each = |row: u32, permuted: W| {
            candidates += 1;
            let differing = stored.order.restore(permuted ^ permuted_query);
            let distance = differing.distance(W::default());
            let seen = |p: &KeyProbes<W>| flips::reaches(differing, p.mask, p.radius);
            if distance <= self.k && !self.earlier.iter().any(seen) {
                matches += 1;
                found.push(RowMatch {
                    query: number,
                    fingerprint: stored.order.restore(permuted),
                    distance,
                    row: if table == 0 { row } else { NO_ROW },
                });
            }
        };
        flips::each_flipped(permuted_query, below..W::BITS, radius, &mut |key: W| {
            probes += 1;
            let low = key & !rest;
            let address = stored.order.address(low);
            let bucket = match self.probing.few_buckets.get(address as usize) {
                Some(&bucket) => bucket,
                None => rows.bucket_of(address)?,
            };
            rows.rows_between(bucket, low, low | rest, self.method, &mut reads, &mut each)
        })?;
        stats.probes += probes;
        stats.candidates += candidates;
        stats.matches += matches;
        stats.steps += reads.steps;
        stats.bytes += stored.bounds_bytes(probes) + reads.bytes;
        Ok(())
    }
}
