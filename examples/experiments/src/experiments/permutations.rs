//! Random permutations and exact plans: the share of the near fingerprints that they find.

use anyhow::Result;
use twinprint_eval::plot::{Axis, Plot, Series, bilingual};
use twinprint_index::Plan;
use twinprint_index::segment::{Options, Search};

use crate::built::{self, Lookups};
use crate::figure::{count, percent};
use crate::random::Random;
use crate::{Picture, Report, Setup, Table, Verdict};

/// The radius and the width.
const K: u32 = 3;
const BITS: u32 = 64;
/// The numbers of key bits of the random plans.
const KEYS: [u32; 4] = [16, 24, 28, 31];

/// The probability that `tables` random keys of `key_bits` bits find a pair at distance 3.
fn expected(tables: u32, key_bits: u32) -> f64 {
    let free = f64::from(BITS - key_bits);
    let clean = free * (free - 1.0) * (free - 2.0) / (64.0 * 63.0 * 62.0);
    1.0 - (1.0 - clean).powi(tables as i32)
}

/// The share of planted queries at distance 3 from a row that lookups by whole keys find.
fn planted(plan: &Plan, rows: &[u64], queries: &[u64]) -> Result<f64> {
    let tables = built::segment(rows, plan, Options::default())?;
    Ok(Lookups::of(&tables, Search::Binary, queries, K)?.found)
}

/// Runs the experiment.
pub(crate) fn run(setup: &Setup) -> Result<Report> {
    let mut report = Report::default();
    let mut random = Random::new(setup.seed);
    let rows = random.rows(setup.rows(500, 100_000));
    let queries: Vec<u64> =
        (0..setup.pick(1000, 50_000)).map(|_| rows[random.below(rows.len())] ^ random.flips(K)).collect();
    let counts = setup.pick(vec![1, 4, 20], vec![1, 2, 4, 8, 12, 16, 20, 32, 48, 64, 96, 128]);
    let mut table = Table::new(
        "Share of the pairs at distance 3 that random permutations find; `Plan::recall` and lookups of planted queries by whole keys",
        ["key bits", "tables", "expected", "recall of the plan", "planted queries"],
    );
    let mut series = Vec::new();
    let mut largest: f64 = 0.0;
    for key_bits in KEYS {
        let mut points = Vec::new();
        for &tables in &counts {
            let plan = Plan::random(BITS, K, tables, key_bits, setup.seed)?;
            let recall = plan.recall(K).share;
            points.push((f64::from(tables), recall));
            report.number(format!("{tables} random keys of {key_bits}"), recall);
            if [4, 20, 64].contains(&tables) {
                let found = planted(&plan, &rows, &queries)?;
                largest = largest.max((recall - found).abs());
                table.push([
                    key_bits.to_string(),
                    tables.to_string(),
                    percent(expected(tables, key_bits)),
                    percent(recall),
                    percent(found),
                ]);
            }
        }
        series.push(Series {
            name: bilingual(&format!("random keys of {key_bits} bits"), &format!("{key_bits} 位随机键")),
            points,
            dashed: false,
        });
    }
    report.number("planted against plan", largest);
    for plan in [Plan::blocks(BITS, K, 4)?, Plan::blocks(BITS, K, 5)?, Plan::nested_blocks(BITS, K, 4)?, Plan::blocks(BITS, K, 6)?] {
        let found = planted(&plan, &rows, &queries)?;
        let tables = plan.tables.len();
        report.number(format!("{tables} exact tables"), found);
        let key_bits = plan.tables[0].mask.count_ones();
        let at_equal = Plan::random(BITS, K, tables as u32, key_bits, setup.seed)?.recall(K).share;
        table.push([key_bits.to_string(), format!("{tables}, {}", plan.name), "100 %".to_owned(), percent(plan.recall(K).share), percent(found)]);
        report.number(format!("{tables} random tables"), at_equal);
    }
    report.tables.push(table);
    let twenty = report.numbers["20 random keys of 31"];
    report.claim(
        "random",
        &[2],
        "with several permutations the probability of a miss becomes small",
        ["small".to_owned(), format!("20 random permutations with keys of 31 bits miss {}", percent(1.0 - twenty))],
        Verdict::Depends,
        format!(
            "20 random keys of 16 bits miss {}; exact designs miss nothing, with as few as four tables.",
            percent(1.0 - report.numbers["20 random keys of 16"])
        ),
    );
    let exact = [4, 10, 16, 20].map(|tables| report.numbers[&format!("{tables} exact tables")]);
    report.claim(
        "exact",
        &[0, 2, 4],
        "4 and 16 tables miss nothing, even if the three bits are in three different parts",
        ["no miss".to_owned(), format!("{} of planted queries found", exact.map(percent).join(", "))],
        Verdict::of(exact.iter().all(|&found| found >= 1.0)),
        format!("with 4, 10, 16 and 20 tables, {} queries each; the checker of plans proves it.", count(queries.len() as u64)),
    );
    report.pictures.push(Picture {
        name: "permutations",
        caption: "Recall of random permutations over their number; four exact tables have recall 1".to_owned(),
        plot: Plot {
            title: "Recall of random permutations at distance 3".to_owned(),
            x: Axis::linear(bilingual("tables", "表数"), 0.0, f64::from(counts.last().copied().unwrap_or(64)), 16.0, 0),
            y: Axis::linear(bilingual("recall", "召回率"), 0.0, 1.0, 0.2, 1),
            series,
            marks: Vec::new(),
        },
    });
    Ok(report)
}
