//! The HTML page of a calibration.

use askama::Template;

use super::{Calibration, RadiusCalibration, WidthCalibration};
use crate::plot::{Axis, Figure, Plot, Series, Tick, bilingual};
use twinprint_io::page::filters;

#[derive(Template)]
#[template(path = "calibrate.html")]
struct Page<'c> {
    calibration: &'c Calibration,
    /// The figures of the chosen width and radius.
    chosen: Option<&'c RadiusCalibration>,
    plots: Vec<Figure>,
}

impl Page<'_> {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "templates pass references")]
    fn is_chosen(&self, bits: &u32, k: &u32) -> bool {
        (*bits, *k) == (self.calibration.bits, self.calibration.k)
    }
}

/// Renders the page of a calibration.
pub(super) fn html(calibration: &Calibration) -> String {
    let width = calibration
        .widths
        .iter()
        .find(|width| width.bits == calibration.bits);
    let mut plots: Vec<Figure> = calibration
        .widths
        .iter()
        .rev()
        .map(|w| distances(calibration, w))
        .collect();
    plots.push(costs(calibration));
    let page = Page {
        calibration,
        chosen: width.and_then(|width| width.radii.get(calibration.k as usize)),
        plots,
    };
    // Rendering cannot fail: it writes to a string, and no filter of the template returns an error.
    page.render().unwrap_or_default()
}

/// Plots the number of pairs and the background by Hamming distance.
fn distances(calibration: &Calibration, width: &WidthCalibration) -> Figure {
    let all = width.histogram.iter().sum::<u64>().max(1) as f64;
    let log = |share: f64| share.max(1e-9).log10();
    let line = |name, shares: &mut dyn Iterator<Item = f64>, dashed| Series {
        name,
        points: (0u32..)
            .zip(shares)
            .map(|(d, share)| (f64::from(d), log(share)))
            .collect(),
        dashed,
    };
    let bits = width.bits;
    let marks = if bits == calibration.bits {
        vec![Tick {
            position: f64::from(calibration.k),
            label: format!("k = {}", calibration.k),
        }]
    } else {
        Vec::new()
    };
    let plot = Plot {
        title: format!("pairs by Hamming distance of {bits} bits"),
        x: Axis::linear(
            bilingual("Hamming distance", "汉明距离"),
            0.0,
            f64::from(bits),
            f64::from(bits / 16),
            0,
        ),
        y: Axis::powers(bilingual("share of the pairs", "文本对的比例"), -8, 0),
        series: vec![
            line(
                bilingual("all pairs", "全部文本对"),
                &mut width.histogram.iter().map(|&n| n as f64 / all),
                false,
            ),
            line(
                bilingual("unrelated, fitted", "无关文本（拟合）"),
                &mut width.background.probability.iter().copied(),
                true,
            ),
        ],
        marks,
    };
    let (mean, deviation) = (width.background.mean, width.background.deviation);
    let caption = [
        format!(
            "{bits} bits: unrelated documents are {mean:.1} bits apart on average (± {deviation:.1}); pairs above their curve on the left are similar documents."
        ),
        format!(
            "{bits} 位：无关文本平均相差 {mean:.1} 位（± {deviation:.1}）；左侧高出曲线的部分是相关文本。"
        ),
    ];
    Figure {
        svg: plot.svg(),
        caption,
    }
}

/// Plots the recall by the number of candidates.
fn costs(calibration: &Calibration) -> Figure {
    let line = |width: &WidthCalibration| Series {
        name: bilingual(&format!("{} bits", width.bits), &format!("{} 位", width.bits)),
        points: width
            .radii
            .iter()
            .map(|radius| {
                (
                    radius.candidates().max(1e-9).log10(),
                    radius.recall.unwrap_or(radius.recall_at_threshold),
                )
            })
            .collect(),
        dashed: false,
    };
    let plot = Plot {
        title: "recall by candidates per document".to_owned(),
        x: Axis::powers(bilingual("candidates per document", "每篇文档的候选"), -4, 4),
        y: Axis::linear(bilingual("recall", "召回率"), 0.0, 1.0, 0.2, 1),
        series: calibration.widths.iter().map(line).collect(),
        marks: vec![Tick {
            position: twinprint_dedup::radius::CANDIDATE_BUDGET.log10(),
            label: "5".to_owned(),
        }],
    };
    let n = twinprint_io::number::count(calibration.n);
    let caption = [
        format!(
            "Recall and cost for {n} documents, one point for each radius. Up to 5 candidates per document add no noticeable time."
        ),
        format!("{n} 篇文档时的召回率与代价，每个点对应一个半径；每篇文档不超过 5 个候选时感觉不到开销。"),
    ];
    Figure {
        svg: plot.svg(),
        caption,
    }
}
