//! Line plots and heat maps as SVG, for pages.
//!
//! Colours are custom properties with a fallback, so a page's own palette (and its dark form) reaches them. Names are written in both
//! languages of the pages.

use std::fmt::Write as _;

/// Breadth of a plot, in its own units.
const WIDTH: f64 = 680.0;
/// Height of the field that is drawn in.
const FIELD: f64 = 250.0;
const LEFT: f64 = 68.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 14.0;
/// What axis and its name take below the field.
const BELOW: f64 = 46.0;
/// A line of the legend.
const LINE: f64 = 20.0;
/// Names in a line of the legend.
const ACROSS: usize = 2;

/// Strokes, in order of use.
const COLOURS: [&str; 8] = [
    "var(--kept,#1f7a63)",
    "var(--near,#d2552a)",
    "var(--link,#1b5fa8)",
    "var(--equal,#b97f16)",
    "var(--rejected,#7d6b9a)",
    "var(--soft,#5b616c)",
    "var(--own-ink,#7c2d0c)",
    "var(--ink,#1d2026)",
];
const INK: &str = "var(--soft,#5b616c)";
const GRID: &str = "var(--line,#dcd9cf)";

/// A name in English and Chinese.
pub(crate) type Name = [String; 2];

/// Both forms of a name.
pub(crate) fn name(english: &str, chinese: &str) -> Name {
    [english.to_owned(), chinese.to_owned()]
}

/// One direction of a plot.
pub(crate) struct Axis {
    pub(crate) name: Name,
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// Where lines of the grid are, and what they are called.
    pub(crate) ticks: Vec<(f64, String)>,
}

impl Axis {
    /// From `from` to `to`, a tick every `step`, written with so many decimals.
    pub(crate) fn linear(name: Name, from: f64, to: f64, step: f64, decimals: usize) -> Self {
        let n = ((to - from) / step + 1e-9) as usize;
        let tick = |i: usize| {
            let at = from + i as f64 * step;
            (at, format!("{at:.decimals$}"))
        };
        Self {
            name,
            from,
            to,
            ticks: (0..=n).map(tick).collect(),
        }
    }

    /// Powers of ten: positions are logarithms.
    pub(crate) fn powers(name: Name, from: i32, to: i32) -> Self {
        let tick = |power: i32| {
            let text = match power {
                -3..=6 => {
                    let decimals = usize::try_from(-power).unwrap_or(0);
                    format!("{:.decimals$}", 10f64.powi(power))
                }
                _ => format!("1e{power}"),
            };
            (f64::from(power), text)
        };
        Self {
            name,
            from: f64::from(from),
            to: f64::from(to),
            ticks: (from..=to).map(tick).collect(),
        }
    }

    fn share(&self, at: f64) -> f64 {
        ((at - self.from) / (self.to - self.from)).clamp(0.0, 1.0)
    }
}

/// A line of a plot.
pub(crate) struct Series {
    pub(crate) name: Name,
    pub(crate) points: Vec<(f64, f64)>,
    pub(crate) dashed: bool,
}

/// Lines over two axes.
pub(crate) struct Plot {
    /// What it shows, for those who do not see it.
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) series: Vec<Series>,
    /// Vertical lines with their names.
    pub(crate) marks: Vec<(f64, String)>,
}

impl Plot {
    /// The plot in both languages, for a page that hides one.
    pub(crate) fn both(&self) -> String {
        let mut svg = String::new();
        let rows = self.series.len().div_ceil(ACROSS) as f64;
        let height = TOP + FIELD + BELOW + rows * LINE;
        // Writing to a String cannot fail.
        let _ = (|| {
            open(&mut svg, height, &self.title)?;
            axes(&mut svg, &self.x, &self.y)?;
            for (at, label) in &self.marks {
                let x = across(&self.x, *at);
                let end = TOP + FIELD;
                write!(
                    svg,
                    "<path d=\"M{x:.1} {TOP}V{end}\" stroke=\"{INK}\" stroke-dasharray=\"3 3\"/>"
                )?;
                let y = TOP + 11.0;
                let (dx, anchor) = if self.x.share(*at) > 0.7 {
                    (-4, "end")
                } else {
                    (4, "start")
                };
                write!(
                    svg,
                    "<text x=\"{x:.1}\" y=\"{y}\" dx=\"{dx}\" text-anchor=\"{anchor}\" fill=\"{INK}\">{}</text>",
                    escape(label)
                )?;
            }
            for (i, series) in self.series.iter().enumerate() {
                let colour = COLOURS[i % COLOURS.len()];
                let dash = if series.dashed {
                    " stroke-dasharray=\"6 4\""
                } else {
                    ""
                };
                let points: Vec<String> = series
                    .points
                    .iter()
                    .map(|&(x, y)| format!("{:.1},{:.1}", across(&self.x, x), down(&self.y, y)))
                    .collect();
                write!(
                    svg,
                    "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dash} points=\"{}\"/>",
                    points.join(" ")
                )?;
                let left = LEFT + (i % ACROSS) as f64 * (WIDTH - LEFT) / ACROSS as f64;
                let y = TOP + FIELD + BELOW + (i / ACROSS) as f64 * LINE + 8.0;
                let (middle, end, text) = (y - 4.0, left + 24.0, left + 30.0);
                write!(
                    svg,
                    "<path d=\"M{left:.1} {middle}H{end:.1}\" stroke=\"{colour}\" stroke-width=\"2\"{dash}/>"
                )?;
                words(&mut svg, &series.name, &format!("x=\"{text:.1}\" y=\"{y}\""))?;
            }
            svg.write_str("</svg>")
        })();
        svg
    }
}

/// Counts over two axes: a cell's ink is the logarithm of its count.
pub(crate) struct Heat<'c> {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    /// Rows from the start of y, columns from the start of x; cells are one unit high and `breadth` wide.
    pub(crate) cells: &'c [Vec<u64>],
    pub(crate) breadth: f64,
}

impl Heat<'_> {
    /// The map in both languages.
    pub(crate) fn both(&self) -> String {
        let mut svg = String::new();
        let most = self.cells.iter().flatten().copied().max().unwrap_or(0).max(1);
        let _ = (|| {
            open(&mut svg, TOP + FIELD + BELOW, &self.title)?;
            axes(&mut svg, &self.x, &self.y)?;
            for (row, counts) in self.cells.iter().enumerate() {
                for (column, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                    let left = across(&self.x, column as f64 * self.breadth);
                    let right = across(&self.x, (column + 1) as f64 * self.breadth);
                    let (top, bottom) = (down(&self.y, row as f64 + 0.5), down(&self.y, row as f64 - 0.5));
                    let ink = 0.12 + 0.88 * (count as f64).ln_1p() / (most as f64).ln_1p();
                    write!(
                        svg,
                        "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\" fill-opacity=\"{ink:.2}\"><title>{count}</title></rect>",
                        (right - left).max(1.0),
                        (bottom - top).max(0.5),
                        COLOURS[0]
                    )?;
                }
            }
            svg.write_str("</svg>")
        })();
        svg
    }
}

fn across(axis: &Axis, at: f64) -> f64 {
    LEFT + axis.share(at) * (WIDTH - LEFT - RIGHT)
}

fn down(axis: &Axis, at: f64) -> f64 {
    TOP + (1.0 - axis.share(at)) * FIELD
}

fn open(svg: &mut String, height: f64, title: &str) -> std::fmt::Result {
    write!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" font-family=\"system-ui,sans-serif\" font-size=\"12\"><title>{}</title>",
        escape(title)
    )
}

fn axes(svg: &mut String, x: &Axis, y: &Axis) -> std::fmt::Result {
    let (right, bottom) = (WIDTH - RIGHT, TOP + FIELD);
    for (at, label) in &y.ticks {
        let at = down(y, *at);
        write!(
            svg,
            "<path d=\"M{LEFT} {at:.1}H{right}\" stroke=\"{GRID}\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"{INK}\">{}</text>",
            LEFT - 6.0,
            at + 4.0,
            escape(label)
        )?;
    }
    for (at, label) in &x.ticks {
        let at = across(x, *at);
        write!(
            svg,
            "<path d=\"M{at:.1} {bottom}v4\" stroke=\"{INK}\"/><text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\" fill=\"{INK}\">{}</text>",
            bottom + 17.0,
            escape(label)
        )?;
    }
    let place = format!(
        "x=\"{}\" y=\"{}\" text-anchor=\"middle\"",
        f64::midpoint(LEFT, right),
        bottom + 35.0
    );
    words(svg, &x.name, &place)?;
    let middle = TOP + FIELD / 2.0;
    words(
        svg,
        &y.name,
        &format!("transform=\"translate(14 {middle}) rotate(-90)\" text-anchor=\"middle\""),
    )
}

/// A name in each of the languages.
fn words(svg: &mut String, name: &Name, place: &str) -> std::fmt::Result {
    for (language, text) in ["en", "zh-Hans"].iter().zip(name) {
        write!(
            svg,
            "<text lang=\"{language}\" {place} fill=\"{INK}\">{}</text>",
            escape(text)
        )?;
    }
    Ok(())
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_holds_its_lines_within_its_field_and_escapes_names() {
        let plot = Plot {
            title: "a < b".to_owned(),
            x: Axis::linear(name("k", "k"), 0.0, 10.0, 5.0, 0),
            y: Axis::powers(name("n", "n"), -2, 1),
            series: vec![Series {
                name: name("<one>", "一"),
                points: vec![(0.0, -9.0), (10.0, 9.0)],
                dashed: true,
            }],
            marks: vec![(5.0, "here".to_owned())],
        };
        let svg = plot.both();
        assert!(svg.contains("&lt;one>") && svg.contains("一") && svg.contains("a &lt; b"));
        assert!(svg.contains("points=\"68.0,264.0 664.0,14.0\""), "{svg}");
        assert!(svg.contains(">0.01<") && svg.contains(">10<"));
    }
}
