//! Line plots and heat maps as SVG, for pages and as files.
//!
//! Colours are CSS custom properties with a fallback, so that the light or dark palette of a page applies to plots.
//! In a page, texts are written in both languages, and the page hides one of them. A file has English texts only.
//!
//! ```
//! use twinprint_eval::plot::{Axis, Plot, Series, bilingual};
//!
//! let plot = Plot {
//!     title: "recall over the radius".to_owned(),
//!     x: Axis::linear(bilingual("radius k", "半径 k"), 0.0, 2.0, 1.0, 0),
//!     y: Axis::linear(bilingual("recall", "召回率"), 0.0, 1.0, 0.5, 1),
//!     series: vec![Series {
//!         name: bilingual("64 bits", "64 位"),
//!         points: vec![(0.0, 0.5), (1.0, 0.7), (2.0, 0.8)],
//!         dashed: false,
//!     }],
//!     marks: Vec::new(),
//! };
//! assert!(plot.svg().contains("召回率"));
//! assert!(!plot.standalone().contains("召回率"));
//! ```

use std::fmt::Write as _;

/// The width of a plot, in SVG units.
const WIDTH: f64 = 680.0;
/// The height of the area between the axes, in SVG units.
const AREA_HEIGHT: f64 = 250.0;
const LEFT_MARGIN: f64 = 68.0;
const RIGHT_MARGIN: f64 = 16.0;
const TOP_MARGIN: f64 = 14.0;
/// The height of the x axis with its labels and name, in SVG units.
const AXIS_HEIGHT: f64 = 46.0;
/// The height of one line of the legend, in SVG units.
const LEGEND_LINE: f64 = 20.0;
/// The number of names in one line of the legend.
const LEGEND_COLUMNS: usize = 2;

/// The stroke colours of series, in order of use.
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
const TEXT_COLOUR: &str = "var(--soft,#5b616c)";
const GRID_COLOUR: &str = "var(--line,#dcd9cf)";

/// The place where a plot is shown.
#[derive(Clone, Copy)]
enum Place {
    /// A page, which has a background and hides one of the languages.
    Page,
    /// A file of its own.
    File,
}

/// A text in English and in Chinese.
pub type Bilingual = [String; 2];

/// A plot as SVG, with its caption.
pub(crate) struct Figure {
    pub(crate) svg: String,
    pub(crate) caption: Bilingual,
}

/// A labelled position on an axis, in the units of the axis.
#[derive(Clone, Debug)]
pub struct Tick {
    /// The position, in the units of the axis.
    pub position: f64,
    /// The label.
    pub label: String,
}

/// Makes a bilingual text.
pub fn bilingual(english: &str, chinese: &str) -> Bilingual {
    [english.to_owned(), chinese.to_owned()]
}

/// An axis of a plot.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The quantity and its unit.
    pub name: Bilingual,
    /// The value at the low end.
    pub from: f64,
    /// The value at the high end.
    pub to: f64,
    /// The labelled positions of the axis.
    pub ticks: Vec<Tick>,
}

impl Axis {
    /// Makes a linear axis with a tick every `step`, labelled with `decimals` decimals.
    pub fn linear(name: Bilingual, from: f64, to: f64, step: f64, decimals: usize) -> Self {
        let n = ((to - from) / step + 1e-9) as usize;
        let tick = |i: usize| {
            let position = from + i as f64 * step;
            Tick {
                position,
                label: format!("{position:.decimals$}"),
            }
        };
        Self {
            name,
            from,
            to,
            ticks: (0..=n).map(tick).collect(),
        }
    }

    /// Makes a logarithmic axis with ticks at powers of ten. Positions on the axis are decimal logarithms.
    pub fn powers(name: Bilingual, from: i32, to: i32) -> Self {
        let tick = |power: i32| {
            let label = match power {
                -3..=6 => {
                    let decimals = usize::try_from(-power).unwrap_or(0);
                    format!("{:.decimals$}", 10f64.powi(power))
                }
                _ => format!("1e{power}"),
            };
            Tick {
                position: f64::from(power),
                label,
            }
        };
        Self {
            name,
            from: f64::from(from),
            to: f64::from(to),
            ticks: (from..=to).map(tick).collect(),
        }
    }

    /// Converts a position to a share of the length of the axis.
    fn share(&self, at: f64) -> f64 {
        ((at - self.from) / (self.to - self.from)).clamp(0.0, 1.0)
    }
}

/// A line of a plot, which connects `points` of x and y.
#[derive(Clone, Debug)]
pub struct Series {
    /// The name in the legend.
    pub name: Bilingual,
    /// The points of the line, as x and y.
    pub points: Vec<(f64, f64)>,
    /// True if the line is dashed.
    pub dashed: bool,
}

/// A line plot.
#[derive(Clone, Debug)]
pub struct Plot {
    /// A description of the plot, for screen readers.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The lines.
    pub series: Vec<Series>,
    /// Vertical lines of the plot, with their labels.
    pub marks: Vec<Tick>,
}

impl Plot {
    /// Renders the plot as SVG inside a page, in both languages.
    pub fn svg(&self) -> String {
        self.render(Place::Page)
    }

    /// Renders the plot as an SVG file of its own: in English, on white.
    pub fn standalone(&self) -> String {
        self.render(Place::File)
    }

    fn render(&self, place: Place) -> String {
        let mut svg = String::new();
        let rows = self.series.len().div_ceil(LEGEND_COLUMNS) as f64;
        let height = TOP_MARGIN + AREA_HEIGHT + AXIS_HEIGHT + rows * LEGEND_LINE;
        // Writing to a String cannot fail.
        let _ = (|| {
            open(&mut svg, height, &self.title, place)?;
            axes(&mut svg, &self.x, &self.y, place)?;
            for Tick { position, label } in &self.marks {
                let x = x_of(&self.x, *position);
                let end = TOP_MARGIN + AREA_HEIGHT;
                write!(
                    svg,
                    "<path d=\"M{x:.1} {TOP_MARGIN}V{end}\" stroke=\"{TEXT_COLOUR}\" stroke-dasharray=\"3 3\"/>"
                )?;
                let y = TOP_MARGIN + 11.0;
                let (dx, anchor) = if self.x.share(*position) > 0.7 {
                    (-4, "end")
                } else {
                    (4, "start")
                };
                write!(
                    svg,
                    "<text x=\"{x:.1}\" y=\"{y}\" dx=\"{dx}\" text-anchor=\"{anchor}\" fill=\"{TEXT_COLOUR}\">{}</text>",
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
                    .map(|&(x, y)| format!("{:.1},{:.1}", x_of(&self.x, x), y_of(&self.y, y)))
                    .collect();
                write!(
                    svg,
                    "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dash} points=\"{}\"/>",
                    points.join(" ")
                )?;
                let left =
                    LEFT_MARGIN + (i % LEGEND_COLUMNS) as f64 * (WIDTH - LEFT_MARGIN) / LEGEND_COLUMNS as f64;
                let y =
                    TOP_MARGIN + AREA_HEIGHT + AXIS_HEIGHT + (i / LEGEND_COLUMNS) as f64 * LEGEND_LINE + 8.0;
                let (middle, end, text) = (y - 4.0, left + 24.0, left + 30.0);
                write!(
                    svg,
                    "<path d=\"M{left:.1} {middle}H{end:.1}\" stroke=\"{colour}\" stroke-width=\"2\"{dash}/>"
                )?;
                write_text(
                    &mut svg,
                    &series.name,
                    &format!("x=\"{text:.1}\" y=\"{y}\""),
                    place,
                )?;
            }
            svg.write_str("</svg>")
        })();
        svg
    }
}

/// A heat map of counts. The opacity of a cell grows with the logarithm of its count.
#[derive(Clone, Debug)]
pub struct HeatMap<'c> {
    /// A description of the heat map, for screen readers.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The counts: rows in ascending y, columns in ascending x. A cell is one unit high and `cell_width` wide.
    pub cells: &'c [Vec<u64>],
    /// The width of a cell, in the units of the horizontal axis.
    pub cell_width: f64,
}

impl HeatMap<'_> {
    /// Renders the heat map as SVG.
    pub fn svg(&self) -> String {
        let mut svg = String::new();
        let max = self.cells.iter().flatten().copied().max().unwrap_or(0).max(1);
        let _ = (|| {
            let height = TOP_MARGIN + AREA_HEIGHT + AXIS_HEIGHT;
            open(&mut svg, height, &self.title, Place::Page)?;
            axes(&mut svg, &self.x, &self.y, Place::Page)?;
            for (row, counts) in self.cells.iter().enumerate() {
                for (column, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                    let left = x_of(&self.x, column as f64 * self.cell_width);
                    let right = x_of(&self.x, (column + 1) as f64 * self.cell_width);
                    let (top, bottom) = (y_of(&self.y, row as f64 + 0.5), y_of(&self.y, row as f64 - 0.5));
                    let ink = 0.12 + 0.88 * (count as f64).ln_1p() / (max as f64).ln_1p();
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

fn x_of(axis: &Axis, at: f64) -> f64 {
    LEFT_MARGIN + axis.share(at) * (WIDTH - LEFT_MARGIN - RIGHT_MARGIN)
}

fn y_of(axis: &Axis, at: f64) -> f64 {
    TOP_MARGIN + (1.0 - axis.share(at)) * AREA_HEIGHT
}

fn open(svg: &mut String, height: f64, title: &str, place: Place) -> std::fmt::Result {
    write!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" font-family=\"system-ui,sans-serif\" font-size=\"12\"><title>{}</title>",
        escape(title)
    )?;
    match place {
        Place::Page => Ok(()),
        Place::File => write!(svg, "<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>"),
    }
}

fn axes(svg: &mut String, x: &Axis, y: &Axis, place: Place) -> std::fmt::Result {
    let (right, bottom) = (WIDTH - RIGHT_MARGIN, TOP_MARGIN + AREA_HEIGHT);
    for Tick { position, label } in &y.ticks {
        let at = y_of(y, *position);
        write!(
            svg,
            "<path d=\"M{LEFT_MARGIN} {at:.1}H{right}\" stroke=\"{GRID_COLOUR}\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"{TEXT_COLOUR}\">{}</text>",
            LEFT_MARGIN - 6.0,
            at + 4.0,
            escape(label)
        )?;
    }
    for Tick { position, label } in &x.ticks {
        let at = x_of(x, *position);
        write!(
            svg,
            "<path d=\"M{at:.1} {bottom}v4\" stroke=\"{TEXT_COLOUR}\"/><text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\" fill=\"{TEXT_COLOUR}\">{}</text>",
            bottom + 17.0,
            escape(label)
        )?;
    }
    let attributes = format!(
        "x=\"{}\" y=\"{}\" text-anchor=\"middle\"",
        f64::midpoint(LEFT_MARGIN, right),
        bottom + 35.0
    );
    write_text(svg, &x.name, &attributes, place)?;
    let middle = TOP_MARGIN + AREA_HEIGHT / 2.0;
    write_text(
        svg,
        &y.name,
        &format!("transform=\"translate(14 {middle}) rotate(-90)\" text-anchor=\"middle\""),
        place,
    )
}

/// Writes an SVG text element in the languages of the place. `attributes` are the attributes of the element.
fn write_text(svg: &mut String, text: &Bilingual, attributes: &str, place: Place) -> std::fmt::Result {
    let languages: &[&str] = match place {
        Place::Page => &["en", "zh-Hans"],
        Place::File => &["en"],
    };
    for (language, text) in languages.iter().zip(text) {
        write!(
            svg,
            "<text lang=\"{language}\" {attributes} fill=\"{TEXT_COLOUR}\">{}</text>",
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
    fn a_plot_clips_its_lines_and_escapes_names() {
        let plot = Plot {
            title: "a < b".to_owned(),
            x: Axis::linear(bilingual("k", "k"), 0.0, 10.0, 5.0, 0),
            y: Axis::powers(bilingual("n", "n"), -2, 1),
            series: vec![Series {
                name: bilingual("<one>", "一"),
                points: vec![(0.0, -9.0), (10.0, 9.0)],
                dashed: true,
            }],
            marks: vec![Tick {
                position: 5.0,
                label: "here".to_owned(),
            }],
        };
        let svg = plot.svg();
        assert!(svg.contains("&lt;one>") && svg.contains("一") && svg.contains("a &lt; b"));
        assert!(svg.contains("points=\"68.0,264.0 664.0,14.0\""), "{svg}");
        assert!(svg.contains(">0.01<") && svg.contains(">10<"));
        let file = plot.standalone();
        assert!(file.contains("fill=\"#fff\"") && file.contains("&lt;one>") && !file.contains('一'));
    }
}
