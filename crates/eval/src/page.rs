//! The HTML page of an evaluation.

use askama::Template;

use super::evaluation::{EvaluatedMethod, Evaluation, MethodResult, RadiusCurve};
use crate::plot::{Axis, Figure, HeatMap, Plot, Series, bilingual};
use twinprint_io::page::filters;

/// The threshold whose curves are drawn: the default of the engine. If it was not evaluated, the nearest threshold is
/// drawn.
const DRAWN_THRESHOLD: f64 = 0.8;

#[derive(Template)]
#[template(path = "eval.html")]
struct Page<'e> {
    evaluation: &'e Evaluation,
    tables: Vec<ThresholdTable<'e>>,
    plots: Vec<Figure>,
}

/// The results of all methods at one threshold.
struct ThresholdTable<'e> {
    threshold: f64,
    true_pairs: u64,
    rows: Vec<MethodRow<'e>>,
}

struct MethodRow<'e> {
    method: &'e EvaluatedMethod,
    result: &'e MethodResult,
    setting: String,
    /// True if no method has a higher F1 at this threshold.
    best: bool,
}

impl<'e> MethodRow<'e> {
    /// Makes the row of a method at the threshold with index `i`. `best_f1` is the best F1 of any method there.
    fn new(method: &'e EvaluatedMethod, i: usize, best_f1: f64) -> Self {
        let result = &method.results[i];
        Self {
            method,
            result,
            setting: result.setting.to_string(),
            best: result.quality.f1 >= best_f1 - 5e-5,
        }
    }
}

/// Renders the page of an evaluation.
pub(super) fn html(evaluation: &Evaluation) -> String {
    let table = |(i, &threshold): (usize, &f64)| {
        let best_f1 = evaluation
            .methods
            .iter()
            .map(|method| method.results[i].quality.f1)
            .fold(0.0, f64::max);
        ThresholdTable {
            threshold,
            true_pairs: evaluation.true_pairs[i],
            rows: evaluation
                .methods
                .iter()
                .map(|method| MethodRow::new(method, i, best_f1))
                .collect(),
        }
    };
    let page = Page {
        evaluation,
        tables: evaluation.thresholds.iter().enumerate().map(table).collect(),
        plots: plots(evaluation),
    };
    // Rendering cannot fail: it writes to a string, and no filter of the template returns an error.
    page.render().unwrap_or_default()
}

fn plots(evaluation: &Evaluation) -> Vec<Figure> {
    let distance = |i: &usize| (evaluation.thresholds[*i] - DRAWN_THRESHOLD).abs();
    let drawn = (0..evaluation.thresholds.len()).min_by(|a, b| distance(a).total_cmp(&distance(b)));
    let drawn = drawn.unwrap_or(0);
    let threshold = evaluation
        .thresholds
        .get(drawn)
        .copied()
        .unwrap_or(DRAWN_THRESHOLD);
    let widest = evaluation
        .curves
        .iter()
        .map(|curve| curve.points.len())
        .max()
        .unwrap_or(1)
        .min(41);
    let radius = || {
        let named = bilingual("radius k", "半径 k");
        Axis::linear(named, 0.0, widest.saturating_sub(1).max(1) as f64, 4.0, 0)
    };
    let share = |english, chinese| Axis::linear(bilingual(english, chinese), 0.0, 1.0, 0.2, 1);
    let line = |curve: &RadiusCurve, verified: bool| {
        let at_drawn = |f1: &Vec<f64>| f1.get(drawn).copied().unwrap_or(0.0);
        let points = curve.points.iter().take(widest);
        let points = points.map(|p| {
            (
                f64::from(p.k),
                at_drawn(if verified { &p.f1_verified } else { &p.f1 }),
            )
        });
        let (english, chinese) = if verified {
            ("verified", "经核对")
        } else {
            ("alone", "不核对")
        };
        Series {
            name: bilingual(
                &format!("{}, {english}", curve.profile),
                &format!("{}，{chinese}", curve.profile),
            ),
            points: points.collect(),
            dashed: !verified,
        }
    };
    let f1 = Plot {
        title: format!("F1 by radius at Jaccard {threshold}"),
        x: radius(),
        y: share("F1", "F1"),
        series: evaluation
            .curves
            .iter()
            .flat_map(|c| [line(c, true), line(c, false)])
            .collect(),
        marks: Vec::new(),
    };
    let recall = |curve: &RadiusCurve, i: usize, threshold: f64| Series {
        name: bilingual(
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
    let recall_figure = |curve: &RadiusCurve| {
        let plot = Plot {
            title: format!("recall by radius, {}", curve.profile),
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
            format!(
                "{}: the share of the true pairs within each radius.",
                curve.profile
            ),
            format!("{}：各半径之内的真实重复对所占比例。", curve.profile),
        ];
        Figure {
            svg: plot.svg(),
            caption,
        }
    };
    let cost = Plot {
        title: "candidates per document by radius".to_owned(),
        x: radius(),
        y: Axis::powers(bilingual("candidates per document", "每篇文档的候选"), -2, 4),
        series: evaluation
            .curves
            .iter()
            .map(|curve| Series {
                name: bilingual(&curve.profile, &curve.profile),
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
    let heat = HeatMap {
        title: "pairs by Jaccard and Hamming distance".to_owned(),
        x: Axis::linear(bilingual("Jaccard", "Jaccard"), 0.0, 1.0, 0.1, 1),
        y: Axis::linear(
            bilingual("Hamming distance of 128 bits", "128 位指纹的汉明距离"),
            0.0,
            64.0,
            8.0,
            0,
        ),
        cells: &evaluation.distances,
        cell_width: Evaluation::BAND,
    };
    let mut plots = vec![Figure {
        svg: f1.svg(),
        caption: [
            format!(
                "F1 at Jaccard ≥ {threshold} by radius, if pairs within the radius are verified, and if the distance alone decides."
            ),
            format!("Jaccard ≥ {threshold} 时 F1 随半径的变化：半径内的文本对经核对，以及仅凭距离判定。"),
        ],
    }];
    plots.extend(evaluation.curves.iter().take(2).map(recall_figure));
    plots.push(Figure {
        svg: cost.svg(),
        caption: [
            "The cost of a radius: the number of pairs within the radius, per document.".to_owned(),
            "半径的代价：每篇文档在半径之内的文本对数。".to_owned(),
        ],
    });
    plots.push(Figure {
        svg: heat.svg(),
        caption: [
            "Known pairs by Jaccard and distance; darker cells have more pairs.".to_owned(),
            "已知文本对的 Jaccard 与距离；颜色越深，数量越多。".to_owned(),
        ],
    });
    plots
}
