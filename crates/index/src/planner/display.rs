//! The table of the plans that the planner compared.

use std::fmt;

use super::{Alternative, ExpectedLookup, PlanChoice};

/// The titles of the columns after the name of a plan. Those of the work of a lookup are left out for a join.
const TITLES: [&str; 9] = [
    "tables",
    "key bits",
    "probes",
    "candidates",
    "read",
    "index",
    "cost",
    "missed",
    "verdict",
];
/// The columns of the work of a lookup.
const LOOKUP_COLUMNS: [usize; 5] = [1, 2, 3, 4, 7];

impl<P> fmt::Display for PlanChoice<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lookups = self.alternatives.iter().any(|a| a.lookup.is_some());
        let shown = |column: &usize| lookups || !LOOKUP_COLUMNS.contains(column);
        let rows: Vec<[String; 9]> = std::iter::once(TITLES.map(str::to_owned))
            .chain(self.alternatives.iter().map(columns))
            .collect();
        let names: Vec<&str> = std::iter::once("plan")
            .chain(self.alternatives.iter().map(|a| a.name.as_str()))
            .collect();
        let width =
            |texts: &mut dyn Iterator<Item = &str>| texts.map(|t| t.chars().count()).max().unwrap_or(0);
        let name_width = width(&mut names.iter().copied());
        for (name, row) in names.iter().zip(&rows) {
            write!(f, "{name:name_width$}")?;
            let verdict = TITLES.len() - 1;
            for column in (0..verdict).filter(shown) {
                let width = width(&mut rows.iter().map(|row| row[column].as_str()));
                write!(f, "  {:>width$}", row[column])?;
            }
            writeln!(f, "  {}", row[verdict])?;
        }
        Ok(())
    }
}

fn columns(a: &Alternative) -> [String; 9] {
    let of = |text: &dyn Fn(&ExpectedLookup) -> String| a.lookup.as_ref().map_or_else(String::new, text);
    [
        a.tables.to_string(),
        of(&|lookup| match lookup.key_bits {
            (shortest, longest) if shortest == longest => shortest.to_string(),
            (shortest, longest) => format!("{shortest}-{longest}"),
        }),
        of(&|lookup| number(lookup.probes)),
        of(&|lookup| number(lookup.candidates)),
        of(&|lookup| memory(lookup.bytes)),
        memory(a.bytes),
        duration(a.cost),
        of(&|lookup| match lookup.missed {
            0.0 => "exact".to_owned(),
            missed => format!("{:.3} %", 100.0 * missed),
        }),
        a.verdict.clone(),
    ]
}

/// A number with about three digits.
fn number(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        ..0.01 => format!("{value:.1e}"),
        ..10.0 => format!("{value:.2}"),
        ..100_000.0 => format!("{value:.0}"),
        _ => format!("{value:.2e}"),
    }
}

fn scaled(value: f64, units: [&str; 4]) -> String {
    let step = (0..3).find(|&i| value < 1000f64.powi(i + 1)).unwrap_or(3);
    format!("{:.3} {}", value / 1000f64.powi(step), units[step as usize])
}

pub(super) fn duration(ns: f64) -> String {
    scaled(ns, ["ns", "µs", "ms", "s"])
}

pub(super) fn memory(bytes: f64) -> String {
    scaled(bytes, ["B", "kB", "MB", "GB"])
}
