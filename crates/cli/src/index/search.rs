//! The values of the option `--search` of `twinprint index query`, and the table of all variations.

use twinprint::naive::{Bill, StoredVariations};
use twinprint::segment::{Search, Stats};
use twinprint::store::Committed;
use twinprint::{Width, naive};

use crate::choice::Choice;
use crate::number;
use crate::usage::usage;

/// A way to answer queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Looks up each query.
    Search(Search),
    /// Looks up each query in a table of all variations of all fingerprints.
    Stored,
    /// Reads the whole index once for many queries.
    Pass,
}

impl Default for Way {
    fn default() -> Self {
        Self::Search(Search::Directory)
    }
}

/// The ways that the option names.
pub(super) const WAYS: [Choice<Way>; 6] = [
    Choice {
        name: "directory",
        help: "By the leading bits of each key, with the directories of the tables: the fastest",
        value: Way::Search(Search::Directory),
    },
    Choice {
        name: "binary",
        help: "By whole keys, with a binary search",
        value: Way::Search(Search::Binary),
    },
    Choice {
        name: "interpolation",
        help: "By whole keys, with an interpolation search, which takes fewer steps if fingerprints are uniform",
        value: Way::Search(Search::Interpolation),
    },
    Choice {
        name: "scan",
        help: "Naive: compares each query with every fingerprint",
        value: Way::Search(Search::Scan),
    },
    Choice {
        name: "variations",
        help: "Naive: looks up every variation of the query within -k, 43,745 for 64 bits and -k 3",
        value: Way::Search(Search::Variations),
    },
    Choice {
        name: "stored-variations",
        help: "Naive: stores every variation of every fingerprint in memory, and looks up the query; refused above --memory",
        value: Way::Stored,
    },
];

/// A table of all variations of the fingerprints of an index, with their ids.
pub(super) struct StoredTable<W> {
    variations: StoredVariations<W>,
    ids: Vec<u64>,
}

impl<W: Width> StoredTable<W> {
    /// Stores all variations within `k`. An error with the size of the table if it is above `memory` bytes.
    pub(super) fn new(committed: &Committed<W>, k: u32, memory: u64) -> anyhow::Result<Self> {
        let refuse = |bill: Bill| {
            let count = |n: u128| number::count(u64::try_from(n).unwrap_or(u64::MAX));
            usage(format!(
                "--memory: the {} variations of each of {} are {} entries, {}, but only {} is allowed; allow more, or \
                 choose a smaller -k",
                count(bill.variations),
                number::counted(bill.rows, "fingerprint"),
                count(bill.entries),
                number::bytes(u64::try_from(bill.bytes).unwrap_or(u64::MAX)),
                number::bytes(memory)
            ))
        };
        // The fingerprints are read only if those that are not deleted may fit.
        let snapshot = &committed.snapshot;
        let least = Bill::of::<W>(snapshot.rows().saturating_sub(committed.tombstones), k);
        if least.bytes > memory.into() {
            return Err(refuse(least));
        }
        let (mut rows, mut ids) = (Vec::new(), Vec::new());
        for row in snapshot.iter() {
            let (fingerprint, id) = row?;
            rows.push(fingerprint);
            ids.push(id);
        }
        let variations = StoredVariations::build(&rows, k, memory);
        Ok(Self {
            variations: variations.map_err(|naive::TooLarge { bill, .. }| refuse(bill))?,
            ids,
        })
    }

    /// Calls `hit(id, distance)` for every fingerprint within the radius.
    pub(super) fn look_up(&self, query: W, mut hit: impl FnMut(u64, u32)) -> Stats {
        let mut found = Vec::new();
        let work = self.variations.lookup(query, &mut found);
        for found in &found {
            if let Some(&id) = self.ids.get(found.id as usize) {
                hit(id, found.distance.into());
            }
        }
        Stats {
            probes: work.probes,
            candidates: work.candidates,
            matches: found.len() as u64,
            bytes: work.candidates * Bill::of::<W>(1, 0).bytes as u64,
            ..Stats::default()
        }
    }
}
