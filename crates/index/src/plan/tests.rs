//! The checker compared with exhaustive error sets, and the catalogue verified by the checker.

use proptest::prelude::*;

use super::check::{Counterexample, is_exact};
use super::*;

fn misses(plan: &Plan, errors: u128) -> bool {
    plan.tables
        .iter()
        .all(|t| (errors & t.mask).count_ones() > t.radius)
}

/// Returns whether a plan is exact, by trying every error set.
fn exhaustive(plan: &Plan) -> bool {
    (0..1u128 << plan.bits)
        .filter(|e| e.count_ones() <= plan.k)
        .all(|e| !misses(plan, e))
}

fn check(plan: &Plan) -> bool {
    match is_exact(plan) {
        Ok(()) => true,
        Err(Counterexample { errors }) => {
            assert!(
                errors.count_ones() <= plan.k && misses(plan, errors),
                "{plan}: {errors:#x} is no counterexample"
            );
            false
        }
    }
}

fn plans(bits: u32, k: u32) -> Vec<Plan> {
    let mut plans = vec![Plan::one_table(bits, k).unwrap(), Plan::scan(bits, k).unwrap()];
    plans.extend((1..=k + 3).filter_map(|s| Plan::even_parts(bits, k, s).ok()));
    plans.extend((k + 1..=k + 4).filter_map(|r| Plan::blocks(bits, k, r).ok()));
    plans.extend(Plan::nested_blocks(bits, k, k + 1));
    plans.extend(Plan::nested_blocks(bits, k, k + 2));
    plans.extend(Plan::qr11(bits, k));
    plans.extend(Plan::half_spaces(bits, k));
    plans
}

#[test]
fn the_catalogue_is_exact_by_exhaustion_at_small_widths() {
    for bits in [11, 13, 16] {
        for k in 0..=6 {
            for plan in plans(bits, k) {
                assert!(exhaustive(&plan) && check(&plan), "{plan}");
            }
        }
    }
}

#[test]
fn the_catalogue_is_exact_at_64_and_128_bits() {
    for bits in [64, 128] {
        for k in 0..=if bits == 64 { 12 } else { 40 } {
            for plan in plans(bits, k) {
                let start = std::time::Instant::now();
                assert!(check(&plan), "{plan}");
                if start.elapsed().as_millis() > 50 {
                    eprintln!("{plan} {:?}", start.elapsed());
                }
            }
        }
    }
}

#[test]
fn plans_are_not_exact_beyond_their_radius() {
    // At k + 1, each of these plans misses some error set.
    for mut plan in [
        Plan::blocks(64, 3, 4).unwrap(),
        Plan::blocks(64, 3, 6).unwrap(),
        Plan::nested_blocks(64, 3, 4).unwrap(),
        Plan::qr11(64, 3).unwrap(),
        Plan::half_spaces(64, 3).unwrap(),
        Plan::half_spaces(64, 5).unwrap(),
        Plan::halves(64, 3).unwrap(),
        Plan::thirds(128, 20).unwrap(),
    ] {
        assert!(check(&plan), "{plan}");
        plan.k += 1;
        assert!(!check(&plan), "{plan}");
    }
}

#[test]
fn published_plans_have_the_published_tables_and_key_widths() {
    let widths = |plan: &Plan| {
        let mut w: Vec<u32> = plan.tables.iter().map(|t| t.mask.count_ones()).collect();
        w.sort_unstable();
        w.dedup();
        (plan.tables.len(), w)
    };
    assert_eq!(widths(&Plan::blocks(64, 3, 4).unwrap()), (4, vec![16]));
    assert_eq!(widths(&Plan::blocks(64, 3, 5).unwrap()), (10, vec![25, 26]));
    assert_eq!(widths(&Plan::nested_blocks(64, 3, 4).unwrap()), (16, vec![28]));
    assert_eq!(widths(&Plan::blocks(64, 3, 6).unwrap()), (20, vec![31, 32, 33]));
    assert_eq!(widths(&Plan::qr11(64, 3).unwrap()), (11, vec![28, 29, 30]));
    assert_eq!(widths(&Plan::half_spaces(64, 3).unwrap()), (14, vec![32]));
    assert_eq!(widths(&Plan::half_spaces(64, 4).unwrap()), (30, vec![32]));
    let radii = |plan: Plan| plan.tables.iter().map(|t| t.radius).collect::<Vec<_>>();
    assert_eq!(radii(Plan::halves(64, 3).unwrap()), [1, 1]);
    assert_eq!(radii(Plan::thirds(64, 3).unwrap()), [1, 0, 0]);
    assert_eq!(radii(Plan::even_parts(64, 10, 4).unwrap()), [2, 2, 2, 1]);
    // More than k + 1 parts are not needed.
    assert_eq!(radii(Plan::even_parts(64, 3, 5).unwrap()), [0, 0, 0, 0]);
}

#[test]
fn impossible_plans_are_refused() {
    assert!(matches!(Plan::one_table(0, 3), Err(PlanError::Bits(0))));
    assert!(matches!(Plan::one_table(129, 3), Err(PlanError::Bits(129))));
    assert!(matches!(Plan::blocks(64, 3, 3), Err(PlanError::Blocks { .. })));
    assert!(matches!(Plan::blocks(64, 20, 40), Err(PlanError::Tables { .. })));
    assert!(matches!(
        Plan::parts(64, 3, &[1, 1, 0]),
        Err(PlanError::Radii {
            expected: 1,
            got: 2,
            ..
        })
    ));
    assert!(matches!(Plan::parts(64, 3, &[]), Err(PlanError::Blocks { .. })));
    assert!(matches!(Plan::even_parts(8, 3, 9), Err(PlanError::Blocks { .. })));
    assert!(matches!(Plan::qr11(64, 4), Err(PlanError::Radius { .. })));
    assert!(matches!(Plan::half_spaces(64, 6), Err(PlanError::Radius { .. })));
    assert!(matches!(Plan::half_spaces(16, 5), Err(PlanError::Blocks { .. })));
    let outside = vec![TableSpec {
        mask: 1 << 20,
        radius: 0,
    }];
    assert!(matches!(
        Plan::new(16, 3, "outside", outside),
        Err(PlanError::Mask { .. })
    ));
}

proptest! {
    #[test]
    fn the_checker_equals_exhaustion(
        bits in 1u32..=12,
        k in 0u32..=6,
        tables in prop::collection::vec((1u128..4096, 0u32..3), 0..8),
    ) {
        let tables = tables
            .into_iter()
            .map(|(mask, radius)| TableSpec { mask: mask & ((1 << bits) - 1), radius })
            .filter(|t| t.mask != 0)
            .collect();
        let plan = Plan::new(bits, k, "random", tables).unwrap();
        prop_assert_eq!(check(&plan), exhaustive(&plan));
    }

    #[test]
    fn any_radii_with_the_right_sum_are_exact(bits in 8u32..=14, radii in prop::collection::vec(-1i32..3, 1..5)) {
        let k = radii.iter().sum::<i32>() + radii.len() as i32 - 1;
        if let Ok(k) = u32::try_from(k) {
            let plan = Plan::parts(bits, k, &radii).unwrap();
            prop_assert!(exhaustive(&plan) && check(&plan));
        }
    }

    #[test]
    fn leading_bits_are_the_highest(mask: u128, u in 0u32..130) {
        let kept = leading_bits(mask, u);
        prop_assert_eq!(kept.count_ones(), u.min(mask.count_ones()));
        prop_assert_eq!(kept & !mask, 0);
        prop_assert!(mask & !kept < kept & kept.wrapping_neg() || kept == 0 || mask == kept);
    }
}

#[test]
fn designs_have_the_names_that_they_print() {
    let named = [
        ("scan", 1),
        ("one-table", 1),
        ("parts:4", 4),
        ("parts:30,20,14", 3),
        ("blocks:5", 10),
        ("blocks:6", 20),
        ("nested:4", 16),
        ("qr11", 11),
        ("half-spaces", 14),
        ("random:7,20", 7),
        ("masks:ffff/1,ffff0000/0", 2),
    ];
    for (name, tables) in named {
        let design: Design = name.parse().unwrap();
        assert_eq!(design.to_string(), name);
        let plan = design.plan(64, 3).unwrap();
        assert_eq!(plan.tables.len(), tables, "{name}");
        let exact = !name.starts_with("random") && !name.starts_with("masks");
        assert_eq!(check(&plan), exact, "{name}");
    }
    assert_eq!("masks:0xff".parse::<Design>().unwrap().to_string(), "masks:ff/0");
    let no_names = [
        "",
        "scan:",
        "scan:1",
        "part:4",
        "parts",
        "parts:",
        "parts:4,",
        "parts:-1",
        "blocks:x",
        "random:3",
        "random:1,2,3",
        "masks:",
        "masks:+1",
        "masks:1/",
        "masks:1/-1",
        "masks:100000000000000000000000000000000",
    ];
    for name in no_names {
        assert!(name.parse::<Design>().is_err(), "{name}");
    }
}

#[test]
fn random_plans_find_the_expected_share() {
    // A pair at distance d has no differing bit in a random key of w of b bits with probability C(b − d, w) / C(b, w).
    for (bits, distance, tables, key_bits) in
        [(64, 3, 10, 20), (64, 2, 4, 24), (64, 6, 40, 16), (128, 4, 20, 24)]
    {
        let clean: f64 = (0..distance)
            .map(|d| f64::from(bits - key_bits - d) / f64::from(bits - d))
            .product();
        let expected = 1.0 - (1.0 - clean).powi(tables as i32);
        let seeds = 8;
        let mean = (0..seeds)
            .map(|seed| {
                let plan = Plan::random(bits, distance, tables, key_bits, seed).unwrap();
                assert!(
                    plan.tables
                        .iter()
                        .all(|table| table.mask.count_ones() == key_bits)
                );
                plan.recall(distance).share
            })
            .sum::<f64>()
            / seeds as f64;
        assert!(
            (mean - expected).abs() < 0.02,
            "{bits} {distance}: {mean}, expected {expected}"
        );
    }
    assert!(Plan::random(64, 3, 0, 20, 1).is_err());
    assert!(Plan::random(64, 3, 5, 65, 1).is_err());
    assert!(Plan::random(64, 3, 5000, 20, 1).is_err());
}

proptest! {
    /// The recall is 1 up to k exactly if the checker finds no missed error set, and is the share of sets that are found.
    #[test]
    fn the_recall_is_the_share_of_error_sets_that_are_found(
        masks in prop::collection::vec((1u128..1 << 12, 0u32..3), 1..6),
        distance in 0u32..=12,
    ) {
        let tables = masks.iter().map(|&(mask, radius)| TableSpec { mask, radius }).collect();
        let plan = Plan::new(12, distance, "test", tables).unwrap();
        let sets: Vec<u128> = (0..1u128 << 12).filter(|e| e.count_ones() == distance).collect();
        let found = sets.iter().filter(|&&e| !misses(&plan, e)).count();
        let recalls = plan.recalls(distance);
        prop_assert!((recalls[distance as usize].share - found as f64 / sets.len() as f64).abs() < 1e-12);
        prop_assert!(recalls.iter().all(|recall| !recall.is_estimated()));
        prop_assert_eq!(recalls.iter().all(|recall| recall.share >= 1.0), is_exact(&plan).is_ok());
    }
}

/// The number of ways to put `errors` errors into disjoint parts of these widths, with more than the radius in each.
fn missed_by_parts(parts: &[(u32, u32)], errors: u32) -> u128 {
    let Some((&(width, radius), rest)) = parts.split_first() else {
        return u128::from(errors == 0);
    };
    (radius + 1..=errors.min(width))
        .map(|here| choose(width, here) * missed_by_parts(rest, errors - here))
        .sum()
}

#[test]
fn the_recall_of_disjoint_parts_is_counted() {
    for (bits, k, parts, largest) in [(64, 3, 4, 40), (64, 6, 3, 64), (128, 16, 4, 40), (32, 3, 2, 32)] {
        let plan = Plan::even_parts(bits, k, parts).unwrap();
        let tables: Vec<(u32, u32)> = plan
            .tables
            .iter()
            .map(|table| (table.mask.count_ones(), table.radius))
            .collect();
        let recalls = plan.recalls(largest);
        assert_eq!(recalls.len(), largest as usize + 1);
        for (errors, recall) in (0..).zip(&recalls) {
            let missed = missed_by_parts(&tables, errors) as f64 / choose(bits, errors) as f64;
            assert!(!recall.is_estimated());
            assert!(
                (recall.share - (1.0 - missed)).abs() < 1e-12,
                "{plan} at {errors}"
            );
            assert_eq!(recall.share >= 1.0, missed <= 0.0, "{plan} at {errors}");
        }
    }
}

#[test]
fn the_recall_never_increases_with_the_distance() {
    let designs = [
        "parts:64",
        "blocks:4",
        "blocks:6",
        "nested:4",
        "qr11",
        "half-spaces",
        "random:10,20",
        "random:64,31",
        "random:200,40",
        "masks:ff/4294967295",
    ];
    for name in designs {
        let plan = name.parse::<Design>().unwrap().plan(64, 3).unwrap();
        let recalls = plan.recalls(9);
        for (distance, pair) in recalls.windows(2).enumerate() {
            let is_exact = pair[1].share >= 1.0;
            assert!(
                pair[0].share >= pair[1].share,
                "{name} at {distance}: {recalls:?}"
            );
            assert!(
                is_exact || pair[0].share > pair[1].share,
                "{name} at {distance}: {recalls:?}"
            );
        }
        // Only many overlapping random keys need an estimate.
        let estimated = recalls.iter().any(Recall::is_estimated);
        assert_eq!(
            estimated,
            ["random:64,31", "random:200,40"].contains(&name),
            "{name}"
        );
        assert_eq!(recalls[5], plan.recall(5), "{name}");
    }
}

#[test]
fn an_estimated_recall_is_within_its_error() {
    // The same keys, once for each table and once more with another radius that finds nothing more: both plans find the
    // same pairs, but the second has too many states.
    let few = Plan::random(64, 3, 10, 20, 1).unwrap();
    let mut many = few.clone();
    for table in &few.tables {
        for bit in 0..16 {
            let mask = table.mask | 1 << bit;
            many.tables.push(TableSpec { mask, radius: 0 });
        }
    }
    let (counted, estimated) = (few.recalls(8), many.recalls(8));
    assert!(estimated.iter().any(Recall::is_estimated));
    for (counted, estimated) in counted.iter().zip(&estimated) {
        assert!(!counted.is_estimated());
        let error = (counted.share - estimated.share).abs();
        assert!(
            error <= 5.0 * estimated.standard_error,
            "{counted:?} {estimated:?}"
        );
    }
}
