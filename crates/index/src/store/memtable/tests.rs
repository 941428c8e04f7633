//! Lookups in the memtable compared with brute force.

use proptest::prelude::*;

use super::*;
use crate::planner::plan_lookup;
use crate::samples::{Random, Shape, at_every_width, fewer, for_random, rows, shape};

fn memtable<W: Width>(capacity: u32, k: u32) -> Memtable<W> {
    let plan = plan_lookup(capacity as usize, W::BITS, k, None).unwrap().plan;
    Memtable::new(capacity, &plan).unwrap()
}

/// Id, fingerprint and stamp of deletion, in the order of insertion.
type Model<W> = Vec<(u64, W, u64)>;

fn brute<W: Width>(model: &Model<W>, query: W, k: u32, point: ReadPoint) -> Vec<(u32, u64, W)> {
    let mut out: Vec<(u32, u64, W)> = model[..point.entries as usize]
        .iter()
        .filter(|(_, row, died)| *died > point.stamp && row.distance(query) <= k)
        .map(|&(id, row, _)| (row.distance(query), id, row))
        .collect();
    out.sort_unstable();
    out
}

fn looked_up<W: Width>(table: &Memtable<W>, query: W, k: u32, point: ReadPoint) -> Vec<(u32, u64, W)> {
    let mut out = Vec::new();
    table.lookup(query, k, point, &mut |id, row, distance| {
        out.push((distance, id, row));
        true
    });
    out.sort_unstable();
    out
}

fn check<W: Width>(shape: Shape, n: usize, k: u32, seed: u64) {
    let mut random = Random(seed);
    let table = memtable::<W>(n as u32, k);
    let mut model: Model<W> = Vec::new();
    let mut points = vec![ReadPoint { entries: 0, stamp: 0 }];
    for (stamp, row) in (1..).zip(rows::<W>(shape, n, k, seed)) {
        // A third of the ids get another fingerprint later.
        let id = random.below(n as u64 * 2 / 3);
        table.kill(id, stamp);
        if let Some(old) = model.iter_mut().find(|(i, _, died)| *i == id && *died == ALIVE) {
            old.2 = stamp;
        }
        let entries = table.push(id, row).unwrap();
        model.push((id, row, ALIVE));
        assert_eq!(entries as usize, model.len());
        if stamp % 7 == 0 {
            points.push(ReadPoint { entries, stamp });
        }
        let query = random.near(row, k + 1);
        for point in [
            ReadPoint { entries, stamp },
            points[random.below(points.len() as u64) as usize],
        ] {
            for k in [k, k / 2, k + 2] {
                assert_eq!(looked_up(&table, query, k, point), brute(&model, query, k, point));
            }
        }
    }
    assert_eq!(table.push(0, W::default()), None, "full");
    for ReadPoint { entries, stamp } in points {
        let living: Vec<(W, u64)> = model[..entries as usize]
            .iter()
            .filter(|(_, _, died)| *died > stamp)
            .map(|&(id, row, _)| (row, id))
            .collect();
        assert_eq!(table.living(entries, stamp), living);
        let since = model[..entries as usize]
            .iter()
            .filter(|e| e.2 > stamp && e.2 != ALIVE);
        assert_eq!(
            table.died_since(entries, stamp),
            since.map(|e| (e.0, e.2)).collect::<Vec<_>>()
        );
    }
}

fn lookups_at_every_read_point_equal_brute_force<W: Width>() {
    let any = (shape(), 2usize..200, 0..=W::BITS / 5, any::<u64>());
    for_random::<W, _>(24, &any, |(shape, n, k, seed)| check::<W>(shape, n, k, seed));
}

fn many_rows_at_one_address_cost_at_most_two_scans<W: Width>() {
    let table = memtable::<W>(1 << 12, 3);
    // The rows differ in their lower half only, and so much that few of them match.
    let mut random = Random(5);
    let rows_at_one_address: Vec<W> = (0..1 << 12)
        .map(|_| W::truncate(random.wide()) >> (W::BITS / 2))
        .collect();
    for (id, &row) in (0..).zip(&rows_at_one_address) {
        table.push(id, row);
    }
    let mut found = 0;
    let point = ReadPoint {
        entries: 1 << 12,
        stamp: 0,
    };
    let stats = table.lookup(rows_at_one_address[7], 3, point, &mut |_, _, _| {
        found += 1;
        true
    });
    let near = |row: &&W| row.distance(rows_at_one_address[7]) <= 3;
    assert_eq!(found, rows_at_one_address.iter().filter(near).count());
    assert!(stats.candidates <= 2 << 12, "{stats:?}");
}

fn a_lookup_ends_when_the_callback_returns_false<W: Width>() {
    let table = memtable::<W>(64, 3);
    for id in 0..50 {
        table.push(id, W::truncate(1 << (id % 5)));
    }
    let mut found = 0;
    let point = ReadPoint {
        entries: 50,
        stamp: 0,
    };
    table.lookup(W::default(), 3, point, &mut |_, _, _| {
        found += 1;
        found < 7
    });
    assert_eq!(found, 7);
}

fn readers_do_not_wait_for_the_writer<W: Width>() {
    let n = fewer::<W>(20_000);
    let sample = rows::<W>(Shape::Clumped, n, 3, 3);
    let table = memtable::<W>(n as u32, 3);
    let counted = AtomicU32::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for (id, &row) in (0..).zip(&sample) {
                counted.store(table.push(id, row).unwrap(), Ordering::Release);
            }
        });
        for seed in 0..2 {
            let (table, sample, counted) = (&table, &sample, &counted);
            scope.spawn(move || {
                let mut random = Random(seed);
                loop {
                    let entries = counted.load(Ordering::Acquire);
                    let query = sample[random.below(n as u64) as usize];
                    let seen: u32 = looked_up(table, query, 1, ReadPoint { entries, stamp: 0 }).len() as u32;
                    let inserted = sample[..entries as usize].iter();
                    assert_eq!(
                        seen as usize,
                        inserted.filter(|row| row.distance(query) <= 1).count()
                    );
                    if entries as usize == n {
                        return;
                    }
                }
            });
        }
    });
}

at_every_width! {
    lookups_at_every_read_point_equal_brute_force
    many_rows_at_one_address_cost_at_most_two_scans
    a_lookup_ends_when_the_callback_returns_false
    readers_do_not_wait_for_the_writer
}

at_every_width! {
    bits_16: u16,
    lookups_at_every_read_point_equal_brute_force
}
