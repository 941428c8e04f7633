//! The naive ways that permuted tables replace, on the same data.

use std::time::Instant;

use anyhow::Result;
use twinprint_fingerprint::HashKey;
use twinprint_index::naive::{Bill, SortedRows, StoredVariations, each_variation, scan, variation_count};
use twinprint_index::{Match, Plan, Tables};
use twinprint_text::measures::{TermVector, cosine};
use twinprint_text::{Analyzer, Profile};

use crate::corpus::Corpus;
use crate::figure::{bytes, count, number, seconds};
use crate::random::Random;
use crate::{Report, Setup, Table, Verdict};

const K: u32 = 3;
/// The numbers of fingerprints and of pages of the documents.
const STORED_PAGES: f64 = 8e9;
const NEW_PAGES: f64 = 1e6;

/// A way of searching, measured.
struct Way {
    name: &'static str,
    bytes: f64,
    probes: f64,
    candidates: f64,
    seconds: f64,
    found: Vec<Vec<Match>>,
}

/// Looks all queries up.
fn measure(
    name: &'static str,
    bytes: f64,
    queries: &[u64],
    mut lookup: impl FnMut(u64, &mut Vec<Match>) -> twinprint_index::table::Stats,
) -> Way {
    let mut found = vec![Vec::new(); queries.len()];
    let (mut probes, mut candidates) = (0, 0);
    let clock = Instant::now();
    for (&query, found) in queries.iter().zip(&mut found) {
        let stats = lookup(query, found);
        probes += stats.probes;
        candidates += stats.candidates;
    }
    let n = queries.len() as f64;
    Way {
        name,
        bytes,
        probes: probes as f64 / n,
        candidates: candidates as f64 / n,
        seconds: clock.elapsed().as_secs_f64() / n,
        found,
    }
}

/// Runs the experiment.
pub(crate) fn run(setup: &Setup) -> Result<Report> {
    let mut report = Report::default();
    let mut random = Random::new(setup.seed);
    let rows = random.rows(setup.rows(5_000, 10_000_000));
    let queries: Vec<u64> = (0..setup.pick(6, 200))
        .map(|i| rows[random.below(rows.len())] ^ random.flips(i % 5))
        .collect();
    let n = rows.len();
    let mut ways = vec![measure("scan", 8.0 * n as f64, &queries, |query, out| scan(&rows, query, K, out))];
    let sorted = SortedRows::new(&rows);
    ways.push(measure("one sorted table, all variations of the query", sorted.bytes() as f64, &queries, |query, out| {
        sorted.lookup(query, K, out)
    }));
    drop(sorted);
    let plan = Plan::blocks(64, K, 4)?;
    let tables = Tables::build(&rows, &plan)?;
    ways.push(measure("four permuted tables", tables.bytes() as f64, &queries, |query, out| {
        tables.lookup(query, K, out)
    }));
    drop(tables);
    let equal = ways.iter().all(|way| way.found == ways[0].found);
    stored(setup, &mut report, &rows)?;
    let mut table = Table::new(
        format!("The same {} queries on {} uniform fingerprints, k = 3", queries.len(), count(n as u64)),
        ["way", "bytes a fingerprint", "probes", "candidates", "time of a query"],
    );
    for way in &ways {
        table.push([
            way.name.to_owned(),
            number(way.bytes / n as f64),
            number(way.probes),
            number(way.candidates),
            seconds(way.seconds),
        ]);
    }
    report.tables.push(table);
    report.number("equal", f64::from(u8::from(equal)));
    report.number("probes", ways[1].probes);
    report.number("table probes", ways[2].probes);
    report.number("table candidates", ways[2].candidates);
    report.number("expected candidates", 4.0 * n as f64 / 65_536.0);
    let mut visited = 0u64;
    each_variation(rows[0], K, &mut |_: u64| visited += 1);
    report.number("variations", visited as f64);
    report.claim(
        "variations",
        &[0, 2, 4],
        "all variations of a query within distance 3 at 64 bits",
        ["C(64,3) = 41,664".to_owned(), count(variation_count(64, K) as u64)],
        Verdict::Depends,
        "41,664 are at distance exactly 3; with distances 0 to 2 there are 43,745 probes.",
    );
    report.claim(
        "probing",
        &[0, 2, 4],
        "probing all variations takes too long",
        ["41,664 probes".to_owned(), format!("{} probes, {} a query", count(ways[1].probes as u64), seconds(ways[1].seconds))],
        Verdict::of(ways[1].seconds > 10.0 * ways[2].seconds),
        format!("{} times as long as four tables, and {} times as long as the scan.", number(ways[1].seconds / ways[2].seconds), number(ways[1].seconds / ways[0].seconds)),
    );
    report.claim(
        "between",
        &[0, 2, 4],
        "permuted tables lie between both ways: few probes, a small multiple of the space",
        [
            "time below the first, space below the second".to_owned(),
            format!("{} probes, {} bytes a fingerprint, {}", ways[2].probes, number(ways[2].bytes / n as f64), seconds(ways[2].seconds)),
        ],
        Verdict::of(equal && ways[2].seconds < ways[1].seconds),
        "all ways give the same answers.",
    );
    report.claim(
        "few-milliseconds",
        &[4],
        "a lookup takes a few milliseconds",
        ["a few ms at 8·10⁹".to_owned(), format!("{} at {}", seconds(ways[2].seconds), count(n as u64))],
        Verdict::Depends,
        format!(
            "in memory; 8·10⁹ fingerprints have {} candidates in the four buckets, {} of comparisons; on a disk docs/scale.md has 58 ms at 10⁹.",
            count((4.0 * STORED_PAGES / 65_536.0) as u64),
            seconds(4.0 * STORED_PAGES / 65_536.0 * ways[0].seconds / n as f64)
        ),
    );
    cosines(setup, &mut report, ways[0].seconds / n as f64)?;
    Ok(report)
}

/// Stores all variations of as many fingerprints as fit, and computes the bill of the documents' number.
fn stored(setup: &Setup, report: &mut Report, rows: &[u64]) -> Result<()> {
    let few = &rows[..setup.pick(20, 5000)];
    let table = StoredVariations::build(few, K, 8 << 30)?;
    let refused = StoredVariations::<u64>::build(rows, K, 1 << 24).is_err();
    let mut found = Vec::new();
    let probes = table.lookup(few[7] ^ 0b111, &mut found).probes;
    let bill = Bill::of::<u64>(STORED_PAGES as u64, K);
    report.number("stored entries", table.entries() as f64 / few.len() as f64);
    report.number("stored probes", probes as f64);
    report.number("refused", f64::from(u8::from(refused)));
    report.claim(
        "storing",
        &[0, 2, 4],
        "storing all variations of every fingerprint takes forty thousand times the space",
        [
            "41,664 · n".to_owned(),
            format!("{} · n entries; {} for 8·10⁹", count((table.entries() / few.len()) as u64), bytes(bill.bytes as f64)),
        ],
        Verdict::of(found.iter().any(|m| m.id == 7 && m.distance == 3)),
        format!("measured on {} fingerprints, one probe a query.", count(few.len() as u64)),
    );
    Ok(())
}

/// Measures the comparison of two word vectors and extrapolates it to the documents' numbers.
fn cosines(setup: &Setup, report: &mut Report, comparison: f64) -> Result<()> {
    let corpus = Corpus::labelled(setup, "newswire-en", "title", setup.pick(60, 1500))?;
    let mut analyzer = Analyzer::new(&Profile::default_for(64)?, HashKey::PUBLIC);
    let vectors: Vec<TermVector> =
        corpus.documents.iter().map(|document| TermVector::new(&analyzer.explain(&document.text))).collect();
    let clock = Instant::now();
    let mut sum = 0.0;
    for a in &vectors {
        for b in &vectors {
            sum += cosine(a, b);
        }
    }
    let each = clock.elapsed().as_secs_f64() / (vectors.len() * vectors.len()) as f64;
    report.number("mean cosine", sum / (vectors.len() * vectors.len()) as f64);
    report.claim(
        "cosines",
        &[2, 4],
        "comparing a million new pages a day with billions by the cosine is hopeless",
        [
            "hopeless".to_owned(),
            format!("{} a cosine: {} for a day's pages", seconds(each), seconds(each * STORED_PAGES * NEW_PAGES)),
        ],
        Verdict::of(each * STORED_PAGES * NEW_PAGES > 3e7),
        format!("10⁶ · 8·10⁹ cosines on one core; scanning fingerprints instead takes {} a comparison, {}.", seconds(comparison), seconds(comparison * STORED_PAGES * NEW_PAGES)),
    );
    Ok(())
}
