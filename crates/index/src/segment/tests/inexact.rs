//! Segments whose plan is not exact.

use super::*;

fn random_plan(k: u32) -> Plan {
    Plan::random(64, k, 12, 22, 1).unwrap()
}

fn inexact(plan: Plan) -> Options {
    Options {
        plan: Some(plan),
        allow_inexact: true,
        ..Options::default()
    }
}

#[test]
fn a_plan_that_is_not_exact_must_be_allowed_and_is_remembered() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory);
    let refused = Builder::<u64>::new(
        &path,
        &Options {
            allow_inexact: false,
            ..inexact(random_plan(3))
        },
    );
    assert!(matches!(refused, Err(SegmentError::Inexact(_))));
    let options = Options {
        address_bits: vec![22; 12],
        ..inexact(random_plan(3))
    };
    build(&[(1u64, 1)], &options, &path);
    let segment = Segment::<u64>::open(&path).unwrap();
    assert!(
        !segment.is_exact()
            && segment.recalls(Search::Directory, 3)[3].share < 1.0
            && segment.recalls(Search::Directory, 3)[0].share >= 1.0
    );
    // An exact plan is exact, although another would be allowed.
    let exact = path.with_extension("exact");
    build(&[(1u64, 1)], &inexact(Plan::blocks(64, 3, 5).unwrap()), &exact);
    let segment = Segment::<u64>::open(&exact).unwrap();
    assert!(segment.is_exact() && segment.recalls(Search::Directory, 3)[3].share >= 1.0);
}

#[test]
fn the_measured_recall_is_the_stated_one() {
    let mut random = Random(11);
    let rows: Vec<(u64, u64)> = (0..40_000).map(|i| (random.next(), i)).collect();
    let directory = tempfile::tempdir().unwrap();
    for (plan, codec) in [
        (random_plan(3), Codec::default()),
        (Plan::random(64, 3, 30, 28, 2).unwrap(), Codec::HUFFMAN),
        // Keys that are shorter than the usual address.
        (Plan::random(64, 3, 3, 9, 3).unwrap(), Codec::default()),
    ] {
        let options = Options {
            codec,
            ..inexact(plan)
        };
        let segment = build(&rows, &options, &path_in(&directory));
        for distance in [1, 3, 5] {
            let queries: Vec<u64> = rows
                .iter()
                .map(|(row, _)| row ^ random.subset(64, distance) as u64)
                .collect();
            let mut found = 0u32;
            let hit = |query, id, _, _| found += u32::from(query as u64 == id);
            segment
                .lookup_batch(&queries, distance, &mut Scratch::default(), hit)
                .unwrap();
            let measured = f64::from(found) / rows.len() as f64;
            let stated = segment.recalls(Search::Directory, 5)[distance as usize].share;
            // The standard deviation of the measured share is at most 0.0025.
            assert!(
                (measured - stated).abs() < 0.01,
                "{} at {distance}: {measured}, stated {stated}",
                segment.plan()
            );
        }
        assert!(segment.recalls(Search::Directory, 3)[3].share < 1.0);
    }
}

#[test]
fn matches_of_inexact_tables_are_matches_of_brute_force_each_once() {
    for (seed, shape) in (1..).zip(SHAPES) {
        let rows = numbered(&rows::<u64>(shape, 200, 3, seed), seed);
        let directory = tempfile::tempdir().unwrap();
        let segment = build(&rows, &inexact(random_plan(3)), &path_in(&directory));
        let queries = queries(&rows, 3, seed);
        for k in [0, 3, 6] {
            for search in [Search::Directory, Search::Binary] {
                let mut found = vec![Vec::new(); queries.len()];
                segment
                    .lookup_batch_by(search, &queries, k, &mut Scratch::default(), |q, id, row, d| {
                        found[q].push((id, row, d));
                    })
                    .unwrap();
                for (&query, mut found) in queries.iter().zip(found) {
                    let expected = brute(&rows, query, k);
                    found.sort_unstable();
                    assert!(found.iter().all(|hit| expected.contains(hit)), "{search:?}");
                    assert!(found.windows(2).all(|pair| pair[0] < pair[1]), "{search:?}");
                    // Equal fingerprints share all keys.
                    let equal = |hits: &[(u64, u64, u32)]| hits.iter().filter(|hit| hit.2 == 0).count();
                    assert_eq!(equal(&found), equal(&expected));
                }
            }
        }
    }
}
