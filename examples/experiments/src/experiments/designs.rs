//! The table of designs: tables, keys, space, time, probes and candidates.

use std::time::Instant;

use anyhow::Result;
use twinprint_eval::plot::{Axis, Plot, Series, bilingual};
use twinprint_index::plan::Design;
use twinprint_index::segment::{Options, Scratch, Search};
use twinprint_index::{Plan, Tables};

use crate::built::{self, Lookups};
use crate::figure::{count, number, seconds};
use crate::random::Random;
use crate::setup::Size;
use crate::{Picture, Report, Setup, Table, Verdict};

const K: u32 = 3;
/// The designs by name.
const DESIGNS: [&str; 9] = [
    "one-table", "parts:2", "parts:3", "blocks:4", "blocks:5", "qr11", "half-spaces", "nested:4", "blocks:6",
];
/// A design is built if all its tables together have at most this number of rows.
const MAX_TABLE_ROWS: usize = 420_000_000;

/// The measured figures of a design.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    bytes: f64,
    build: f64,
    probes: f64,
    candidates: f64,
    whole_keys: f64,
    single: f64,
    batch: f64,
    found: f64,
}

/// Runs the experiment.
pub(crate) fn run(setup: &Setup) -> Result<Report> {
    let mut report = Report::default();
    let sizes = match (setup.rows, setup.size) {
        (Some(rows), _) => vec![rows],
        (None, Size::Small) => vec![4000],
        (None, Size::Full) => vec![1_000_000, 10_000_000],
    };
    let mut points = Vec::new();
    for &n in &sizes {
        let mut random = Random::new(setup.seed);
        let rows = random.rows(n);
        let queries: Vec<u64> = (0..setup.pick(200, 100_000))
            .map(|_| rows[random.below(n)] ^ random.flips(K))
            .collect();
        let mut table = Table::new(
            format!("Designs for k = {K} at 64 bits with {} uniform fingerprints and their ids; queries are 3 bits from a stored fingerprint", count(n as u64)),
            ["design", "tables", "key bits", "bytes a fingerprint", "build", "probes", "candidates", "by whole keys", "one lookup", "in a batch"],
        );
        for design in DESIGNS {
            let plan = design.parse::<Design>()?.plan(64, K)?;
            let tables = plan.tables.len();
            let keys = key_bits(&plan);
            if tables * n > MAX_TABLE_ROWS {
                let expected = format!("about {}", number(8.0 * tables as f64));
                let mut cells = vec![plan.name.clone(), tables.to_string(), keys, expected];
                cells.resize(10, "not built".to_owned());
                table.rows.push(cells);
                continue;
            }
            let measured = measure(&rows, &queries, &plan)?;
            report.number(format!("{design} found"), measured.found);
            report.number(format!("{design} probes"), measured.probes);
            report.number(format!("{design} candidates"), measured.candidates);
            report.number(format!("{design} bytes"), measured.bytes);
            report.number(format!("{design} whole keys"), measured.whole_keys);
            table.push([
                plan.name.clone(),
                tables.to_string(),
                keys,
                number(measured.bytes),
                seconds(measured.build),
                number(measured.probes),
                number(measured.candidates),
                number(measured.whole_keys),
                seconds(measured.single),
                seconds(measured.batch),
            ]);
            if Some(&n) == sizes.last() && plan.tables.iter().all(|table| table.radius == 0) {
                points.push((tables as f64, measured.candidates.max(1.0).log10()));
            }
        }
        report.tables.push(table);
        if n == sizes.last().copied().unwrap_or(0) {
            threads(&rows, &queries, &mut report)?;
        }
    }
    claims(&mut report, sizes.last().copied().unwrap_or(0));
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    report.pictures.push(picture(points, whole_keys()?));
    Ok(report)
}

/// Times the same lookups in four tables on one thread and on two, each with half of the queries.
fn threads(rows: &[u64], queries: &[u64], report: &mut Report) -> Result<()> {
    let tables = Tables::build(rows, &Plan::blocks(64, K, 4)?)?;
    let look_up = |queries: &[u64]| {
        let mut found = Vec::new();
        queries.iter().map(|&query| tables.lookup(query, K, &mut found).candidates).sum::<u64>()
    };
    let clock = Instant::now();
    let candidates = look_up(queries);
    let one = clock.elapsed().as_secs_f64();
    let (first, second) = queries.split_at(queries.len() / 2);
    let clock = Instant::now();
    let both = std::thread::scope(|scope| {
        let other = scope.spawn(|| look_up(second));
        look_up(first) + other.join().unwrap_or(0)
    });
    let two = clock.elapsed().as_secs_f64();
    report.number("same candidates on two threads", f64::from(u8::from(candidates == both)));
    report.claim(
        "parallel",
        &[0, 4],
        "the tables can be searched in parallel and the results merged",
        ["in parallel".to_owned(), format!("two threads answer {} times as many queries", number(one / two))],
        Verdict::Depends,
        "threads share the queries, not the tables: a lookup in one table takes less time than waking a thread.",
    );
    Ok(())
}

/// The smallest and the largest number of key bits.
fn key_bits(plan: &Plan) -> String {
    let bits = || plan.tables.iter().map(|table| table.mask.count_ones());
    let (least, most) = (bits().min().unwrap_or(0), bits().max().unwrap_or(0));
    if least == most { least.to_string() } else { format!("{least}–{most}") }
}

/// Builds the segment of a plan and looks the queries up, one at a time and in a batch.
fn measure(rows: &[u64], queries: &[u64], plan: &Plan) -> Result<Measured> {
    let clock = Instant::now();
    let segment = built::segment(rows, plan, Options::default())?;
    let build = clock.elapsed().as_secs_f64();
    let mut scratch = Scratch::default();
    let few = &queries[..queries.len().min(5000)];
    let clock = Instant::now();
    for &query in few {
        segment.lookup(query, K, &mut scratch, |_, _, _| ())?;
    }
    let single = clock.elapsed().as_secs_f64() / few.len() as f64;
    let mut found = vec![false; queries.len()];
    let clock = Instant::now();
    let stats = segment.lookup_batch(queries, K, &mut scratch, |query, _, _, distance| {
        found[query] |= distance == K;
    })?;
    let n = queries.len() as f64;
    let batch = clock.elapsed().as_secs_f64() / n;
    let by_keys = Lookups::of(&segment, Search::Binary, &queries[..queries.len().min(100)], K)?;
    Ok(Measured {
        whole_keys: by_keys.candidates,
        bytes: segment.bytes() as f64 / rows.len() as f64,
        build,
        probes: stats.probes as f64 / n,
        candidates: stats.candidates as f64 / n,
        single,
        batch,
        found: found.iter().filter(|found| **found).count() as f64 / n,
    })
}

fn claims(report: &mut Report, n: usize) {
    let of = |design: &str, figure: &str| report.numbers.get(&format!("{design} {figure}")).copied();
    let (Some(four), Some(four_bytes)) = (of("blocks:4", "candidates"), of("blocks:4", "bytes")) else {
        return;
    };
    let found = DESIGNS.iter().filter_map(|design| of(design, "found")).fold(1.0, f64::min);
    let other = [("blocks:6", "20 tables"), ("nested:4", "16 tables")]
        .into_iter()
        .find_map(|(design, name)| Some((name, of(design, "candidates")?, of(design, "bytes")?)));
    let (name, candidates, bytes) = other.unwrap_or(("no larger design", f64::NAN, f64::NAN));
    let figures = format!(
        "4 tables: {} candidates, {} bytes; {name}: {} candidates, {} bytes",
        number(four),
        number(four_bytes),
        number(candidates),
        number(bytes)
    );
    report.claim(
        "trade-off",
        &[0, 2, 4],
        "more tables have fewer candidates: space against time",
        ["more tables, fewer candidates".to_owned(), figures],
        Verdict::of(candidates < four && bytes > four_bytes),
        format!("at {} fingerprints; in memory two or three tables with some flipped bits beat both.", count(n as u64)),
    );
    report.claim(
        "all-found",
        &[0, 2, 4],
        "the tables find every fingerprint within distance 3",
        ["all".to_owned(), crate::figure::percent(found)],
        Verdict::of(found >= 1.0),
        "of the queries, each planted at distance 3 from a stored fingerprint, in every design.",
    );
    report.number("all found", found);
}

/// The expected candidates of a lookup by whole keys among 2³⁴ fingerprints, over the number of tables, as the documents
/// count them.
fn whole_keys() -> Result<Vec<(f64, f64)>> {
    let mut points = Vec::new();
    for design in ["blocks:4", "blocks:5", "nested:4", "blocks:6"] {
        let plan = design.parse::<Design>()?.plan(64, K)?;
        let candidates: f64 = plan.tables.iter().map(|table| 2f64.powi(34 - table.mask.count_ones() as i32)).sum();
        points.push((plan.tables.len() as f64, candidates.log10()));
    }
    Ok(points)
}

fn picture(measured: Vec<(f64, f64)>, whole_keys: Vec<(f64, f64)>) -> Picture {
    Picture {
        name: "designs",
        caption: "Candidates of a lookup over the number of tables".to_owned(),
        plot: Plot {
            title: "Candidates of a lookup over the number of tables".to_owned(),
            x: Axis::linear(bilingual("tables", "表数"), 0.0, 20.0, 4.0, 0),
            y: Axis::powers(bilingual("candidates of a lookup", "每次查询的候选数"), 0, 7),
            series: vec![
                Series {
                    name: bilingual("measured, addresses of log₂ n bits", "实测，log₂ n 位地址"),
                    points: measured,
                    dashed: false,
                },
                Series {
                    name: bilingual("documents: whole keys, 2³⁴ fingerprints", "文档：完整键，2³⁴ 个指纹"),
                    points: whole_keys,
                    dashed: true,
                },
            ],
            marks: Vec::new(),
        },
    }
}
