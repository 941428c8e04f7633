//! Every way to find rows gives the same matches, and counts its work.

use super::*;
use crate::naive::variation_count;

const SEARCHES: [Search; 5] = [
    Search::Directory,
    Search::Binary,
    Search::Interpolation,
    Search::Variations,
    Search::Scan,
];

/// The matches of a query: id, fingerprint and distance.
type Matches<W> = Vec<(u64, W, u32)>;

fn look_up<W: Width>(
    segment: &Segment<W>,
    search: Search,
    queries: &[W],
    k: u32,
) -> Result<(Stats, Vec<Matches<W>>), SegmentError> {
    let mut found = vec![Vec::new(); queries.len()];
    let mut scratch = Scratch::default();
    let stats = segment.lookup_batch_by(search, queries, k, &mut scratch, |q, id, row, d| {
        found[q].push((id, row, d));
    })?;
    for found in &mut found {
        found.sort_unstable();
    }
    Ok((stats, found))
}

/// Compares all searches with brute force, in tables with the usual addresses and with addresses of one bit.
fn check_searches<W: Width>(shape: Shape, k: u32, seed: u64) {
    let rows = numbered(&rows::<W>(shape, 150, k, seed), seed);
    let queries = queries(&rows, k, seed);
    for (i, plan) in plans::<W>(k).into_iter().enumerate() {
        if W::BITS > 16 && plan.tables.len() == 1 && k > 1 {
            // The only key is the whole fingerprint, which has too many flips for a test.
            continue;
        }
        for address_bits in [Vec::new(), vec![1; plan.tables.len()]] {
            let directory = tempfile::tempdir().unwrap();
            let options = Options {
                plan: Some(plan.clone()),
                address_bits,
                codec: CODECS[(i + seed as usize) % CODECS.len()],
                ..Options::default()
            };
            let segment = build(&rows, &options, &path_in(&directory));
            for k in [k, k / 2, k + 1] {
                let expected: Vec<_> = queries.iter().map(|&q| brute(&rows, q, k)).collect();
                let matches: u64 = expected.iter().map(|found| distinct(found)).sum();
                for search in SEARCHES {
                    let variations = variation_count(W::BITS, k);
                    if search == Search::Variations && variations > 1000 {
                        continue;
                    }
                    let case = format!("{search:?}, {plan}, within {k}");
                    let (stats, found) = match look_up(&segment, search, &queries, k) {
                        Err(SegmentError::TooManyKeys { keys }) => {
                            assert!(keys > MAX_KEYS.into(), "{case}");
                            continue;
                        }
                        looked_up => looked_up.unwrap(),
                    };
                    assert_eq!(found, expected, "{case}");
                    assert_eq!(stats.matches, matches, "{case}");
                    assert!(
                        stats.candidates >= matches && (stats.bytes > 0 || rows.is_empty()),
                        "{case}"
                    );
                    if search == Search::Variations {
                        assert_eq!(u128::from(stats.probes), variations * queries.len() as u128);
                        assert_eq!(stats.candidates, matches, "{case}");
                    }
                    if search == Search::Scan {
                        assert_eq!(stats.candidates, segment.rows() * queries.len() as u64);
                    }
                    if search == Search::Directory {
                        assert_eq!(stats.steps, 0, "{case}");
                    }
                }
            }
        }
    }
}

/// The number of distinct fingerprints among matches, which are sorted.
fn distinct<W: Width>(found: &[(u64, W, u32)]) -> u64 {
    let fingerprints: std::collections::HashSet<W> = found.iter().map(|&(_, row, _)| row).collect();
    fingerprints.len() as u64
}

#[test]
fn every_search_finds_what_brute_force_finds() {
    for (seed, shape) in (1..).zip(SHAPES) {
        check_searches::<u16>(shape, 2, seed);
        check_searches::<u32>(shape, 1, seed + 1);
        check_searches::<u32>(shape, 3, seed + 2);
        check_searches::<u64>(shape, 3, seed + 3);
        check_searches::<u128>(shape, 3, seed + 4);
    }
}

#[test]
fn whole_keys_have_the_expected_candidates_and_steps() {
    let n: u32 = 1 << 14;
    let mut random = Random(3);
    let rows: Vec<(u64, u64)> = (0..n.into()).map(|i| (random.next(), i)).collect();
    let queries: Vec<u64> = (0..200).map(|_| random.next()).collect();
    let directory = tempfile::tempdir().unwrap();
    let options = Options {
        plan: Some(Plan::even_parts(64, 3, 4).unwrap()),
        address_bits: vec![1; 4],
        ..Options::default()
    };
    let segment = build(&rows, &options, &path_in(&directory));
    let work = |search| look_up(&segment, search, &queries, 3).unwrap().0;
    let (binary, interpolation) = (work(Search::Binary), work(Search::Interpolation));
    assert_eq!(binary.probes, 4 * 200);
    assert_eq!(binary.candidates, interpolation.candidates);
    // n / 2^16 candidates for each of 800 keys of 16 bits are 200 on average, with a standard deviation of 14.
    assert!(binary.candidates.abs_diff(200) < 70, "{binary:?}");
    // A binary search in half of the rows takes 13 steps or one more.
    assert!((13 * 800..=14 * 800).contains(&binary.steps), "{binary:?}");
    assert!(interpolation.steps < binary.steps, "{interpolation:?}");
    // Each step and each candidate reads 63 bits, which count as eight bytes. The row after the last candidate of a key is
    // read too, unless it is beyond the bucket.
    let least = 8 * (binary.steps + binary.candidates) + segment.tables[0].bounds_bytes(binary.probes);
    assert!(
        (least..=least + 8 * binary.probes).contains(&binary.bytes),
        "{binary:?}"
    );
}

#[test]
fn too_many_tables_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options {
        plan: Some(Plan::blocks(64, 3, 14).unwrap()),
        ..Options::default()
    };
    let refused = Builder::<u64>::new(&path_in(&directory), &options);
    assert!(matches!(
        refused,
        Err(SegmentError::TooManyTables { tables: 364 })
    ));
}

#[test]
fn lookups_by_too_many_keys_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let segment = build(&[(1u128, 1)], &Options::default(), &path_in(&directory));
    for search in [Search::Binary, Search::Variations] {
        let refused = look_up(&segment, search, &[1], 30);
        assert!(
            matches!(refused, Err(SegmentError::TooManyKeys { .. })),
            "{refused:?}"
        );
    }
    assert_eq!(
        look_up(&segment, Search::Directory, &[3], 30).unwrap().1,
        [[(1, 1, 1)]]
    );
}
