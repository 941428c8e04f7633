//! The arithmetic of d and d′: how many fingerprints share their leading bits with a query, and how they are found.

use anyhow::Result;
use twinprint_index::Plan;
use twinprint_index::plan::check::is_exact;
use twinprint_index::segment::{Options, Search};

use crate::built::{self, Lookups};
use crate::figure::{count, number};
use crate::random::Random;
use crate::{Report, Setup, Table, Verdict};

/// The radius.
const K: u32 = 3;
/// The difference d − d′ of the documents' examples: 34 − 31, 34 − 30, 34 − 28 and 34 − 16.
const DIFFERENCES: [u32; 4] = [3, 4, 6, 18];

/// The lookups of queries in one table with a key of `key_bits` random bits.
fn lookups(rows: &[u64], queries: &[u64], key_bits: u32, search: Search, seed: u64) -> Result<Lookups> {
    let plan = Plan::random(64, K, 1, key_bits, seed)?;
    // The directory has two entries, so the search looks through half of the table.
    let options = Options { address_bits: vec![1], ..Options::default() };
    let table = built::segment(rows, &plan, options)?;
    Lookups::of(&table, search, queries, K)
}

/// Runs the experiment.
pub(crate) fn run(setup: &Setup) -> Result<Report> {
    let mut report = Report::default();
    let mut random = Random::new(setup.seed);
    let d = setup.rows(1 << 14, 1 << 24).max(2).ilog2();
    let rows = random.rows(1 << d);
    let queries = random.rows(setup.pick(200, 2000));
    arithmetic(&mut report);
    let mut measured = Vec::new();
    let mut table = Table::new(
        format!("Candidates of a probe with a key of d′ bits, among 2^{d} uniform fingerprints"),
        ["d − d′", "expected 2^(d − d′)", "measured"],
    );
    for difference in DIFFERENCES {
        let bits = d.saturating_sub(difference).max(1);
        let found = lookups(&rows, &queries, bits, Search::Binary, setup.seed)?.candidates;
        let expected = 2f64.powi((d - bits) as i32);
        report.number(format!("ratio at {difference}"), found / expected);
        table.push([(d - bits).to_string(), count(expected as u64), number(found)]);
        measured.push(found);
    }
    report.tables.push(table);
    let cases: [(&str, &[u8], &str, &str, usize); 4] = [
        ("twenty-tables", &[2], "20 tables, d′ = 31: at most 2^(34−31) candidates a probe on average", "8", 0),
        ("sixteen-left", &[0], "of 34 bits the leading 30 are equal: the last 4 leave 16 fingerprints to compare", "16", 1),
        ("sixteen-tables", &[0, 4], "16 tables, d′ = 28: 2^(34−28) candidates a probe", "2^(d−28): 64", 2),
        ("four-tables", &[0, 4], "4 tables, d′ = 16: 2^(34−16) candidates a probe", "262,144", 3),
    ];
    for (name, documents, claim, theirs, case) in cases {
        let difference = DIFFERENCES[case].min(d - 1);
        let expected = 2f64.powi(difference as i32);
        report.claim(
            name,
            documents,
            claim,
            [theirs.to_owned(), format!("{} at d = {d} and equal d − d′", number(measured[case]))],
            Verdict::of((measured[case] / expected - 1.0).abs() < 0.2),
            if case == 0 { "keys of 32 and 33 bits halve and quarter it." } else { "" },
        );
    }
    let steps = |search| Ok::<_, anyhow::Error>(lookups(&rows, &queries, d, search, setup.seed)?.steps);
    let (binary, interpolation) = (steps(Search::Binary)?, steps(Search::Interpolation)?);
    report.number("binary", binary);
    report.number("interpolation", interpolation);
    report.claim(
        "search",
        &[0],
        "in the sorted table, binary search finds a range; if the fingerprints are uniform, interpolation search is better",
        ["interpolation if n is large".to_owned(), format!("{} steps by binary search, {} by interpolation", number(binary), number(interpolation))],
        Verdict::of(interpolation < binary),
        format!("2^{d} uniform fingerprints."),
    );
    splits(&mut report)?;
    leading(setup, &mut report, rows, d);
    Ok(report)
}

/// The powers of two in the documents.
fn arithmetic(report: &mut Report) {
    let power = 8e9f64.log2();
    report.number("log2 of 8e9", power);
    report.claim(
        "eight-billion",
        &[0, 2],
        "8 billion web pages are 2^34",
        ["2^34".to_owned(), format!("8·10⁹ = 2^{power:.1}")],
        Verdict::Depends,
        "2^34 is 1.7·10¹⁰, twice as many, so the examples count twice the candidates.",
    );
    report.claim(
        "n",
        &[0],
        "the task is f = 64, k = 3, n = 8·10¹¹",
        ["8·10¹¹".to_owned(), "8·10⁹".to_owned()],
        Verdict::Fails,
        "the same document says 80 亿, which is 8·10⁹.",
    );
    report.claim(
        "one-billion",
        &[4],
        "2^34 is about one billion (10 亿)",
        ["10⁹".to_owned(), number(2f64.powi(34))],
        Verdict::Fails,
        "it is seventeen billion.",
    );
    report.claim(
        "raw-size",
        &[0, 4],
        "8 billion fingerprints of 8 bytes take about 64 GB",
        ["64 GB".to_owned(), format!("{} GB", 8e9 * size_of::<u64>() as f64 / 1e9)],
        Verdict::Holds,
        "",
    );
}

/// The blocks of the three designs.
fn splits(report: &mut Report) -> Result<()> {
    let keys = |plan: &Plan| -> Vec<u32> {
        let mut bits: Vec<u32> = plan.tables.iter().map(|table| table.mask.count_ones()).collect();
        bits.sort_unstable();
        bits.dedup();
        bits
    };
    let six = Plan::blocks(64, 3, 6)?;
    let nested = Plan::nested_blocks(64, 3, 4)?;
    let four = Plan::blocks(64, 3, 4)?;
    let exact = [&six, &nested, &four].iter().all(|plan| is_exact(plan).is_ok());
    report.number("exact", f64::from(u8::from(exact)));
    let written = |plan: &Plan| format!("{} tables, keys of {:?} bits", plan.tables.len(), keys(plan));
    report.exact(
        "six-blocks",
        &[2],
        "blocks of 11, 11, 11, 11, 10, 10 bits, three of six chosen: C(6,3) tables, d′ = 31, 32 or 33",
        "20 tables, keys of [31, 32, 33] bits",
        written(&six),
    );
    report.exact(
        "nested-blocks",
        &[0, 4],
        "4 blocks of 16 bits, and 4 of 12 bits in the other 48",
        "16 tables, keys of [28] bits",
        written(&nested),
    );
    report.exact("four-blocks", &[0, 4], "4 blocks of 16 bits", "4 tables, keys of [16] bits", written(&four));
    report.claim(
        "pigeonhole",
        &[0, 4],
        "three differing bits leave one of four blocks equal (pigeonhole principle)",
        ["always".to_owned(), if exact { "proved for all C(64,3) error sets" } else { "refuted" }.to_owned()],
        Verdict::of(exact),
        "the checker of plans tries every set; so are 16 and 20 tables exact.",
    );
    Ok(())
}

/// Counts the repetitions of the leading d bits among 2^d fingerprints.
fn leading(setup: &Setup, report: &mut Report, mut rows: Vec<u64>, d: u32) {
    rows.sort_unstable();
    let shift = 64 - d;
    let mut sizes = Vec::new();
    for group in rows.chunk_by(|a, b| a >> shift == b >> shift) {
        sizes.push(group.len());
    }
    let used = sizes.len() as f64 / 2f64.powi(d as i32);
    let largest = sizes.iter().copied().max().unwrap_or(0);
    report.number("used", used);
    report.number("largest", largest as f64);
    report.claim(
        "repeated-prefixes",
        &[0, 2],
        "of 2^d fingerprints, the leading d bits take many values, and few fingerprints share one",
        ["few".to_owned(), format!("{} of the values are used, at most {largest} fingerprints share one", number(used))],
        Verdict::of((used - 0.632).abs() < 0.02 && largest < 20),
        format!("1 − 1/e = 0.632 is expected; uniform fingerprints, d = {d}{}.", setup.pick("", "; `distribution` has those of pages")),
    );
}
