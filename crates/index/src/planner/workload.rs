//! The workload that a segment is planned for, and the costs that decide between plans.

use std::fmt;

use super::{duration, stored};
use crate::segment::Codec;

/// The workload that a segment is planned for: its rows, its size limit and the lookups in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Workload {
    /// The number of distinct fingerprints.
    pub n: u64,
    /// The width of the fingerprints in bits.
    pub bits: u32,
    /// The radius of lookups.
    pub k: u32,
    /// The largest allowed size of the segment in bytes; `None` is no limit.
    pub memory: Option<u64>,
    /// The medium that the segment is read from.
    pub medium: Medium,
    /// The kind of lookups.
    pub mode: LookupMode,
    /// The bits of entropy that an address lacks: u − H₂, 0 for uniform fingerprints.
    pub skew_bits: f64,
    /// The storage format of rows.
    pub codec: Codec,
}

/// The medium a segment is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// The segment is in memory, as a file in the system's cache or loaded.
    Memory,
    /// Every probe reads from disk.
    Disk,
}

/// The kind of lookups a segment is planned for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookupMode {
    /// One query at a time.
    Online,
    /// Many queries at once.
    Batch,
}

/// The costs of the steps of a lookup, in nanoseconds of one core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LookupCosts {
    /// A probe for a single query in packed rows, while other probes are in flight. The costs of
    /// other codecs are multiples of it.
    pub online: f64,
    /// A probe for one of many queries that are sorted by address.
    pub batch: f64,
    /// The comparison of a query with a candidate.
    pub candidate: f64,
    /// The comparison of a query with a row of a scan.
    pub scanned: f64,
    /// A read from disk while others are in flight.
    pub read: f64,
    /// The read of a page of 4 KiB from disk in order, after the page before it.
    pub page: f64,
}

impl Default for LookupCosts {
    /// Constants that reproduce the lookups of `docs/scale.md` within a tenth: 10⁷ and 10⁸ rows in two, three and four
    /// tables, on one core of an Intel Xeon with AVX-512. A read takes as long as from a solid-state disk with 32 reads
    /// in flight.
    fn default() -> Self {
        Self {
            online: 60.0,
            batch: 18.0,
            candidate: 1.0,
            scanned: 0.3,
            read: 5000.0,
            page: 1000.0,
        }
    }
}

/// The cost of one probe, in nanoseconds.
pub(super) fn probe(workload: &Workload, costs: &LookupCosts) -> f64 {
    match (workload.medium, workload.mode) {
        (Medium::Disk, _) => costs.read,
        (Medium::Memory, LookupMode::Online) => costs.online * stored::online_factor(workload.codec),
        (Medium::Memory, LookupMode::Batch) => costs.batch * stored::batch_factor(workload.codec),
    }
}

impl fmt::Display for LookupCosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [online, batch, candidate, scanned] =
            [self.online, self.batch, self.candidate, self.scanned].map(duration);
        let [read, page] = [self.read, self.page].map(duration);
        write!(
            f,
            "a probe {online} (among many queries {batch}), a candidate {candidate}, a row of a scan {scanned}, a read {read}, a page in order {page}"
        )
    }
}
