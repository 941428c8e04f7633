//! `report.md`: the report for a terminal, in English.

use askama::Template;

use super::chart::{Chart, Column};
use super::difference::{ExcerptPiece, LazyDifference, PieceKind, TextDifference};
use super::page;
use super::shown::Differences;
use twinprint_io::number::{bytes, count, percent, seconds, towards_zero};
use twinprint_io::page::{filters, ticked};
use twinprint_io::results::{PairReport, Report, StageReport};
use twinprint_io::results::{PartsReport, RadiusChoice, RecallReport};

/// The length of the longest bar, in characters.
const MAX_BAR_CHARS: usize = 44;

#[derive(Template)]
#[template(path = "report.md")]
struct MarkdownReport<'r> {
    report: &'r Report,
    flow: Vec<String>,
    jaccards: Vec<String>,
    distances: Vec<String>,
    sizes: Vec<String>,
    doubtful: Vec<String>,
    misses: Vec<String>,
    skipped: Vec<(&'r str, u64)>,
    funnel: Vec<String>,
    stage_heads: String,
    stages: Vec<String>,
}

impl MarkdownReport<'_> {
    fn documents(&self) -> u64 {
        self.report.records.kept + self.report.records.removed
    }
}

/// Renders the report as Markdown.
pub(super) fn text(report: &Report, differences: &Differences) -> String {
    let charts = page::charts(report);
    let text = MarkdownReport {
        report,
        flow: flow(report),
        jaccards: charts.jaccards.as_ref().map(bars).unwrap_or_default(),
        distances: bars(&charts.distances),
        sizes: bars(&charts.sizes),
        doubtful: pairs(&report.doubtful, &differences.doubtful),
        misses: pairs(&report.closest_misses, &differences.closest_misses),
        skipped: page::skipped(report),
        funnel: page::funnel(report)
            .iter()
            .map(|step| format!("{:>14}  {}", count(step.count), step.names[0]))
            .collect(),
        stage_heads: row(&["stage", "time", "CPU time", "read", "written", "memory"].map(str::to_owned)),
        stages: report.run.stages.iter().map(stage).collect(),
    };
    // Rendering into a string cannot fail: none of the filters of the template returns an error.
    text.render().unwrap_or_default()
}

fn flow(report: &Report) -> Vec<String> {
    let records = &report.records;
    let line = |name: &str, n: u64| {
        let bar = bar(n, records.read, '█');
        format!(
            "{name:<20} {:>12}  {:>8}  {bar}",
            count(n),
            percent(n, records.read)
        )
    };
    let mut lines = vec![
        line("read", records.read),
        line("kept", records.kept),
        line("near-duplicates", records.removed_near()),
        line(
            if report.threshold.is_some() {
                "of equal text"
            } else {
                "of equal fingerprint"
            },
            records.removed_equal,
        ),
    ];
    if records.removed_known > 0 {
        lines.push(line("known from before", records.removed_known));
    }
    if records.removed_empty > 0 {
        lines.push(line("without words", records.removed_empty));
    }
    lines.push(line("rejected", records.rejected));
    lines
}

/// Makes a bar of the character `symbol`, whose length is in proportion to `n`. It has at least one character unless
/// `n` is 0.
fn bar(n: u64, most: u64, symbol: char) -> String {
    let length = (MAX_BAR_CHARS as f64 * n as f64 / most.max(1) as f64).round() as usize;
    std::iter::repeat_n(symbol, length.max(usize::from(n > 0))).collect()
}

fn bars(chart: &Chart) -> Vec<String> {
    let columns: Vec<&Column> = chart.bars.iter().map(|bar| &bar.column).collect();
    let most = columns.iter().map(|column| column.value).max().unwrap_or(0);
    if most == 0 {
        return Vec::new();
    }
    let line = |column: &&Column| {
        let bar = bar(column.value, most, if column.missed { '░' } else { '█' });
        format!("{:>11}  {bar} {}", column.label, count(column.value))
    };
    columns.iter().map(line).collect()
}

fn pairs(pairs: &[PairReport], sides: &[LazyDifference]) -> Vec<String> {
    let sides = sides
        .iter()
        .map(|sides| Some(&**sides))
        .chain(std::iter::repeat(None));
    pairs
        .iter()
        .zip(sides)
        .map(|(pair, sides)| compared(pair, sides))
        .collect()
}

fn compared(pair: &PairReport, sides: Option<&TextDifference>) -> String {
    let jaccard = pair.jaccard.map_or_else(String::new, |jaccard| {
        format!("Jaccard {}, ", towards_zero(jaccard, 3))
    });
    let mut text = format!(
        "* {jaccard}distance {}: {} and {}\n",
        pair.hamming,
        ticked(&pair.a.id),
        ticked(&pair.b.id)
    );
    if let Some(sides) = sides {
        for side in [&sides.a, &sides.b] {
            text += "\n      ";
            text += &marked(side);
            text.push('\n');
        }
    }
    text.push('\n');
    text
}

fn marked(pieces: &[ExcerptPiece]) -> String {
    let mut text = String::new();
    for piece in pieces {
        match piece.kind {
            PieceKind::Same => text += &piece.text,
            PieceKind::Gap => text += " … ",
            PieceKind::Own => {
                let own = piece.text.trim_end();
                let space = piece.text.get(own.len()..).unwrap_or_default();
                text.extend(["[", own, "]", space]);
            }
        }
    }
    text
}

fn row(cells: &[String; 6]) -> String {
    let [name, rest @ ..] = cells;
    let rest: Vec<String> = rest.iter().map(|cell| format!("{cell:>11}")).collect();
    format!("{name:<8}{}", rest.concat())
}

fn stage(stage: &StageReport) -> String {
    let shown_bytes = |n: Option<u64>| n.map_or_else(String::new, bytes);
    row(&[
        stage.name.clone(),
        seconds(stage.seconds),
        stage.cpu_seconds.map_or_else(String::new, seconds),
        shown_bytes(stage.read_bytes),
        shown_bytes(stage.written_bytes),
        shown_bytes(stage.peak_memory_bytes),
    ])
}
