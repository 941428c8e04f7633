//! Joins find what brute force finds, with prefixes of any length.

use super::*;
use crate::plan::Plan;
use crate::samples::{self, SHAPES, Shape, at_every_width, plans, rows};
use crate::segment::codec::if_packed;
use crate::segment::lookup::search::SearchPlan;
use crate::segment::lookup::{EachId, Scratch};
use crate::segment::{Builder, Codec, DirectoryForm, Options, Segment};

/// The bits of a prefix in a table of a number of address bits, and the bits that are compared.
type JoinOf = (fn(u32) -> u32, Compared);

const JOINS: [JoinOf; 6] = [
    (|_| 0, Compared::All),
    (|u| u / 2, Compared::All),
    (|u| u, Compared::All),
    (|_| 0, Compared::Low32),
    (|u| u / 2, Compared::Low32),
    (|u| u, Compared::Low32),
];

/// The matches of a query: id, fingerprint and distance.
type Matches<W> = Vec<(u64, W, u32)>;

/// Joins queries with all tables that a lookup would probe, by `join(u)` in a table of u address bits.
/// `None` if a lookup would compare all rows.
fn joined<W: Width>(
    segment: &Segment<W>,
    queries: &[W],
    k: u32,
    join: &impl Fn(u32) -> Join,
) -> Option<Vec<Matches<W>>> {
    let planned = segment.footer.plan.k;
    let search = segment
        .searches
        .of(&segment.tables, segment.exact, segment.rows(), planned, k);
    let SearchPlan::Probe(probing) = search else {
        return None;
    };
    let mut found = vec![Vec::new(); queries.len()];
    let mut receive = EachId(|query: u32, id, row, distance| found[query as usize].push((id, row, distance)));
    let (mut scratch, mut stats) = (Scratch::default(), Stats::default());
    for (p, of_table) in probing.iter().enumerate() {
        let job = TableLookup {
            segment,
            probing: of_table,
            earlier: &probing[..p],
            k,
            eager: false,
        };
        let join = join(segment.tables[of_table.table].order.address_bits());
        let Scratch {
            probes,
            join: buffers,
            ..
        } = &mut scratch;
        let flow = if_packed!(segment.buckets(of_table.table), rows => {
            Joined { job, rows, join }.run(queries, &mut probes.queries, buffers, &mut stats, &mut receive).unwrap()
        }, else panic!("the rows are packed"));
        assert!(flow.is_continue());
    }
    for found in &mut found {
        found.sort_unstable();
    }
    assert_eq!(
        stats.matches,
        found.iter().map(|found| found.len() as u64).sum::<u64>()
    );
    Some(found)
}

fn check<W: Width>(shape: Shape, n: usize, k: u32, seed: u64) {
    let mut rows = rows::<W>(shape, n, k, seed);
    rows.sort_unstable();
    rows.dedup();
    let queries = samples::queries(&rows, k, seed);
    let forms = [
        DirectoryForm::Compact,
        DirectoryForm::Plain,
        DirectoryForm::EliasFano,
    ];
    for (i, plan) in plans::<W>(k).into_iter().enumerate() {
        let directory = tempfile::tempdir().unwrap();
        let options = Options {
            plan: Some(plan),
            codec: Codec::Packed(forms[(i + seed as usize) % forms.len()]),
            ..Options::default()
        };
        let mut builder = Builder::new(&directory.path().join("joined.seg"), &options).unwrap();
        for (id, &row) in (0..).zip(&rows) {
            builder.push(row, id).unwrap();
        }
        let segment = builder.finish().unwrap();
        for k in [k, k / 2] {
            let brute = |&query: &W| -> Matches<W> {
                let near = (0..).zip(&rows).map(|(id, &row)| (id, row, row.distance(query)));
                near.filter(|&(_, _, distance)| distance <= k).collect()
            };
            let expected: Vec<Matches<W>> = queries.iter().map(brute).collect();
            for (bits, compared) in JOINS {
                let join = |address_bits| Join {
                    bits: bits(address_bits),
                    compared,
                };
                if let Some(found) = joined(&segment, &queries, k, &join) {
                    assert_eq!(found, expected, "{} within {k}, {shape:?}", segment.plan());
                }
            }
        }
    }
}

fn joins_equal_brute_force<W: Width>() {
    for (seed, shape) in (1..).zip(SHAPES) {
        for (n, k) in [(0, 2), (1, 3), (150, 1), (400, 3)] {
            check::<W>(shape, n, k, seed);
        }
    }
}

at_every_width! {
    joins_equal_brute_force
}

#[test]
fn many_queries_are_joined_and_find_the_same() {
    // The rows of a bucket fill several blocks, and some lists of queries are long.
    let mut rows: Vec<u64> = rows(Shape::Uniform, 60_000, 3, 9);
    rows.iter_mut().step_by(4).for_each(|row| *row >>= 12);
    let directory = tempfile::tempdir().unwrap();
    let options = Options {
        plan: Some(Plan::even_parts(64, 3, 2).unwrap()),
        ..Options::default()
    };
    let mut builder = Builder::new(&directory.path().join("many.seg"), &options).unwrap();
    for (id, &row) in (0..).zip(&rows) {
        builder.push(row, id).unwrap();
    }
    let segment = builder.finish().unwrap();
    let queries: Vec<u64> = rows.iter().map(|row| row ^ 0x8001).collect();
    let mut scratch = Scratch::default();
    let mut together = vec![Vec::new(); queries.len()];
    let of_batch = segment
        .lookup_batch(&queries, 3, &mut scratch, |q, id, row, d| {
            together[q].push((id, row, d));
        })
        .unwrap();
    let mut of_each = Stats::default();
    for (&query, mut together) in queries.iter().zip(together) {
        let mut alone = Vec::new();
        of_each += segment
            .lookup(query, 3, &mut scratch, |id, row, d| alone.push((id, row, d)))
            .unwrap();
        alone.sort_unstable();
        together.sort_unstable();
        assert_eq!(together, alone);
    }
    assert_eq!(of_batch.matches, of_each.matches);
    // Fewer bits of the addresses are compared, so there are more candidates.
    assert!(
        of_batch.candidates > of_each.candidates,
        "the queries were not joined"
    );
}
