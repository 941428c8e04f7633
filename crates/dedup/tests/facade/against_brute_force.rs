//! Small corpora with texts of every kind: pairs, groups, records and counts equal those of the definitions.

use std::collections::BTreeMap;

use proptest::prelude::*;
use twinprint_dedup::{Auto, DedupOptions, Keep, PairRows};

use crate::brute_force::{BruteForce, Pair};
use crate::job::{Done, run};
use crate::words::{Words, join};

/// The parameters of a generated document.
#[derive(Clone, Debug)]
struct Recipe {
    /// The number of the base text.
    base: usize,
    edits: usize,
    seed: u64,
    variant: usize,
    time: Option<u32>,
}

/// Units of each base text: none, one, short, around the limit of 50 features, long. Texts of even numbers are English.
const LENGTHS: [usize; 12] = [0, 1, 4, 14, 30, 55, 48, 110, 60, 160, 300, 500];

fn recipe() -> impl Strategy<Value = Recipe> {
    let edits = prop_oneof![3 => Just(0), 4 => 1usize..4, 2 => 4usize..30];
    let time = prop_oneof![1 => Just(None), 3 => (0u32..9).prop_map(Some)];
    (0..LENGTHS.len(), edits, any::<u64>(), 0usize..6, time).prop_map(|(base, edits, seed, variant, time)| {
        Recipe {
            base,
            edits,
            seed,
            variant,
            time,
        }
    })
}

fn text(recipe: &Recipe) -> String {
    let chinese = recipe.base % 2 == 1;
    let mut units = Words::new(recipe.base as u64).units(LENGTHS[recipe.base], chinese);
    Words::new(recipe.seed).edit(&mut units, recipe.edits, chinese);
    let text = join(&units, chinese);
    // Normalisation removes these variants. Only the empty text changes by them.
    match recipe.variant {
        0 => text.to_uppercase(),
        1 => format!("  «{text}»!\n"),
        2 => text.replace(' ', " — "),
        _ => text,
    }
}

fn options() -> impl Strategy<Value = DedupOptions> {
    let threshold = prop_oneof![Just(0.5), Just(0.7), Just(0.8), Just(0.9), Just(1.0)];
    let radius = prop_oneof![
        Just((Auto::Auto, Auto::Auto)),
        (0u32..=12).prop_map(|k| (Auto::Fixed(64), Auto::Fixed(k))),
        (0u32..=40).prop_map(|k| (Auto::Fixed(128), Auto::Fixed(k))),
    ];
    let keep = prop_oneof![
        Just(Keep::First),
        Just(Keep::Longest),
        Just(Keep::Shortest),
        Just(Keep::Newest)
    ];
    (threshold, radius, keep, 1usize..3).prop_map(|(threshold, (bits, hamming), keep, threads)| {
        DedupOptions {
            threshold,
            bits,
            hamming,
            keep,
            threads,
            pairs: PairRows::All,
            ..DedupOptions::new().unwrap()
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pairs_groups_and_counts_are_those_of_the_definitions(
        recipes in prop::collection::vec(recipe(), 0..28),
        options in options(),
    ) {
        let texts: Vec<String> = recipes.iter().map(text).collect();
        let mut times: Vec<Option<u32>> = recipes.iter().map(|recipe| recipe.time).collect();
        // A run that keeps the newest document is refused if no document has a time.
        if let Some(first) = times.first_mut().filter(|_| options.keep == Keep::Newest) {
            first.get_or_insert(0);
        }
        let done = run(&texts, &times, &options);
        let truth = BruteForce::new(&texts, &options);
        let radius = &done.report.radius;
        let duplicates = truth.duplicates(&options, radius.bits, radius.k);
        let found = assert_pairs_are_correct_and_complete(&done, &duplicates);
        assert_groups_equal_the_definition(&done, &truth, &found, &options, &times);
        assert_counts_add_up(&done, &truth, &found);

        // Without the file of pairs, only leaders are compared. The result must be the same.
        let leaders_only = run(&texts, &times, &DedupOptions { pairs: PairRows::None, ..options });
        prop_assert_eq!(&leaders_only.clusters, &done.clusters);
    }
}

/// Checks that every row is a duplicate with the correct figures, and that every guaranteed duplicate has a row. Returns the pairs of
/// the rows as brute force computes them.
fn assert_pairs_are_correct_and_complete(
    done: &Done,
    duplicates: &BTreeMap<(usize, usize), Pair>,
) -> BTreeMap<(usize, usize), Pair> {
    let mut found = BTreeMap::new();
    for row in &done.pairs {
        let pair = duplicates
            .get(&(row.a, row.b))
            .unwrap_or_else(|| panic!("{row:?} is below the threshold, or not in input order"));
        let floor = |value: f64| Some(((value * 1e6).floor() / 1e6).to_bits());
        assert_eq!(
            row.jaccard.map(f64::to_bits),
            floor(pair.jaccard),
            "{row:?} {pair:?}"
        );
        assert_eq!(
            row.containment.map(f64::to_bits),
            floor(pair.containment),
            "{row:?} {pair:?}"
        );
        assert_eq!(row.hamming, pair.hamming, "{row:?}");
        assert!(
            found.insert((row.a, row.b), *pair).is_none(),
            "{row:?} is written twice"
        );
    }
    for (key, pair) in duplicates {
        assert!(
            !pair.guaranteed || found.contains_key(key),
            "{key:?} was not found: {pair:?}"
        );
    }
    found
}

/// Checks that the groups are those of the definition for the found pairs.
fn assert_groups_equal_the_definition(
    done: &Done,
    truth: &BruteForce,
    found: &BTreeMap<(usize, usize), Pair>,
    options: &DedupOptions,
    times: &[Option<u32>],
) {
    let leaders = truth.leaders(found, options.keep, times);
    assert_eq!(done.clusters.len(), leaders.len());
    for (i, row) in done.clusters.iter().enumerate() {
        let leader = leaders[i];
        assert_eq!(row.id, i.to_string());
        assert_eq!(row.cluster_id, leader, "{row:?}");
        assert_eq!(row.is_leader, leader == i);
        assert_eq!(row.duplicate_of, (leader != i).then(|| leader.to_string()));
        let size = leaders.iter().filter(|&&other| other == leader).count();
        assert_eq!(row.cluster_size, size, "{row:?}");
        if leader == i {
            continue;
        }
        let pair = &found[&(i.min(leader), i.max(leader))];
        assert!(pair.jaccard >= options.threshold);
        assert_eq!(row.hamming, pair.hamming, "{row:?}");
        assert!((row.jaccard.unwrap() - pair.jaccard).abs() < 1e-5, "{row:?}");
    }
    // No two kept documents are a found pair.
    for &(i, j) in found.keys() {
        assert!(
            leaders[i] != i || leaders[j] != j,
            "{i} and {j} are both kept, though they were found to be duplicates"
        );
    }
    let kept: Vec<usize> = (0..leaders.len()).filter(|&i| leaders[i] == i).collect();
    let removed: Vec<usize> = (0..leaders.len()).filter(|&i| leaders[i] != i).collect();
    assert_eq!(done.copied("kept"), kept);
    assert_eq!(done.copied("removed"), removed);
}

fn assert_counts_add_up(done: &Done, truth: &BruteForce, found: &BTreeMap<(usize, usize), Pair>) {
    let n = done.clusters.len();
    let report = &done.report;
    let records = &report.records;
    let empty = (0..n).filter(|&i| truth.is_empty(i)).count();
    assert_eq!(records.empty, empty as u64);
    assert_eq!(records.read, n as u64);
    assert_eq!(records.read, records.kept + records.removed + records.rejected);
    let removed = done.clusters.iter().filter(|row| !row.is_leader).count();
    assert_eq!(records.removed, removed as u64);
    assert_eq!(report.distances.values().sum::<u64>(), records.removed);
    assert_eq!(report.jaccards.values().sum::<u64>(), records.removed);
    assert_eq!(report.search.pair_rows, Some(found.len() as u64));
    let equal_to_an_earlier = |j: usize| (0..j).any(|i| found.get(&(i, j)).is_some_and(|pair| pair.equal));
    let equal = (0..n).filter(|&j| equal_to_an_earlier(j)).count();
    assert_eq!(records.equal_texts, equal as u64);
    let in_groups: u64 = report
        .clusters
        .sizes
        .iter()
        .map(|(&size, &count)| u64::from(size) * count)
        .sum();
    assert_eq!(in_groups, report.clusters.count + records.removed);
    assert!(report.search.duplicates <= report.search.verified);
}
