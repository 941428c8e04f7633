//! Runs without verification: the pairs and groups equal those of brute force over the fingerprints, at every radius of both widths and for
//! texts of every length.

use std::collections::BTreeMap;

use twinprint_dedup::{Auto, DedupOptions, PairRows};

use crate::brute_force::BruteForce;
use crate::job::{Done, run};
use crate::words::{Words, join};

/// Texts of every length, most of them short, with copies at all distances, and texts without features.
fn texts() -> Vec<String> {
    let mut words = Words::new(31);
    let mut texts = Vec::new();
    for i in 0..30 {
        let chinese = i % 2 == 1;
        let units = words.units([2, 6, 15, 30, 45, 80, 200][i % 7], chinese);
        texts.push(join(&units, chinese));
        texts.push(join(&units, chinese).to_uppercase());
        for edits in [1, 2, 5] {
            let mut copy = units.clone();
            words.edit(&mut copy, edits, chinese);
            texts.push(join(&copy, chinese));
        }
        texts.push(["", "…", "!!!"][i % 3].to_owned());
    }
    texts
}

/// The pairs of texts with features whose fingerprints are within the radius.
fn matches(truth: &BruteForce, n: usize, bits: u32, k: u32) -> BTreeMap<(usize, usize), u32> {
    let with_features: Vec<usize> = (0..n).filter(|&i| !truth.is_empty(i)).collect();
    let earlier = |&j: &usize| {
        let before = with_features.iter().copied().take_while(move |&i| i < j);
        before.map(move |i| (i, j)).collect::<Vec<_>>()
    };
    let pairs = with_features.iter().flat_map(earlier);
    pairs
        .map(|(i, j)| ((i, j), truth.distance(i, j, bits)))
        .filter(|&(_, distance)| distance <= k)
        .collect()
}

/// The leader of each text: the nearest leader before it (ties: the earliest), or itself.
fn leaders(matches: &BTreeMap<(usize, usize), u32>, n: usize) -> Vec<usize> {
    let mut leaders: Vec<usize> = Vec::with_capacity(n);
    for i in 0..n {
        let before = (0..i).filter(|&earlier| leaders[earlier] == earlier);
        let nearest = before
            .filter_map(|earlier| Some((*matches.get(&(earlier, i))?, earlier)))
            .min();
        leaders.push(nearest.map_or(i, |(_, leader)| leader));
    }
    leaders
}

fn check(done: &Done, truth: &BruteForce, bits: u32, k: u32) {
    let n = done.clusters.len();
    let matches = matches(truth, n, bits, k);
    let found: BTreeMap<(usize, usize), u32> = done
        .pairs
        .iter()
        .map(|row| {
            assert_eq!(row.jaccard, None, "{row:?}");
            ((row.a, row.b), row.hamming)
        })
        .collect();
    assert_eq!(found.len(), done.pairs.len(), "a pair is written twice");
    assert_eq!(found, matches, "{bits} bits, radius {k}");
    let leaders = leaders(&matches, n);
    let actual: Vec<usize> = done.clusters.iter().map(|row| row.cluster_id).collect();
    assert_eq!(actual, leaders, "{bits} bits, radius {k}");
    for (i, row) in done.clusters.iter().enumerate() {
        let distance = matches.get(&(leaders[i], i)).copied().unwrap_or(0);
        assert_eq!(
            (row.hamming, row.is_leader),
            (distance, leaders[i] == i),
            "{row:?}"
        );
    }
    let records = &done.report.records;
    assert_eq!(records.read, records.kept + records.removed);
    assert_eq!(records.kept as usize, (0..n).filter(|&i| leaders[i] == i).count());
}

#[test]
fn every_radius_finds_what_brute_force_over_fingerprints_finds() {
    let texts = texts();
    let mut short_pairs = 0;
    for (bits, widest) in [(64, 12), (128, 40)] {
        for k in 0..=widest {
            let options = DedupOptions {
                verify: false,
                bits: Auto::Fixed(bits),
                hamming: Auto::Fixed(k),
                pairs: PairRows::All,
                ..DedupOptions::new().unwrap()
            };
            let truth = BruteForce::new(&texts, &options);
            let done = run(&texts, &[], &options);
            check(&done, &truth, bits, k);
            let short = |i: usize| truth.features(i) < options.min_features;
            short_pairs += done
                .pairs
                .iter()
                .filter(|row| short(row.a) && short(row.b))
                .count();
        }
    }
    assert!(short_pairs > 1000, "only {short_pairs} pairs of short texts");
}
