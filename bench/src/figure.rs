//! Line charts as SVG, side by side with the same logarithmic axis of documents, readable on a light and on a dark background.

use std::fmt::Write;

/// Width and height of the plot area of a panel, and the margins around it.
const WIDTH: f64 = 200.0;
const HEIGHT: f64 = 150.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 22.0;
const TOP: f64 = 74.0;
const BOTTOM: f64 = 46.0;

/// The number of settings whose lines have colours.
pub const COLOURS: usize = 3;

const STYLE: &str = "
  text { font: 12px system-ui, sans-serif; fill: #3d3d3a }
  .title { font-weight: 600; fill: #141413 }
  .grid { stroke: #dddcd6; stroke-width: 1 }
  .limit { stroke: #73726c; stroke-width: 1.5; stroke-dasharray: 5 4; fill: none }
  .line { stroke-width: 2; fill: none }
  .line.s0 { stroke: #2a78d6 } .dot.s0 { fill: #2a78d6 }
  .line.s1 { stroke: #d9622b } .dot.s1 { fill: #d9622b }
  .line.s2 { stroke: #178a62 } .dot.s2 { fill: #178a62 }
  @media (prefers-color-scheme: dark) {
    text { fill: #c2c0b6 }
    .title { fill: #faf9f5 }
    .grid { stroke: #4a4a46 }
    .limit { stroke: #9c9a92 }
    .line.s0 { stroke: #6ba6ec } .dot.s0 { fill: #6ba6ec }
    .line.s1 { stroke: #f08a5a } .dot.s1 { fill: #f08a5a }
    .line.s2 { stroke: #3fc193 } .dot.s2 { fill: #3fc193 }
  }
";

/// The scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// From the first to the second value, evenly.
    Linear(f64, f64),
    /// From the first to the second value (both above 0), by powers of ten.
    Log(f64, f64),
}

impl Scale {
    /// Returns the position of a value: 0 at the low end, 1 at the high end, never outside.
    fn share(self, value: f64) -> f64 {
        let share = match self {
            Self::Linear(low, high) => (value - low) / (high - low),
            Self::Log(low, high) => (value.max(low) / low).ln() / (high / low).ln(),
        };
        share.clamp(0.0, 1.0)
    }
}

/// One chart.
#[derive(Clone, Debug)]
pub struct Panel {
    /// The quantity, with its unit.
    pub title: &'static str,
    /// The vertical axis.
    pub scale: Scale,
    /// Marks of the vertical axis, and their labels.
    pub ticks: Vec<(f64, String)>,
    /// The required limit, if any.
    pub limit: Limit,
    /// Lines, (documents, value) each; colours go by position.
    pub lines: Vec<Vec<(f64, f64)>>,
}

/// A required limit.
#[derive(Clone, Debug)]
pub struct Limit {
    /// The limit at numbers of documents; empty without a limit.
    pub points: Vec<(f64, f64)>,
    /// Its label, on the side where values are required to be.
    pub name: &'static str,
    /// True if values are required to stay below it.
    pub upper: bool,
}

/// Draws the panels side by side under a legend of the lines' names. `documents` are the marks of the horizontal axis.
pub fn draw(panels: &[Panel], names: &[String], documents: &[(f64, String)]) -> String {
    let step = LEFT + WIDTH + RIGHT;
    let (width, height) = (step * panels.len() as f64, TOP + HEIGHT + BOTTOM);
    let low = documents.first().map_or(1.0, |mark| mark.0);
    let high = documents.last().map_or(10.0, |mark| mark.0);
    let across = Scale::Log(low, high.max(low * 2.0));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" role=\"img\">\n\
         <style>{STYLE}</style>\n"
    );
    for (i, name) in names.iter().enumerate().take(COLOURS) {
        let x = LEFT + 230.0 * i as f64;
        element(&mut svg, &format!("<path class=\"line s{i}\" d=\"M{x} 16h22\"/>"));
        element(
            &mut svg,
            &format!(
                "<circle class=\"dot s{i}\" cx=\"{}\" cy=\"16\" r=\"4\"/>",
                x + 11.0
            ),
        );
        text(&mut svg, x + 30.0, 20.0, "start", "", name);
    }
    for (number, panel) in panels.iter().enumerate() {
        let left = step * number as f64 + LEFT;
        let x = |documents: f64| left + WIDTH * across.share(documents);
        let y = |value: f64| TOP + HEIGHT * (1.0 - panel.scale.share(value));
        let path = |points: &[(f64, f64)]| {
            let steps: Vec<String> = points
                .iter()
                .map(|&(n, value)| format!("{:.1} {:.1}", x(n), y(value)))
                .collect();
            format!("M{}", steps.join("L"))
        };
        text(&mut svg, left, TOP - 22.0, "start", "title", panel.title);
        for (value, label) in &panel.ticks {
            let y = y(*value);
            element(
                &mut svg,
                &format!("<path class=\"grid\" d=\"M{left} {y:.1}h{WIDTH}\"/>"),
            );
            text(&mut svg, left - 8.0, y + 4.0, "end", "", label);
        }
        for (n, label) in documents {
            text(&mut svg, x(*n), TOP + HEIGHT + 18.0, "middle", "", label);
        }
        text(
            &mut svg,
            left + WIDTH / 2.0,
            TOP + HEIGHT + 36.0,
            "middle",
            "",
            "documents",
        );
        let Limit { points, name, upper } = &panel.limit;
        if let Some(&(n, value)) = points.first() {
            element(
                &mut svg,
                &format!("<path class=\"limit\" d=\"{}\"/>", path(points)),
            );
            let aside = if *upper { 16.0 } else { -6.0 };
            text(&mut svg, x(n) + 2.0, y(value) + aside, "start", "", name);
        }
        for (i, points) in panel.lines.iter().enumerate().take(COLOURS).rev() {
            element(
                &mut svg,
                &format!("<path class=\"line s{i}\" d=\"{}\"/>", path(points)),
            );
            for &(n, value) in points {
                let circle = format!(
                    "<circle class=\"dot s{i}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\"/>",
                    x(n),
                    y(value)
                );
                element(&mut svg, &circle);
            }
        }
    }
    svg.push_str("</svg>\n");
    svg
}

fn element(svg: &mut String, element: &str) {
    svg.push_str(element);
    svg.push('\n');
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, class: &str, words: &str) {
    let words = words.replace('&', "&amp;").replace('<', "&lt;");
    // Writing to a string cannot fail.
    let _ = writeln!(
        svg,
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_between_the_ends() {
        assert_eq!(Scale::Linear(0.0, 4.0).share(1.0), 0.25);
        assert!((Scale::Log(1e4, 1e6).share(1e5) - 0.5).abs() < 1e-12);
        assert_eq!(Scale::Log(0.1, 10.0).share(0.0), 0.0);
        assert_eq!(Scale::Linear(0.0, 1.0).share(7.0), 1.0);
    }

    #[test]
    fn every_point_of_every_line_is_drawn() {
        let panel = Panel {
            title: "a < b",
            scale: Scale::Linear(0.0, 1.0),
            ticks: vec![(0.0, "0".into())],
            limit: Limit {
                points: vec![(1e4, 0.5), (1e6, 0.5)],
                name: "limit",
                upper: true,
            },
            lines: vec![vec![(1e4, 0.1), (1e5, 0.2)], vec![(1e4, 0.3)]],
        };
        let documents = [(1e4, "10⁴".to_owned()), (1e6, "10⁶".to_owned())];
        let svg = draw(&[panel], &["one".into(), "two".into()], &documents);
        assert_eq!(svg.matches("<circle").count(), 3 + 2);
        assert!(svg.contains("a &lt; b"));
    }
}
