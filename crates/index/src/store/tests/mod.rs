//! Indexes compared with maps: after changes, crashes, failures and damage, and with concurrent readers.

mod crash;
mod damage;
mod deleting;
mod disk;
mod faults;
mod foreign;
mod model;
mod names;
mod readers;
mod resuming;
mod versions;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use twinprint_fingerprint::Width;

use super::*;
use crate::samples::{Random, at_every_width, fewer, for_random};
use crate::segment::Scratch;
use crate::storage::unsynced::Unsynced;

/// A change of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change<W = u64> {
    Add(u64, W),
    Delete(u64),
}

/// The fingerprints by id after some changes.
type Living<W = u64> = BTreeMap<u64, W>;

fn living<W: Width>(changes: &[Change<W>]) -> Living<W> {
    let mut living = Living::new();
    for &change in changes {
        match change {
            Change::Add(id, fingerprint) => drop(living.insert(id, fingerprint)),
            Change::Delete(id) => drop(living.remove(&id)),
        }
    }
    living
}

/// Makes a change and records it as the checkpoint.
fn apply<W: Width>(index: &Index<W>, change: Change<W>, checkpoint: usize) -> Result<(), StoreError> {
    match change {
        Change::Add(id, fingerprint) => index.add(id, fingerprint)?,
        Change::Delete(id) => index.delete(id)?,
    }
    index.mark(checkpoint as u64)
}

/// Changes of few ids to fingerprints near a few centres, so that ids recur and lookups find fingerprints.
fn change<W: Width>() -> impl Strategy<Value = Change<W>> {
    prop_oneof![
        4 => (0u64..24, fingerprint()).prop_map(|(id, fingerprint)| Change::Add(id, fingerprint)),
        1 => (0u64..24).prop_map(Change::Delete),
    ]
}

/// A fingerprint near one of three centres.
fn fingerprint<W: Width>() -> impl Strategy<Value = W> {
    (0u64..3, 0..W::BITS, 0..W::BITS).prop_map(near)
}

fn near<W: Width>((centre, a, b): (u64, u32, u32)) -> W {
    let low = centre.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let high = centre.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    W::truncate(u128::from(high) << 64 | u128::from(low)) ^ W::truncate(1 << a) ^ W::truncate(1 << b)
}

/// `n` such changes.
fn changes<W: Width>(n: usize, seed: u64) -> Vec<Change<W>> {
    let mut random = Random(seed);
    let mut one = || {
        let id = random.below(24);
        let centre = random.below(3);
        let [a, b] = [(); 2].map(|()| random.below(W::BITS.into()) as u32);
        let fingerprint = near((centre, a, b));
        if random.below(5) == 0 {
            Change::Delete(id)
        } else {
            Change::Add(id, fingerprint)
        }
    };
    (0..n).map(|_| one()).collect()
}

/// Options with small memtables, so that flushes are frequent.
fn options(memtable: u32, upkeep: Upkeep, storage: impl Storage + 'static) -> Options {
    Options {
        memtable,
        upkeep,
        storage: Arc::new(storage),
    }
}

fn settings() -> Settings {
    Settings {
        radius: 3,
        codec: Codec::default(),
        label: "a profile".to_owned(),
    }
}

/// Compares every kind of query with brute force.
fn same<W: Width>(snapshot: &Snapshot<W>, living: &Living<W>) -> Result<(), StoreError> {
    let mut all = snapshot.iter().collect::<Result<Vec<_>, _>>()?;
    all.sort_unstable_by_key(|&(_, id)| id);
    let expected: Vec<(W, u64)> = living
        .iter()
        .map(|(&id, &fingerprint)| (fingerprint, id))
        .collect();
    assert_eq!(all, expected);
    let centres = (0..3).map(|centre| near((centre, 5, 9)));
    let queries: Vec<W> = centres.chain([W::truncate(77)]).collect();
    let mut scratch = Scratch::default();
    for k in [0, 3, 7] {
        let mut batch = Vec::new();
        snapshot.lookup_batch(&queries, k, &mut scratch, |q, id, fingerprint, distance| {
            batch.push((q, id, fingerprint, distance));
        })?;
        batch.sort_unstable();
        let mut singly = Vec::new();
        for (q, &query) in queries.iter().enumerate() {
            let before = singly.len();
            snapshot.lookup(query, k, &mut scratch, |id, fingerprint, distance| {
                singly.push((q, id, fingerprint, distance));
            })?;
            let any = snapshot.any(query, k, &mut scratch)?;
            assert_eq!(any.is_some(), singly.len() > before);
            assert!(any.is_none_or(|found| singly[before..].contains(&(
                q,
                found.id,
                found.fingerprint,
                found.distance
            ))));
        }
        singly.sort_unstable();
        let expected: Vec<(usize, u64, W, u32)> = queries
            .iter()
            .enumerate()
            .flat_map(|(q, &query)| {
                let each = living
                    .iter()
                    .map(move |(&id, &fingerprint)| (q, id, fingerprint, fingerprint.distance(query)));
                each.filter(|found| found.3 <= k)
            })
            .collect();
        assert_eq!(singly, expected, "k = {k}");
        assert_eq!(batch, expected, "k = {k}");
        if k == 3 {
            let mut scanned = Vec::new();
            let never = AtomicBool::new(false);
            snapshot.scan(&queries, k, &never, &|_| (), |q, id, distance| {
                scanned.push((q, id, distance));
            })?;
            scanned.sort_unstable();
            let expected = expected.iter().map(|&(q, id, _, distance)| (q, id, distance));
            assert!(scanned.into_iter().eq(expected), "scanned");
        }
    }
    Ok(())
}
