//! Online and batch: lookups in tables over the stored fingerprints, and one scan of them against tables over the new
//! ones.

use std::time::Instant;

use anyhow::Result;
use twinprint_eval::plot::{Axis, Plot, Series, bilingual};
use twinprint_index::join::ChunkJoin;
use twinprint_index::{Plan, Tables};

use crate::figure::{bytes, count, seconds};
use crate::random::Random;
use crate::{Picture, Report, Setup, Table, Verdict};

const K: u32 = 3;
/// The stored fingerprints are joined in chunks of this number.
const CHUNK: usize = 1 << 20;

/// A pair of a new and a stored fingerprint.
type FoundPair = (u32, u32);

/// Runs the experiment.
pub(crate) fn run(setup: &Setup) -> Result<Report> {
    let mut report = Report::default();
    let mut random = Random::new(setup.seed);
    let stored = random.rows(setup.rows(20_000, 10_000_000));
    let n = stored.len();
    let batches = setup.pick(vec![10, 1000], vec![100, 1000, 10_000, 100_000, 1_000_000]);
    let new: Vec<u64> = (0..batches.last().copied().unwrap_or(0))
        .map(|i| if i % 2 == 0 { stored[random.below(n)] ^ random.flips(i as u32 / 2 % 4) } else { random.bits() })
        .collect();
    let tables = Tables::build(&stored, &Plan::halves(64, K)?)?;
    let mut table = Table::new(
        format!("{} stored fingerprints, k = {K}, one thread: lookups in tables over the stored ones, and a scan of the stored ones against tables over the new ones", count(n as u64)),
        ["new fingerprints", "online", "batch", "matches", "memory of the online tables"],
    );
    let (mut online_points, mut batch_points) = (Vec::new(), Vec::new());
    let (mut equal, mut crossing) = (true, None);
    for &batch in &batches {
        let new = &new[..batch];
        let clock = Instant::now();
        let mut by_lookups: Vec<FoundPair> = Vec::new();
        let mut found = Vec::new();
        for (&query, i) in new.iter().zip(0..) {
            tables.lookup(query, K, &mut found);
            by_lookups.extend(found.iter().map(|m| (i, m.id)));
        }
        let online = clock.elapsed().as_secs_f64();
        let clock = Instant::now();
        let mut by_scan: Vec<FoundPair> = Vec::new();
        let mut join = ChunkJoin::new(new, CHUNK, K)?;
        for (chunk, first) in stored.chunks(CHUNK).zip((0..).step_by(CHUNK)) {
            join.join(chunk, |pair| by_scan.push((pair.a, first + pair.b)));
        }
        by_scan.sort_unstable();
        let scanned = clock.elapsed().as_secs_f64();
        by_lookups.sort_unstable();
        equal &= by_lookups == by_scan;
        if crossing.is_none() && scanned < online {
            crossing = Some(batch);
        }
        online_points.push(((batch as f64).log10(), online.log10()));
        batch_points.push(((batch as f64).log10(), scanned.log10()));
        table.push([
            count(batch as u64),
            seconds(online),
            seconds(scanned),
            count(by_scan.len() as u64),
            bytes(tables.bytes() as f64),
        ]);
    }
    report.tables.push(table);
    report.number("equal", f64::from(u8::from(equal)));
    let crossed = crossing.map_or_else(
        || format!("lookups are faster up to {} new ones", count(batches.last().copied().unwrap_or(0) as u64)),
        |batch| format!("the batch job is faster from {} new ones", count(batch as u64)),
    );
    report.claim(
        "crossing",
        &[4],
        "single pages are looked up online; a day's million is a batch, with tables over the batch and one scan of the stored ones",
        ["batch for 10⁶".to_owned(), format!("{crossed}, at {} stored", count(n as u64))],
        Verdict::Depends,
        "the batch job also needs no tables over the stored fingerprints.",
    );
    report.claim(
        "sorted-result",
        &[4],
        "the results of all chunks, merged, sorted and without duplicates, are those of the lookups",
        ["the same".to_owned(), if equal { "the same pairs" } else { "different pairs" }.to_owned()],
        Verdict::of(equal),
        "a join emits each pair once, so nothing has to be removed.",
    );
    let powers = |least: f64, most: f64| (least.floor() as i32, most.ceil() as i32);
    let times = || online_points.iter().chain(&batch_points).map(|point| point.1);
    let (low, high) = powers(times().fold(0.0, f64::min), times().fold(0.0, f64::max));
    let last = powers(0.0, (batches.last().copied().unwrap_or(10) as f64).log10()).1;
    report.pictures.push(Picture {
        name: "batch",
        caption: "Time of lookups and of one scan over the number of new fingerprints".to_owned(),
        plot: Plot {
            title: "Online and batch over the number of new fingerprints".to_owned(),
            x: Axis::powers(bilingual("new fingerprints", "新指纹数"), 1, last),
            y: Axis::powers(bilingual("seconds", "秒"), low, high.max(low + 1)),
            series: vec![
                Series { name: bilingual("online: lookups", "在线：逐个查询"), points: online_points, dashed: false },
                Series { name: bilingual("batch: one scan", "批处理：一次扫描"), points: batch_points, dashed: false },
            ],
            marks: Vec::new(),
        },
    });
    Ok(report)
}
