//! Draws the cost per document of a growing stream, from the tables that the benchmark `stream` of the crate
//! `twinprint` prints.

use std::path::PathBuf;

use anyhow::Context;
use bench::figure::{Limit, Panel, Scale, draw};
use clap::Parser;

#[derive(Parser)]
#[command(about = "Cost of a document of a stream, live clusters and memory as the stream grows")]
struct Cli {
    /// Tables to draw, as NAME=FILE. FILE has the output of the benchmark `stream`.
    #[arg(required = true, value_name = "NAME=FILE")]
    tables: Vec<String>,
    /// File to write the figure to.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

/// A row of a table: documents, microseconds per document, groups, stories, megabytes.
type Row = [f64; 5];

/// Returns the rows of a table for at least ten thousand documents.
fn rows(path: &str) -> anyhow::Result<Vec<Row>> {
    let text = std::fs::read_to_string(path).with_context(|| path.to_owned())?;
    let mut rows = Vec::new();
    for line in text.lines().skip(1) {
        let numbers: Vec<f64> = line
            .split('\t')
            .map(str::parse)
            .collect::<Result<_, _>>()
            .with_context(|| format!("{path}: {line}"))?;
        let row: Row = numbers
            .try_into()
            .ok()
            .with_context(|| format!("{path}: {line}"))?;
        rows.extend((row[0] >= 1e4).then_some(row));
    }
    Ok(rows)
}

fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    let (mut names, mut tables) = (Vec::new(), Vec::new());
    for table in &cli.tables {
        let (name, path) = table.split_once('=').context("give NAME=FILE")?;
        names.push(name.to_owned());
        tables.push(rows(path)?);
    }
    let lines = |column: usize| -> Vec<Vec<(f64, f64)>> {
        let line = |rows: &Vec<Row>| rows.iter().map(|row| (row[0], row[column])).collect();
        tables.iter().map(line).collect()
    };
    let (costs, groups, memory) = (lines(1), lines(2), lines(4));
    let most = |lines: &[Vec<(f64, f64)>]| lines.iter().flatten().map(|point| point.1).fold(1.0, f64::max);
    // The limit is twice the cost in the first row of the cheapest table.
    let first = costs.iter().filter_map(|line| line.first());
    let least = first.map(|point| point.1).fold(f64::INFINITY, f64::min);
    let panel = |title, lines: Vec<Vec<(f64, f64)>>, limit| {
        let step = nice(most(&lines) / 3.0);
        let marks = (0..=4).map(|i| (step * f64::from(i), format!("{}", step * f64::from(i))));
        Panel {
            title,
            scale: Scale::Linear(0.0, step * 4.0),
            ticks: marks.collect(),
            limit,
            lines,
        }
    };
    let none = || Limit {
        points: Vec::new(),
        name: "",
        upper: true,
    };
    let limit = Limit {
        points: vec![(1e4, 2.0 * least), (1e6, 2.0 * least)],
        name: "twice the lowest at 10⁴",
        upper: true,
    };
    let thousand = |lines: Vec<Vec<(f64, f64)>>| -> Vec<Vec<(f64, f64)>> {
        let scaled = |line: Vec<(f64, f64)>| line.into_iter().map(|(n, value)| (n, value / 1e3)).collect();
        lines.into_iter().map(scaled).collect()
    };
    let panels = [
        panel("Processor time a document, µs", costs, limit),
        panel("Live groups, thousands", thousand(groups), none()),
        panel("Peak memory, MB", memory, none()),
    ];
    let marks = [(1e4, "10⁴"), (1e5, "10⁵"), (1e6, "10⁶")].map(|(n, name)| (n, name.to_owned()));
    std::fs::write(&cli.output, draw(&panels, &names, &marks))?;
    Ok(())
}

/// Returns the smallest number of the series 1, 2, 5, 10, … that is not below the value.
fn nice(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|factor| power * factor >= value);
    power * factor.unwrap_or(10.0)
}
