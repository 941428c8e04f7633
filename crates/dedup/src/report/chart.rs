//! Column charts as SVG of any width. Horizontal positions are in per cent and vertical ones in pixels, so that text
//! keeps its size.

use std::collections::BTreeMap;

use twinprint_io::number::count;

/// The distance between the highest and the lowest grid line, in pixels.
const PLOT_PX: f64 = 150.0;
/// The height of the space above the highest grid line, in pixels. The name of the vertical line is there.
const TOP_MARGIN_PX: f64 = 26.0;
/// The largest number of columns with which each column has its value above it.
const MAX_VALUED_COLUMNS: usize = 12;
/// The largest number of names below the columns.
const MAX_TICKS: usize = 7;

/// One column of a chart.
#[derive(Clone, Debug, Default)]
pub(super) struct Column {
    /// The full name of the column.
    pub(super) label: String,
    /// The name below the column; empty for a column without a name.
    pub(super) tick: String,
    pub(super) value: u64,
    /// True if the column counts near misses.
    pub(super) missed: bool,
}

/// The bar of a column.
pub(super) struct ChartBar {
    pub(super) x: String,
    pub(super) width: String,
    pub(super) y: String,
    pub(super) height: String,
    /// The horizontal middle of the bar, in per cent.
    pub(super) middle: String,
    /// The value above the bar; empty if the chart has too many columns for values.
    pub(super) value: String,
    pub(super) column: Column,
}

/// A grid line or a name, with its position.
pub(super) struct ChartLabel {
    pub(super) at: String,
    pub(super) label: String,
}

/// A chart with the positions of its parts.
pub(super) struct Chart {
    pub(super) bars: Vec<ChartBar>,
    /// The names below the columns.
    pub(super) ticks: Vec<ChartLabel>,
    /// The horizontal lines from the top, with their values.
    pub(super) grid: Vec<ChartLabel>,
    /// The vertical line with its name, in per cent from the left.
    pub(super) mark: Option<ChartLabel>,
    pub(super) height: f64,
    /// The vertical position, in pixels, of the baseline of the names below the columns.
    pub(super) below: f64,
    /// The vertical position of the lowest grid line, in pixels.
    pub(super) base: f64,
}

impl Chart {
    /// Makes a chart of columns side by side. `mark` is the position of a vertical line, in columns from the left, and
    /// its name.
    pub(super) fn of(columns: Vec<Column>, mark: Option<(f64, String)>) -> Self {
        let n = columns.len().max(1);
        let most = columns.iter().map(|column| column.value).max().unwrap_or(0);
        let top = round_up(most);
        let slot = 100.0 / n as f64;
        let base = TOP_MARGIN_PX + PLOT_PX;
        let every = n.div_ceil(MAX_TICKS);
        let place = |at: f64| format!("{at:.3}%");
        let ticks = columns.iter().enumerate().filter(|(i, column)| {
            !column.tick.is_empty()
                && (columns.iter().filter(|c| !c.tick.is_empty()).count() <= MAX_VALUED_COLUMNS
                    || i % every == 0)
        });
        let ticks = ticks
            .map(|(i, column)| ChartLabel {
                at: place((i as f64 + 0.5) * slot),
                label: column.tick.clone(),
            })
            .collect();
        let bar = |(i, column): (usize, Column)| {
            let share = column.value as f64 / top as f64;
            // A column with a value above 0 is always visible.
            let height = if column.value > 0 {
                (share * PLOT_PX).max(1.5)
            } else {
                0.0
            };
            ChartBar {
                x: place((i as f64 + 0.1) * slot),
                width: place(0.8 * slot),
                y: format!("{:.1}", base - height),
                height: format!("{height:.1}"),
                middle: place((i as f64 + 0.5) * slot),
                value: if n <= MAX_VALUED_COLUMNS && column.value > 0 {
                    count(column.value)
                } else {
                    String::new()
                },
                column,
            }
        };
        let line = |share: f64, value: u64| ChartLabel {
            at: format!("{:.1}", base - share * PLOT_PX),
            label: count(value),
        };
        let mut grid = vec![line(1.0, top), line(0.0, 0)];
        if top.is_multiple_of(2) {
            grid.insert(1, line(0.5, top / 2));
        }
        Self {
            ticks,
            bars: columns.into_iter().enumerate().map(bar).collect(),
            grid,
            mark: mark.map(|(at, label)| ChartLabel {
                at: place(at * slot),
                label,
            }),
            height: base + 24.0,
            below: base + 17.0,
            base,
        }
    }

    /// The chart of removed documents by Hamming distance. `distances` leaves out documents of equal text; `k` is the
    /// radius.
    pub(super) fn of_distances(distances: &BTreeMap<u32, u64>, k: u32) -> Self {
        let last = distances.keys().next_back().copied().unwrap_or(0).max(k).min(128);
        let column = |distance: u32| Column {
            label: distance.to_string(),
            tick: distance.to_string(),
            value: distances.get(&distance).copied().unwrap_or(0),
            missed: false,
        };
        // The vertical line is right of the column of the radius. The pairs beyond it were found by the set join.
        let mark = (last > k).then(|| (f64::from(k) + 1.0, k.to_string()));
        Self::of((0..=last).map(column).collect(), mark)
    }

    /// The chart of removed documents and near misses by Jaccard, in bands of two per cent.
    pub(super) fn of_jaccards(
        jaccards: &BTreeMap<u32, u64>,
        misses: &BTreeMap<u32, u64>,
        threshold: f64,
    ) -> Self {
        let first = (threshold * 50.0 + 1e-9).floor() as u32 * 2;
        let first = misses.keys().next().copied().unwrap_or(first).min(first) / 10 * 10;
        let column = |band: u32| {
            let (found, missed) = (
                jaccards.get(&band).copied().unwrap_or(0),
                misses.get(&band).copied().unwrap_or(0),
            );
            let below = f64::from(band + 2) / 100.0 <= threshold + 1e-9;
            let end = if band < 100 {
                format!("–{:.2}", f64::from(band + 2) / 100.0)
            } else {
                String::new()
            };
            Column {
                label: format!("{:.2}{end}", f64::from(band) / 100.0),
                tick: if band.is_multiple_of(10) {
                    format!("{}", f64::from(band) / 100.0)
                } else {
                    String::new()
                },
                value: if below { missed } else { found },
                missed: below,
            }
        };
        let columns: Vec<Column> = (first..=100).step_by(2).map(column).collect();
        let at = (threshold * 100.0 - f64::from(first)) / 2.0;
        Self::of(columns, Some((at, format!("{threshold}"))))
    }

    /// The chart of groups by size: a column for each small size, and one for each range of larger sizes.
    pub(super) fn of_sizes(sizes: &BTreeMap<u32, u64>) -> Self {
        const STEPS: [(u32, u32); 11] = [
            (2, 2),
            (3, 3),
            (4, 4),
            (5, 9),
            (10, 19),
            (20, 49),
            (50, 99),
            (100, 999),
            (1000, 9999),
            (10_000, 99_999),
            (100_000, u32::MAX),
        ];
        let largest = sizes.keys().next_back().copied().unwrap_or(0);
        let column = |&(from, to): &(u32, u32)| {
            let short = |n: u32| {
                if n >= 1000 {
                    format!("{}k", n / 1000)
                } else {
                    n.to_string()
                }
            };
            let label = match (from, to) {
                (from, to) if from == to => from.to_string(),
                (from, u32::MAX) => format!("{}+", count(u64::from(from))),
                (from, to) => format!("{}–{}", count(u64::from(from)), count(u64::from(to))),
            };
            Column {
                tick: if from == to {
                    from.to_string()
                } else {
                    format!("{}+", short(from))
                },
                label,
                value: sizes.range(from..=to).map(|(_, n)| n).sum(),
                missed: false,
            }
        };
        let used = STEPS.iter().filter(|step| step.0 <= largest.max(4));
        Self::of(used.map(column).collect(), None)
    }

    /// True if all columns have the value 0.
    pub(super) fn is_empty(&self) -> bool {
        self.bars.iter().all(|bar| bar.column.value == 0)
    }
}

/// Rounds up to the next number that is written as 1, 2, 4, 5, 6 or 8 followed by zeros.
fn round_up(most: u64) -> u64 {
    let mut unit = 1u64;
    loop {
        for step in [1, 2, 4, 5, 6, 8] {
            let round = unit.saturating_mul(step);
            if round >= most || round == u64::MAX {
                return round;
            }
        }
        unit = unit.saturating_mul(10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_the_counts_of_their_ranges() {
        let chart = Chart::of_sizes(&BTreeMap::from([(2, 7), (3, 1), (11, 2), (13, 4), (200, 1)]));
        let shown: Vec<_> = chart
            .bars
            .iter()
            .map(|bar| (bar.column.label.as_str(), bar.column.value))
            .collect();
        assert_eq!(
            shown,
            [
                ("2", 7),
                ("3", 1),
                ("4", 0),
                ("5–9", 0),
                ("10–19", 6),
                ("20–49", 0),
                ("50–99", 0),
                ("100–999", 1)
            ]
        );
        let chart = Chart::of_jaccards(
            &BTreeMap::from([(80, 3), (100, 1)]),
            &BTreeMap::from([(78, 9)]),
            0.8,
        );
        let shown: Vec<_> = chart.bars.iter().filter(|bar| bar.column.value > 0).collect();
        let shown: Vec<_> = shown
            .iter()
            .map(|bar| (bar.column.label.as_str(), bar.column.missed))
            .collect();
        assert_eq!(
            shown,
            [("0.78–0.80", true), ("0.80–0.82", false), ("1.00", false)]
        );
        let chart = Chart::of_distances(&BTreeMap::from([(3, 3), (30, 1)]), 24);
        assert_eq!((chart.bars.len(), chart.mark.is_some()), (31, true));
        assert!(Chart::of(Vec::new(), None).is_empty());
    }

    #[test]
    fn the_maximum_of_the_axis_is_a_round_number() {
        assert_eq!(
            [0, 1, 3, 7, 99, 101, 641].map(round_up),
            [1, 1, 4, 8, 100, 200, 800]
        );
        assert!(round_up(u64::MAX) == u64::MAX);
    }
}
