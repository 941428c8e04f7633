//! Runs every experiment at small size. A figure that must be reproduced exactly is compared with the documents' figure;
//! any other one with a bound.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use twinprint_experiments::experiments::ALL;
use twinprint_experiments::{Claim, Report, Setup, Size, Verdict, find};

/// Seeds of the generated data. Every bound holds for each of them.
const SEEDS: [u64; 2] = [1, 7];

/// Reports by experiment and seed, each made once.
type Reports = BTreeMap<(String, u64), Arc<OnceLock<Report>>>;

static REPORTS: Mutex<Reports> = Mutex::new(BTreeMap::new());

fn run(name: &str, seed: u64) -> Report {
    let mut reports = REPORTS.lock().expect("no test panics while it has the lock");
    let entry = Arc::clone(reports.entry((name.to_owned(), seed)).or_default());
    drop(reports);
    let make = || {
        let experiment = find(name).unwrap_or_else(|| panic!("no experiment {name}"));
        let report = experiment.run(&Setup::new(Size::Small, seed));
        report.unwrap_or_else(|error| panic!("{name}: {error:#}"))
    };
    entry.get_or_init(make).clone()
}

fn claim<'r>(report: &'r Report, name: &str) -> &'r Claim {
    let mut claims = report.claims.iter().filter(|claim| claim.name == name);
    claims.next().unwrap_or_else(|| panic!("no claim {name}"))
}

fn number(report: &Report, name: &str) -> f64 {
    let number = report.numbers.get(name);
    *number.unwrap_or_else(|| panic!("no figure {name}: {:?}", report.numbers))
}

/// Asserts that the documents' figure and the measured one of each claim are the given figure, to the letter.
fn assert_exact(report: &Report, names: &[(&str, &str)]) {
    for &(name, figure) in names {
        let claim = claim(report, name);
        assert_eq!(
            (claim.theirs.as_str(), claim.ours.as_str()),
            (figure, figure),
            "{name}"
        );
    }
}

#[track_caller]
fn assert_between(report: &Report, name: &str, low: f64, high: f64) {
    let value = number(report, name);
    assert!(
        (low..=high).contains(&value),
        "{name}: {value} is not between {low} and {high}"
    );
}

#[test]
fn worked_examples_of_votes() {
    let report = run("votes", 1);
    assert_exact(
        &report,
        &[
            ("votes-of-one-word", "4 -4 -4 4 -4 4"),
            ("votes-of-another", "5 -5 5 -5 5 5"),
            ("sums", "9 -9 1 -1 1 9"),
            ("fingerprint", "101011"),
            ("signs", "110001"),
            ("xor", "001101"),
            ("distance", "3"),
            ("distance-of-words", "3"),
            ("vector", "1, -1, 1, -1"),
        ],
    );
    assert_between(&report, "orthants", 64.0, 64.0);
}

#[test]
fn five_features_and_three_bits() {
    let report = run("hyperplanes", 1);
    assert_exact(
        &report,
        &[
            ("sum", "(-4, -2, 6)"),
            ("fingerprint", "001"),
            ("products", "(-4, -2, 6)"),
            ("by-hyperplanes", "001"),
        ],
    );
    assert_between(&report, "equal", 1.0, 1.0);
}

#[test]
fn the_cat_sat_on_the_mat() {
    for seed in SEEDS {
        let report = run("phrases", seed);
        assert_exact(&report, &[("distances", "4, 16, 12")]);
        assert_eq!(claim(&report, "binary").verdict, Verdict::Holds);
        assert_eq!(claim(&report, "bigrams").verdict, Verdict::Holds);
        assert_between(&report, "bigrams", 15.0, 15.0);
        assert_between(&report, "in order, above 0", 0.95, 1.0);
        assert_between(&report, "p1-p2, above 0", 2.0, 7.0);
        assert_between(&report, "p1-p3, above 0", 11.0, 17.0);
    }
}

#[test]
fn digests_of_greetings() {
    for seed in SEEDS {
        let report = run("digests", seed);
        assert_exact(
            &report,
            &[
                ("md5", "65396ee4aad0b4f17aacd1c6112ee364"),
                ("md5-with-comma", "27444ee2d245c3e8e11ed8b9b035c43b"),
            ],
        );
        // 60 digests of 128 bits: the mean has a standard deviation of 0.73.
        assert_between(&report, "md5 bits", 60.0, 68.0);
        assert_between(&report, "simhash bits", 0.1, 12.0);
        assert_eq!(claim(&report, "comma").verdict, Verdict::Holds);
    }
}

#[test]
fn the_java_listing() {
    let report = run("java", 1);
    assert_exact(&report, &[("listing", "2")]);
    assert_between(&report, "positive", 1.0, 1.0);
    assert_between(&report, "negative", 0.0, 0.001);
}

#[test]
fn the_listings_of_jieba() {
    let report = run("jieba", 1);
    assert_exact(
        &report,
        &[
            ("first-features", "5255740375710833686"),
            ("second-features", "9184284471008831268"),
        ],
    );
    if claim(&report, "first-listing").verdict == Verdict::NotRun {
        eprintln!("skipped: the listings need cppjieba's dictionaries (../shared/data)");
        return;
    }
    assert_exact(
        &report,
        &[
            ("first-listing", "妈妈 6.55531, 吃饭 6.44422; 5255740375710833686"),
            (
                "second-listing",
                "回家 12.3845, 妈妈 6.55531; 9184284471008831268",
            ),
            ("distance", "0"),
        ],
    );
}

#[test]
fn the_named_libraries() {
    let report = run("libraries", 1);
    assert!(number(&report, "runs") < number(&report, "words"));
    if claim(&report, "published").verdict == Verdict::NotRun {
        eprintln!("skipped: published fingerprints need compat-vectors.json (../shared/data)");
        return;
    }
    assert_between(&report, "published", 1.0, 1.0);
}

#[test]
fn angles_are_the_shares_of_differing_bits() {
    for seed in SEEDS {
        let report = run("angles", seed);
        for degrees in [5, 10, 20, 30, 45, 60, 75, 90, 120, 150] {
            let share = f64::from(degrees) / 180.0;
            // 40 pairs of 128 bits: six standard deviations of a binomial share.
            let bound = 6.0 * (share * (1.0 - share) / (40.0 * 128.0)).sqrt();
            assert_between(
                &report,
                &format!("share at {degrees}"),
                share - bound,
                share + bound,
            );
        }
        for degrees in [5, 30, 90, 150] {
            let share = f64::from(degrees) / 180.0;
            // Ten pairs have the same hyperplanes, so the bound is wider in three dimensions.
            let name = format!("share at {degrees} in 3 dimensions");
            assert_between(&report, &name, share - 0.12, share + 0.12);
        }
        // Normals of ±1 have eight directions in three dimensions. At this size the deviation is known to about 0.02.
        assert_between(&report, "off by signs in 3 dimensions", 0.03, 1.0);
        assert_between(&report, "share with 200 features", 0.32, 0.37);
        assert_between(&report, "order by distance", 0.85, 1.0);
        assert!(number(&report, "order by difference") < number(&report, "order by distance"));
    }
}

#[test]
fn measures_follow_their_definitions() {
    let report = run("measures", 1);
    assert_eq!(report.numbers.len(), 11);
    for name in report.numbers.keys() {
        assert_between(&report, name, -1e-9, 1e-9);
    }
}

#[test]
fn precision_and_recall_over_the_radius() {
    let report = run("radius", 1);
    for bits in [64, 128] {
        assert_between(&report, &format!("{bits} bits: precision"), 0.75, 1.0);
        assert_between(&report, &format!("{bits} bits: best F1"), 0.8, 1.0);
    }
    assert!(number(&report, "16 bits: best F1") < number(&report, "128 bits: best F1"));
    assert_between(&report, "engine F1", 0.99, 1.0);
    assert_between(&report, "cosine F1", 0.8, 1.0);
}

#[test]
fn causes_of_near_duplicates() {
    for seed in SEEDS {
        let report = run("causes", seed);
        for cause in ["mirror", "ads", "counters"] {
            // The main text is the same.
            assert_between(&report, &format!("{cause}: main"), 0.0, 0.0);
        }
        assert_between(&report, "edits: within 12", 0.95, 1.0);
        assert_between(&report, "unrelated: within 3", 0.0, 0.05);
        assert!(number(&report, "copy: main") > number(&report, "edits: main"));
    }
}

#[test]
fn keywords_as_features() {
    let report = run("keywords", 1);
    let f1 = |name: &str| number(&report, &format!("{name}: F1"));
    assert!(f1("10 keywords, tf · idf") < f1("all words, 1 + ln tf"));
    assert!(f1("all words, 1 + ln tf") > 0.8);
}

#[test]
fn sketches_of_equal_bytes() {
    let report = run("sketches", 1);
    assert_between(&report, "all shingles", 1.0, 1.0);
    assert_between(&report, "minhash 128", 0.85, 1.0);
    assert!(number(&report, "simhash 8") > number(&report, "simhash 2"));
    assert!(number(&report, "simhash 8") > number(&report, "shingles 8"));
}

#[test]
fn distribution_of_fingerprints() {
    for seed in SEEDS {
        let report = run("distribution", seed);
        // 28,680 pairs with a standard deviation of 4.
        assert_between(&report, "mean distance of uniform", 31.8, 32.2);
        assert!(number(&report, "mean distance of pages") < number(&report, "mean distance of uniform"));
        assert!(number(&report, "clustered pages") > 5.0 * number(&report, "clustered uniform"));
    }
}

#[test]
fn candidates_of_leading_bits() {
    for seed in SEEDS {
        let report = run("candidates", seed);
        for difference in [3, 4, 6] {
            assert_between(&report, &format!("ratio at {difference}"), 0.8, 1.2);
        }
        // Of 2¹⁴ values, 1 − 1/e are used, with a standard deviation of 0.003.
        assert_between(&report, "used", 0.61, 0.655);
        assert_between(&report, "binary", 12.0, 16.0);
        assert_between(&report, "interpolation", 1.0, 10.0);
        assert_between(&report, "exact", 1.0, 1.0);
        assert_between(&report, "log2 of 8e9", 32.8, 33.0);
        assert_exact(
            &report,
            &[
                ("six-blocks", "20 tables, keys of [31, 32, 33] bits"),
                ("nested-blocks", "16 tables, keys of [28] bits"),
                ("four-blocks", "4 tables, keys of [16] bits"),
            ],
        );
        assert_eq!(claim(&report, "n").verdict, Verdict::Fails);
        assert_eq!(claim(&report, "one-billion").verdict, Verdict::Fails);
    }
}

#[test]
fn naive_ways() {
    for seed in SEEDS {
        let report = run("naive", seed);
        for name in ["probes", "variations", "stored entries"] {
            assert_between(&report, name, 43_745.0, 43_745.0);
        }
        for name in ["equal", "stored probes", "refused"] {
            assert_between(&report, name, 1.0, 1.0);
        }
        assert_between(&report, "table probes", 4.0, 4.0);
    }
}

#[test]
fn designs_find_everything() {
    let report = run("designs", 1);
    assert_between(&report, "all found", 1.0, 1.0);
    assert_between(&report, "same candidates on two threads", 1.0, 1.0);
    let tables = [
        ("blocks:4", 4.0),
        ("blocks:5", 10.0),
        ("qr11", 11.0),
        ("half-spaces", 14.0),
    ];
    let more = [("nested:4", 16.0), ("blocks:6", 20.0)];
    for (design, tables) in tables.into_iter().chain(more) {
        assert_between(&report, &format!("{design} probes"), tables, tables);
    }
    let bytes = |design: &str| number(&report, &format!("{design} bytes"));
    for pair in ["blocks:4", "blocks:5", "nested:4", "blocks:6"].windows(2) {
        assert!(bytes(pair[0]) < bytes(pair[1]), "{pair:?}");
    }
}

#[test]
fn permutations_and_exact_designs() {
    let report = run("permutations", 1);
    for tables in [4, 10, 16, 20] {
        assert_between(&report, &format!("{tables} exact tables"), 1.0, 1.0);
        assert!(number(&report, &format!("{tables} random tables")) < 1.0);
    }
    // 1,000 planted queries: five standard deviations of a share.
    assert_between(&report, "planted against plan", 0.0, 0.08);
    assert_between(&report, "20 random keys of 16", 0.99, 1.0);
}

#[test]
fn compressed_tables() {
    let report = run("compression", 1);
    assert_exact(&report, &[("example", "(6)1")]);
    assert_between(&report, "bits above the bound", 0.0, 2.5);
    assert_between(&report, "share at 8e9", 0.45, 0.55);
}

#[test]
fn online_and_batch_find_the_same() {
    for seed in SEEDS {
        assert_between(&run("batch", seed), "equal", 1.0, 1.0);
    }
}

#[test]
fn one_pass_and_equal_fingerprints() {
    let report = run("clustering", 1);
    assert_between(&report, "unchanged", 1.0, 1.0);
    assert_between(&report, "clusters with keywords", 6.0, 6.0);
    let f1 = |name: &str| number(&report, &format!("{name}: duplicates"));
    assert!(f1("equal at 16 bits") < f1("leaders, 64 bits, k = 10"));
    let of_equal = |bits: u32, name: &str| number(&report, &format!("equal at {bits} bits: {name}"));
    assert!(of_equal(4, "precision") < of_equal(16, "precision"));
    assert!(of_equal(16, "recall") >= of_equal(64, "recall"));
}

#[test]
fn only_one_pass_leaves_earlier_clusters_as_they_are() {
    for seed in SEEDS {
        let report = run("centres", seed);
        let figure = |name: &str, figure: &str| number(&report, &format!("{name}: {figure}"));
        for name in ["one pass, fixed leaders", "one pass, moving centres"] {
            assert_eq!((figure(name, "passes"), figure(name, "changed")), (1.0, 0.0));
        }
        for name in ["k-means", "hierarchical, average linkage"] {
            assert!(figure(name, "passes") > 1.0, "{name}");
            assert!(
                figure(name, "distances") > figure("one pass, fixed leaders", "distances"),
                "{name}"
            );
        }
        // The groups of generated texts are so far apart that hierarchical clusters do not change.
        assert!(figure("k-means", "changed") > 0.0);
        for name in [
            "one pass, fixed leaders",
            "one pass, moving centres",
            "hierarchical, average linkage",
        ] {
            assert!(figure(name, "F1") > 0.6, "{name}: {}", figure(name, "F1"));
        }
        assert_between(&report, "beyond", 0.0, 0.5);
    }
}

#[test]
fn order_of_similarity_and_compression() {
    assert_between(&run("order", 1), "saved", -0.05, 0.5);
}

#[test]
fn rabin_fingerprints_of_shingles() {
    for seed in SEEDS {
        let report = run("rabin", seed);
        assert_between(&report, "collisions", 0.0, 0.0);
        assert_between(&report, "linear", 1.0, 1.0);
        let [rabin, siphash] = ["Rabin", "SipHash"].map(|hash| number(&report, &format!("F1 by {hash}")));
        assert!((rabin - siphash).abs() < 0.1, "{rabin} {siphash}");
    }
}

/// The page has a row for every claim of every experiment, names no unknown experiment, and its pictures exist.
#[test]
fn the_page_has_every_experiment_and_claim() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let page = std::fs::read_to_string(docs.join("experiments.md")).unwrap();
    let rows: Vec<Vec<&str>> = page
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains("| `"))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    let named: BTreeSet<&str> = rows.iter().map(|row| row[3].trim_matches('`')).collect();
    let known: BTreeSet<&str> = ALL.iter().map(|experiment| experiment.name).collect();
    assert_eq!(named, known);
    for experiment in ALL {
        let report = run(experiment.name, 1);
        assert!(!report.claims.is_empty(), "{}: no claims", experiment.name);
        let names: BTreeSet<_> = report.claims.iter().map(|claim| claim.name).collect();
        assert_eq!(
            names.len(),
            report.claims.len(),
            "{}: two claims of one name",
            experiment.name
        );
        for claim in &report.claims {
            assert!(claim.documents.iter().all(|&document| document < 5) && !claim.documents.is_empty());
            let is_row =
                |row: &&Vec<&str>| row[3].trim_matches('`') == experiment.name && row[2] == claim.claim;
            let missing = claim.verdict == Verdict::NotRun;
            assert!(
                rows.iter().find(is_row).is_some() || missing,
                "no row: {}",
                claim.claim
            );
        }
        for picture in &report.pictures {
            let file = picture.file_name();
            assert!(picture.plot.standalone().contains("<polyline"), "{file} is empty");
            assert!(page.contains(&file) && docs.join(&file).is_file(), "{file}");
        }
    }
}
