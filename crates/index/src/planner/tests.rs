//! Choices of the planner that do not depend on the exact constants of its cost model.

use super::*;
use crate::Tables;
use crate::plan::Design;
use crate::plan::check::is_exact;
use crate::samples::{Shape, rows};
use crate::segment::{Builder, Codec, DirectoryForm, Options};

#[test]
fn few_rows_are_scanned_and_many_are_not() {
    for k in [0, 3, 10, 12] {
        assert_eq!(plan_join_uniform(1000, 64, k).unwrap().plan, JoinPlan::Scan);
        assert!(matches!(
            plan_join_uniform(10_000_000, 64, k).unwrap().plan,
            JoinPlan::Tables(_)
        ));
    }
    // Every pair is within the radius, so a scan is cheapest.
    assert_eq!(
        plan_join_uniform(10_000_000, 64, 64).unwrap().plan,
        JoinPlan::Scan
    );
    assert_eq!(
        plan_join_uniform(1_000_000, 16, u32::MAX).unwrap().plan,
        JoinPlan::Scan
    );
}

#[test]
fn every_plan_considered_is_exact() {
    let costs = JoinCosts::of(64);
    for (bits, most) in [(16, 6), (64, 12), (128, 40)] {
        for k in 0..=most {
            for plan in catalogue(bits, k) {
                assert_eq!(is_exact(&plan), Ok(()), "{plan}");
            }
            for s in 2..=k + 1 {
                if let Some(plan) = balanced(1_000_000, bits, k, s, &costs) {
                    assert_eq!(is_exact(&plan), Ok(()), "{plan}");
                }
            }
        }
    }
}

#[test]
fn the_chosen_plan_is_first_and_the_others_have_a_reason() {
    for choice in [
        plan_lookup(100_000_000, 64, 3, None).unwrap(),
        plan_lookup(100_000_000, 64, 3, Some(2_500_000_000)).unwrap(),
    ] {
        assert_eq!(choice.alternatives[0].verdict, CHOSEN_VERDICT);
        assert!(choice.alternatives.len() > 8);
        let others = &choice.alternatives[1..];
        assert!(
            others
                .iter()
                .all(|a| a.verdict.contains("times") || a.verdict.contains("needs"))
        );
        let table = choice.to_string();
        assert_eq!(table.lines().count(), choice.alternatives.len() + 1);
        assert!(table.contains("QR-11") && table.contains("scan"), "{table}");
    }
}

#[test]
fn a_memory_limit_changes_the_lookup_plan() {
    let n = 10_000_000;
    let free = plan_lookup(n, 64, 3, None).unwrap();
    let halves = plan_lookup(n, 64, 3, Some(300_000_000)).unwrap();
    let tight = plan_lookup(n, 64, 3, Some(1)).unwrap();
    assert!(free.plan.tables.len() > 2);
    assert!(halves.plan.tables.len() == 2 && halves.alternatives[0].bytes <= 300e6);
    assert_eq!(tight.plan.name, "scan");
}

/// Rows with biased bits, as the fingerprints of texts that share their most common words.
fn biased_rows(n: usize) -> Vec<u128> {
    let mut state = 1u64;
    let mut word = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ state >> 31).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        u128::from(mixed ^ mixed >> 32)
    };
    let mut row = || word() | word() << 64;
    (0..n).map(|_| row() & row()).collect()
}

#[test]
fn biased_rows_get_wider_tables() {
    let rows = biased_rows(100_000);
    let uniform = plan_lookup(rows.len(), 128, 12, None).unwrap();
    let choice = plan_lookup_of(&rows, 12, None).unwrap();
    assert_eq!(is_exact(&choice.plan), Ok(()));
    assert!(choice.plan.tables.len() < uniform.plan.tables.len());
    let candidates = |plan: &Plan| {
        let tables = Tables::build(&rows, plan).unwrap();
        let queries = rows.iter().step_by(1000);
        let candidates = queries.map(|&row| tables.lookup(row, 12, &mut Vec::new()).candidates);
        candidates.sum::<u64>() as f64 / 100.0
    };
    let [few, many] = [candidates(&choice.plan), candidates(&uniform.plan)];
    assert!(few * 1.5 < many, "{few} and {many}");
    // The number of candidates in the cost model is close to the measured one.
    let costs = JoinCosts::of(128);
    let probes: f64 = choice
        .plan
        .tables
        .iter()
        .map(|table| crate::flips::ball_size(16.min(table.mask.count_ones()), table.radius))
        .sum();
    let expected = (choice.alternatives[0].cost - probes * costs.probe) / costs.candidate;
    assert!((0.5..2.0).contains(&(expected / few)), "{expected} and {few}");
}

#[test]
fn clumped_rows_cost_more_than_uniform_ones() {
    let uniform = rows::<u64>(Shape::Uniform, 200_000, 6, 1);
    let clumped = rows::<u64>(Shape::Clumped, 200_000, 6, 1);
    let cost = |rows: &[u64]| plan_join(rows, 6).alternatives[0].cost;
    assert!(cost(&clumped) > 2.0 * cost(&uniform));
    let equal = vec![7u64; 20_000];
    assert_eq!(plan_join(&equal, 6).plan, JoinPlan::Scan);
}

#[test]
fn uniform_and_equal_rows_have_the_expected_skew() {
    let uniform: Vec<u64> = {
        let mut random = crate::samples::Random(5);
        (0..50_000).map(|_| random.next()).collect()
    };
    let skew = Sample::of(&uniform).skew(0xFFFF_0000);
    assert_eq!(skew.len(), 17);
    assert!(skew.iter().all(|s| (1.0..1.2).contains(s)), "{skew:?}");
    let skew = Sample::of(&vec![3u64; 1000]).skew(0xFF);
    assert!((skew[8] - 256.0).abs() < 1e-6);
    assert!(
        Sample::of::<u64>(&[])
            .skew(0xFF)
            .iter()
            .all(|&s| (s - 1.0).abs() < 1e-12)
    );
}

fn workload(n: u64, k: u32) -> Workload {
    Workload {
        n,
        bits: 64,
        k,
        memory: None,
        medium: Medium::Memory,
        mode: LookupMode::Batch,
        skew_bits: 0.0,
        codec: Codec::default(),
    }
}

const SMALLER: [Codec; 2] = [Codec::Packed(DirectoryForm::EliasFano), Codec::HUFFMAN];

#[test]
fn a_compact_codec_gets_smaller_but_slower_tables_than_the_plain_one() {
    let costs = LookupCosts::default();
    for n in [10_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000] {
        for k in [1, 3, 6, 10] {
            let plain = plan_segment(&workload(n, k), &costs).unwrap();
            for codec in SMALLER {
                let coded = plan_segment(
                    &Workload {
                        codec,
                        ..workload(n, k)
                    },
                    &costs,
                )
                .unwrap();
                assert_eq!(is_exact(&coded.plan.plan), Ok(()));
                let [plain, coded] = [&plain, &coded].map(|choice| &choice.alternatives[0]);
                assert!(
                    coded.bytes < plain.bytes,
                    "{n}, {k}, {codec:?}: {} of {} bytes",
                    coded.bytes,
                    plain.bytes
                );
                assert!(coded.cost > plain.cost);
            }
        }
    }
    // Two packed tables cost less than three.
    let codec = Codec::Packed(DirectoryForm::EliasFano);
    let choice = plan_segment(
        &Workload {
            codec,
            ..workload(10_000_000, 3)
        },
        &costs,
    )
    .unwrap();
    assert_eq!(choice.plan.plan.tables.len(), 2);
    let three = choice.alternatives.iter().find(|a| a.tables == 3).unwrap();
    assert!(three.verdict.contains("packed rows"), "{}", three.verdict);
}

#[test]
fn the_estimated_size_of_a_segment_is_close_to_its_file_size() {
    let mut random = crate::samples::Random(8);
    let rows: Vec<u64> = (0..200_000).map(|_| random.next()).collect();
    let directory = tempfile::tempdir().unwrap();
    for codec in [Codec::default(), SMALLER[0], SMALLER[1]] {
        let choice = plan_segment(
            &Workload {
                codec,
                ..workload(rows.len() as u64, 3)
            },
            &LookupCosts::default(),
        )
        .unwrap();
        let options = Options {
            plan: Some(choice.plan.plan.clone()),
            address_bits: choice.plan.address_bits.clone(),
            codec,
            ..Options::default()
        };
        let mut builder = Builder::new(&directory.path().join("a.seg"), &options).unwrap();
        for (id, &row) in (0..).zip(&rows) {
            builder.push(row, id).unwrap();
        }
        let written = builder.finish().unwrap().bytes() as f64;
        let expected = choice.alternatives[0].bytes;
        assert!(
            (written / expected - 1.0).abs() < 0.02,
            "{codec:?}: {written} bytes, not {expected}"
        );
    }
}

#[test]
fn a_segment_plan_is_exact_and_disjoint_and_the_alternatives_have_a_reason() {
    for n in [10, 100_000, 10_000_000, 1_000_000_000] {
        for k in [0, 1, 3, 6, 10] {
            let choice = plan_segment(&workload(n, k), &LookupCosts::default()).unwrap();
            assert_eq!(is_exact(&choice.plan.plan), Ok(()));
            let masks = choice.plan.plan.tables.iter().map(|t| t.mask);
            assert!(masks.clone().fold(0, |all, m| all ^ m) == masks.fold(0, |all, m| all | m));
            assert_eq!(choice.plan.address_bits.len(), choice.plan.plan.tables.len());
            assert_eq!(choice.alternatives[0].verdict, CHOSEN_VERDICT);
            let others = &choice.alternatives[1..];
            assert!(
                others
                    .iter()
                    .all(|a| a.verdict != CHOSEN_VERDICT && !a.verdict.is_empty())
            );
            assert!(
                others
                    .iter()
                    .any(|a| a.name.starts_with("random:") && a.verdict.contains("misses"))
            );
        }
    }
}

#[test]
fn larger_segments_use_fewer_bytes_per_fingerprint() {
    for (n, most) in [(10_000_000, 24.0), (100_000_000, 18.0), (1_000_000_000, 14.0)] {
        let choice = plan_segment(&workload(n, 3), &LookupCosts::default()).unwrap();
        let each = choice.alternatives[0].bytes / n as f64;
        assert!(each < most, "{n}: {}, {each} bytes", choice.plan);
    }
}

#[test]
fn little_memory_disk_and_skew_cost_more() {
    let costs = LookupCosts::default();
    let free = plan_segment(&workload(1_000_000_000, 3), &costs).unwrap();
    let tight = Workload {
        memory: Some(14_000_000_000),
        ..workload(1_000_000_000, 3)
    };
    let tight = plan_segment(&tight, &costs).unwrap();
    assert!(tight.alternatives[0].bytes <= 14e9);
    assert!(tight.alternatives[0].cost >= free.alternatives[0].cost);
    assert_eq!(tight.plan.plan.tables.len(), 2);
    let disk = Workload {
        medium: Medium::Disk,
        ..workload(1_000_000_000, 3)
    };
    let disk = plan_segment(&disk, &costs).unwrap();
    assert!(disk.alternatives[0].cost > 10.0 * free.alternatives[0].cost);
    let clumped = Workload {
        skew_bits: 8.0,
        ..workload(1_000_000_000, 3)
    };
    let clumped = plan_segment(&clumped, &costs).unwrap();
    assert!(clumped.alternatives[0].cost > free.alternatives[0].cost);
}

#[test]
fn a_disk_gets_tables_with_the_fewest_reads_that_fit() {
    let costs = LookupCosts::default();
    for n in [1_000_000, 100_000_000, 1_000_000_000] {
        for k in [1, 3, 6] {
            let disk = Workload {
                medium: Medium::Disk,
                ..workload(n, k)
            };
            let choice = plan_segment(&disk, &costs).unwrap();
            assert_eq!(is_exact(&choice.plan.plan), Ok(()));
            let chosen = &choice.alternatives[0];
            assert!(chosen.bytes <= 64.0 * n as f64, "{n} {k}: {choice}");
            // No cheaper design of the catalogue fits.
            let scan = choice.alternatives.iter().find(|a| a.name == "scan").unwrap();
            assert!(chosen.cost < scan.cost);
            for other in &choice.alternatives[1..] {
                let is_naive = other.name.contains("variation") || other.name.contains("random");
                let fits = other.bytes <= 64.0 * n as f64;
                assert!(
                    is_naive || !fits || other.cost >= chosen.cost,
                    "{n} {k}: {choice}"
                );
            }
            let design = Design::of(&choice.plan.plan);
            assert_eq!(design.plan(64, k).unwrap().tables, choice.plan.plan.tables);
            assert_eq!(design.to_string().parse(), Ok(design));
        }
    }
    // Any two of five blocks instead of two halves: 10 reads instead of 58.
    let disk = Workload {
        medium: Medium::Disk,
        ..workload(1_000_000_000, 3)
    };
    let choice = plan_segment(&disk, &costs).unwrap();
    assert_eq!(Design::of(&choice.plan.plan), Design::Blocks(5));
}

#[test]
fn costs_are_measured_on_any_machine() {
    let costs = measure(1 << 16);
    for cost in [
        costs.online,
        costs.batch,
        costs.candidate,
        costs.scanned,
        costs.read,
        costs.page,
    ] {
        assert!(cost.is_finite() && cost > 0.0, "{costs}");
    }
}

#[test]
fn rows_beyond_the_number_of_possible_fingerprints_take_space() {
    for bits in [16, 32] {
        for n in [1 << bits, 1 << (bits + 1), 1_000_000_000_000] {
            for codec in [Codec::default(), SMALLER[0], SMALLER[1]] {
                let workload = Workload {
                    bits,
                    codec,
                    ..workload(n, 3)
                };
                let choice = plan_segment(&workload, &LookupCosts::default()).unwrap();
                let least = choice
                    .alternatives
                    .iter()
                    .map(|a| a.bytes)
                    .fold(f64::MAX, f64::min);
                // At least one bit per row.
                assert!(least > n as f64 / 8.0, "{bits}, {n}, {codec:?}: {least}");
            }
        }
    }
}
