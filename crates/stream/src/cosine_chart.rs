//! The chart of `stories.html` that shows the cosines of the sample and the thresholds of stories.
//!
//! Two histograms have a common axis, which is linear in the square root of the cosine: the nearest cosine of each
//! document above, the cosines of all pairs below. Each histogram is scaled to its own largest interval. If stories were
//! formed at several thresholds, a third row has a column for each of these thresholds, as high as its silhouette.

use twinprint_cluster::stories::{Basis, COSINE_INTERVALS, CosineHistogram, Estimate, Trial};

use super::summary::StoryThresholds;

/// The height of a histogram, in pixels.
const PANEL: f64 = 110.0;
/// The space above a histogram, in pixels, for its label.
const LABEL: f64 = 26.0;
/// The space above the chart, in pixels, for the label of the threshold.
const TOP: f64 = 18.0;
/// The vertical position of the base of the trials, in pixels.
const TRIALS_BASE: f64 = TOP + 3.0 * (LABEL + PANEL);
/// The cosines that the axis names.
const TICKS: [f64; 9] = [0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0];

/// An interval of a histogram: `x` and `width` in per cent, `y` and `height` in pixels.
pub(super) struct Interval {
    pub(super) x: String,
    pub(super) width: String,
    pub(super) y: String,
    pub(super) height: String,
    /// The cosines of the interval.
    pub(super) cosines: String,
    pub(super) count: u64,
}

/// The trial of a threshold: `x` in per cent, `y` and `height` in pixels.
pub(super) struct TrialColumn {
    pub(super) x: String,
    pub(super) y: String,
    pub(super) height: String,
    pub(super) threshold: f64,
    pub(super) silhouette: String,
    pub(super) stories: u64,
}

/// A cosine on the axis.
pub(super) struct Mark {
    pub(super) x: String,
    pub(super) label: String,
}

/// The chart of the cosines.
pub(super) struct CosineChart {
    pub(super) nearest: Vec<Interval>,
    pub(super) background: Vec<Interval>,
    /// The trials; empty if there were none.
    pub(super) trials: Vec<TrialColumn>,
    pub(super) ticks: Vec<Mark>,
    pub(super) threshold: Mark,
    /// True if the threshold is in the left half of the chart.
    is_threshold_left: bool,
    /// The number of documents of the sample, copies included.
    pub(super) items: u64,
    pub(super) copies: u64,
    basis: Basis,
}

/// The position of a cosine on the axis, in per cent.
fn position(cosine: f64) -> String {
    format!("{:.2}%", cosine.clamp(0.0, 1.0).sqrt() * 100.0)
}

fn intervals(histogram: &CosineHistogram, top: f64) -> Vec<Interval> {
    let counts = histogram.counts();
    let largest = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    let step = 1.0 / COSINE_INTERVALS as f64;
    let interval = |(i, &count): (usize, &u64)| {
        let [from, to] = [i, i + 1].map(|edge| edge as f64 * step);
        let height = count as f64 / largest * PANEL;
        Interval {
            x: format!("{:.2}%", from * 100.0),
            width: format!("{:.2}%", step * 94.0),
            y: format!("{:.1}", top + PANEL - height),
            height: format!("{height:.1}"),
            cosines: format!("{:.3} – {:.3}", from * from, to * to),
            count,
        }
    };
    let counted = counts.iter().enumerate().filter(|&(_, &count)| count > 0);
    counted.map(interval).collect()
}

/// The column of a trial. A silhouette below 0 has no height.
fn trial_column(trial: &Trial) -> TrialColumn {
    let height = trial.silhouette.clamp(0.0, 1.0) * PANEL;
    TrialColumn {
        x: position(trial.threshold),
        y: format!("{:.1}", TRIALS_BASE - height),
        height: format!("{height:.1}"),
        threshold: trial.threshold,
        silhouette: format!("{:.2}", trial.silhouette),
        stories: trial.stories,
    }
}

impl CosineChart {
    /// Makes the chart of an estimate, with the thresholds in force.
    pub(super) fn new(estimate: &Estimate, thresholds: &StoryThresholds) -> Self {
        let tick = |cosine: f64| Mark {
            x: position(cosine),
            label: cosine.to_string(),
        };
        Self {
            nearest: intervals(&estimate.nearest, TOP + LABEL),
            background: intervals(&estimate.background, TOP + 2.0 * LABEL + PANEL),
            trials: estimate.trials.iter().map(trial_column).collect(),
            ticks: TICKS.map(tick).into(),
            threshold: Mark {
                x: position(thresholds.join),
                label: format!("{:.3}", thresholds.join),
            },
            is_threshold_left: thresholds.join < 0.25,
            items: estimate.items,
            copies: estimate.items.saturating_sub(estimate.distinct),
            basis: estimate.basis,
        }
    }

    /// True if the threshold separates two kinds of nearest cosines.
    pub(super) fn is_between_kinds(&self) -> bool {
        self.basis == Basis::TwoKinds
    }

    /// True if the threshold is that of a trial.
    pub(super) fn is_separated(&self) -> bool {
        self.basis == Basis::Separated
    }

    /// The vertical position of the label of the upper histogram, in pixels.
    #[expect(clippy::unused_self, reason = "the template calls methods")]
    pub(super) fn upper_label(&self) -> f64 {
        TOP + 18.0
    }

    /// The vertical position of the base of the upper histogram, in pixels.
    #[expect(clippy::unused_self, reason = "the template calls methods")]
    pub(super) fn upper_base(&self) -> f64 {
        TOP + LABEL + PANEL
    }

    /// The vertical position of the label of the lower histogram, in pixels.
    pub(super) fn lower_label(&self) -> f64 {
        self.upper_base() + 18.0
    }

    /// The vertical position of the base of the lower histogram, in pixels.
    #[expect(clippy::unused_self, reason = "the template calls methods")]
    pub(super) fn lower_base(&self) -> f64 {
        TOP + 2.0 * (LABEL + PANEL)
    }

    /// The vertical position of the label of the trials, in pixels.
    pub(super) fn trials_label(&self) -> f64 {
        self.lower_base() + 18.0
    }

    /// The vertical position of the common axis, in pixels.
    pub(super) fn base(&self) -> f64 {
        if self.trials.is_empty() {
            self.lower_base()
        } else {
            TRIALS_BASE
        }
    }

    /// The side of the dashed line on which the label of the threshold has room: the label's text anchor.
    pub(super) fn threshold_anchor(&self) -> &'static str {
        if self.is_threshold_left { "start" } else { "end" }
    }

    /// The height of the chart with the labels of the axis, in pixels.
    pub(super) fn height(&self) -> f64 {
        self.base() + 22.0
    }
}
