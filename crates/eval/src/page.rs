//! The page of an evaluation.

use askama::Template;

use super::evaluation::{Cell, Curve, Evaluation, Method, Setting};
use crate::plot::{Axis, Heat, Plot, Series, name};
use twinprint_io::page::filters;

/// The threshold whose curves are drawn: the one the engine has unless told otherwise, or the nearest.
const DRAWN: f64 = 0.8;

#[derive(Template)]
#[template(path = "eval.html")]
struct Page<'e> {
    evaluation: &'e Evaluation,
    tables: Vec<Table<'e>>,
    /// Plots with their captions in both languages.
    plots: Vec<(String, [String; 2])>,
}

/// All methods at one threshold.
struct Table<'e> {
    threshold: f64,
    true_pairs: u64,
    rows: Vec<Row<'e>>,
}

struct Row<'e> {
    method: &'e Method,
    cell: &'e Cell,
    setting: String,
    /// Nothing else has a better F1 here.
    best: bool,
}

impl<'e> Row<'e> {
    /// A method at threshold number `i`, where the best F1 is `most`.
    fn of(method: &'e Method, i: usize, most: f64) -> Self {
        let cell = &method.cells[i];
        Self {
            method,
            cell,
            setting: setting(cell.setting),
            best: cell.judged.f1 >= most - 5e-5,
        }
    }
}

/// What a method was set to, in a few signs.
pub(super) fn setting(setting: Setting) -> String {
    match setting {
        Setting::Radius { bits, k } => format!("{bits} bits, k = {k}"),
        Setting::Similarity { least } => format!("≥ {least:.3}"),
        Setting::Bands { bands, rows } => format!("{bands} × {rows}"),
    }
}

pub(super) fn html(evaluation: &Evaluation) -> String {
    let table = |(i, &threshold): (usize, &f64)| {
        let most = evaluation
            .methods
            .iter()
            .map(|method| method.cells[i].judged.f1)
            .fold(0.0, f64::max);
        Table {
            threshold,
            true_pairs: evaluation.true_pairs[i],
            rows: evaluation
                .methods
                .iter()
                .map(|method| Row::of(method, i, most))
                .collect(),
        }
    };
    let page = Page {
        evaluation,
        tables: evaluation.thresholds.iter().enumerate().map(table).collect(),
        plots: plots(evaluation),
    };
    // Rendering writes to a string, which does not fail; the filters do not either.
    page.render().unwrap_or_default()
}

fn plots(evaluation: &Evaluation) -> Vec<(String, [String; 2])> {
    let distance = |i: &usize| (evaluation.thresholds[*i] - DRAWN).abs();
    let drawn = (0..evaluation.thresholds.len()).min_by(|a, b| distance(a).total_cmp(&distance(b)));
    let drawn = drawn.unwrap_or(0);
    let threshold = evaluation.thresholds.get(drawn).copied().unwrap_or(DRAWN);
    let widest = evaluation
        .curves
        .iter()
        .map(|curve| curve.points.len())
        .max()
        .unwrap_or(1)
        .min(41);
    let radius = || {
        let named = name("radius k", "半径 k");
        Axis::linear(named, 0.0, widest.saturating_sub(1).max(1) as f64, 4.0, 0)
    };
    let share = |english, chinese| Axis::linear(name(english, chinese), 0.0, 1.0, 0.2, 1);
    let line = |curve: &Curve, verified: bool| {
        let of = |f1: &Vec<f64>| f1.get(drawn).copied().unwrap_or(0.0);
        let points = curve.points.iter().take(widest);
        let points = points.map(|p| (f64::from(p.k), of(if verified { &p.f1_verified } else { &p.f1 })));
        let (english, chinese) = if verified {
            ("verified", "经核对")
        } else {
            ("alone", "不核对")
        };
        Series {
            name: name(
                &format!("{}, {english}", curve.profile),
                &format!("{}，{chinese}", curve.profile),
            ),
            points: points.collect(),
            dashed: !verified,
        }
    };
    let f1 = Plot {
        title: format!("F1 over the radius at Jaccard {threshold}"),
        x: radius(),
        y: share("F1", "F1"),
        series: evaluation
            .curves
            .iter()
            .flat_map(|c| [line(c, true), line(c, false)])
            .collect(),
        marks: Vec::new(),
    };
    let recall = |curve: &Curve, i: usize, threshold: f64| Series {
        name: name(
            &format!("Jaccard ≥ {threshold}"),
            &format!("Jaccard ≥ {threshold}"),
        ),
        points: curve
            .points
            .iter()
            .take(widest)
            .map(|p| (f64::from(p.k), p.recall[i]))
            .collect(),
        dashed: false,
    };
    let of_curve = |curve: &Curve| {
        let plot = Plot {
            title: format!("recall over the radius, {}", curve.profile),
            x: radius(),
            y: share("recall", "召回率"),
            series: evaluation
                .thresholds
                .iter()
                .enumerate()
                .map(|(i, &threshold)| recall(curve, i, threshold))
                .collect(),
            marks: Vec::new(),
        };
        let caption = [
            format!("{}: share of the true pairs within each radius.", curve.profile),
            format!("{}：各半径之内的真实重复对所占比例。", curve.profile),
        ];
        (plot.both(), caption)
    };
    let cost = Plot {
        title: "candidates a document over the radius".to_owned(),
        x: radius(),
        y: Axis::powers(name("candidates a document", "每篇文档的候选"), -2, 4),
        series: evaluation
            .curves
            .iter()
            .map(|curve| Series {
                name: name(&curve.profile, &curve.profile),
                points: curve
                    .points
                    .iter()
                    .take(widest)
                    .map(|p| (f64::from(p.k), p.candidates.max(1e-3).log10()))
                    .collect(),
                dashed: false,
            })
            .collect(),
        marks: Vec::new(),
    };
    let heat = Heat {
        title: "pairs by Jaccard and Hamming distance".to_owned(),
        x: Axis::linear(name("Jaccard", "Jaccard"), 0.0, 1.0, 0.1, 1),
        y: Axis::linear(
            name("Hamming distance of 128 bits", "128 位指纹的汉明距离"),
            0.0,
            64.0,
            8.0,
            0,
        ),
        cells: &evaluation.distances,
        breadth: Evaluation::BAND,
    };
    let mut plots = vec![(
        f1.both(),
        [
            format!(
                "F1 at Jaccard ≥ {threshold} over the radius: where pairs within it are verified, and where the distance alone is the verdict."
            ),
            format!("Jaccard ≥ {threshold} 时 F1 随半径的变化：半径内的文本对经核对，以及仅凭距离判定。"),
        ],
    )];
    plots.extend(evaluation.curves.iter().take(2).map(of_curve));
    plots.push((
        cost.both(),
        [
            "What a radius costs: pairs within it, a document.".to_owned(),
            "半径的代价：每篇文档在半径之内的文本对数。".to_owned(),
        ],
    ));
    plots.push((
        heat.both(),
        [
            "Known pairs by Jaccard and distance; the darker, the more.".to_owned(),
            "已知文本对的 Jaccard 与距离；颜色越深，数量越多。".to_owned(),
        ],
    ));
    plots
}
