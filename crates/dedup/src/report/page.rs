//! `report.html`: one file in two languages. It needs no scripts, no other files and no network.
//!
//! The template contains the texts of the page, and this module computes its figures. The template escapes text of the
//! corpus; names go through [`visible`](twinprint_io::page::visible) as well.

use std::collections::BTreeMap;

use askama::Template;

use super::chart::Chart;
// The template of figures, which other pages use too, refers to `PieceKind` as `Kind`.
use super::difference::{LazyDifference, PieceKind as Kind, TextDifference};
use super::flow::Flow;
use super::shown::Differences;
use twinprint_io::page::filters;
use twinprint_io::results::{PairReport, PartsReport, RadiusChoice, RecallReport, Report};

/// The largest number of kinds of skipped files that are listed.
const MAX_SKIPPED_KINDS: usize = 20;

#[derive(Template)]
#[template(path = "report.html")]
struct HtmlPage<'r> {
    report: &'r Report,
    flow: Flow,
    charts: Charts,
    largest: Vec<ShownGroup<'r>>,
    doubtful: Vec<ShownPair<'r>>,
    misses: Vec<ShownPair<'r>>,
    rejects: Vec<RejectKind<'r>>,
    skipped: Vec<(&'r str, u64)>,
    /// The number of skipped files whose kinds are not listed.
    skipped_others: u64,
    stages: Vec<StageBar<'r>>,
    funnel: Vec<FunnelStep>,
}

impl HtmlPage<'_> {
    fn documents(&self) -> u64 {
        self.report.records.kept + self.report.records.removed
    }
}

/// The column charts of a report.
pub(super) struct Charts {
    pub(super) distances: Chart,
    /// The chart of the removed documents by Jaccard; `None` in a run without verification.
    pub(super) jaccards: Option<Chart>,
    pub(super) sizes: Chart,
}

/// A large group, with the pair of the kept document and the least similar member.
struct ShownGroup<'r> {
    group: &'r twinprint_io::results::LargeCluster,
    pair: Option<ShownPair<'r>>,
}

/// A pair that the report shows. In a run with verification it has the differences between its texts.
struct ShownPair<'r> {
    pair: &'r PairReport,
    sides: Option<&'r TextDifference>,
}

/// A kind of rejected records, with their number and some examples.
struct RejectKind<'r> {
    kind: &'r str,
    count: u64,
    examples: Vec<&'r twinprint_io::source::RejectExample>,
}

/// A stage of the run, with its share of the time.
struct StageBar<'r> {
    stage: &'r twinprint_io::results::StageReport,
    names: [&'r str; 2],
    width: String,
}

/// A step of the search, with the number of documents, texts or pairs that remain after it.
pub(super) struct FunnelStep {
    pub(super) names: [&'static str; 2],
    pub(super) count: u64,
}

/// Renders `report.html`.
pub(super) fn html(report: &Report, differences: &Differences) -> String {
    let page = HtmlPage {
        report,
        flow: Flow::of(&report.records, report.threshold.is_some()),
        charts: charts(report),
        largest: largest(report, differences),
        doubtful: pairs(&report.doubtful, &differences.doubtful),
        misses: pairs(&report.closest_misses, &differences.closest_misses),
        rejects: rejects(report),
        skipped: skipped(report),
        skipped_others: skipped_others(report),
        stages: stages(report),
        funnel: funnel(report),
    };
    // Rendering into a string cannot fail: none of the filters of the template returns an error.
    page.render().unwrap_or_default()
}

/// The charts of a report. Those of distance and Jaccard leave out documents of equal text.
pub(super) fn charts(report: &Report) -> Charts {
    let without_equal = |counts: &BTreeMap<u32, u64>, at: u32| {
        let mut counts = counts.clone();
        if let Some(count) = counts.get_mut(&at) {
            *count = count.saturating_sub(report.records.removed_equal);
        }
        counts
    };
    let jaccards = report.threshold.map(|threshold| {
        Chart::of_jaccards(
            &without_equal(&report.jaccards, 100),
            &report.near_misses,
            threshold,
        )
    });
    // Without a radius the chart ends at the largest distance.
    let radius = match report.radius.choice {
        RadiusChoice::Exact => report.distances.keys().next_back().copied().unwrap_or(0),
        _ => report.radius.k,
    };
    Charts {
        distances: Chart::of_distances(&without_equal(&report.distances, 0), radius),
        jaccards,
        sizes: Chart::of_sizes(&report.clusters.sizes),
    }
}

fn pairs<'r>(pairs: &'r [PairReport], sides: &'r [LazyDifference]) -> Vec<ShownPair<'r>> {
    let sides = sides
        .iter()
        .map(|sides| Some(&**sides))
        .chain(std::iter::repeat(None));
    pairs
        .iter()
        .zip(sides)
        .map(|(pair, sides)| ShownPair { pair, sides })
        .collect()
}

fn largest<'r>(report: &'r Report, differences: &'r Differences) -> Vec<ShownGroup<'r>> {
    let sides = differences
        .largest
        .iter()
        .map(Option::as_deref)
        .chain(std::iter::repeat(None));
    let group = |(group, sides): (
        &'r twinprint_io::results::LargeCluster,
        Option<&'r TextDifference>,
    )| ShownGroup {
        group,
        pair: group.farthest.as_ref().map(|pair| ShownPair { pair, sides }),
    };
    report.largest.iter().zip(sides).map(group).collect()
}

fn rejects(report: &Report) -> Vec<RejectKind<'_>> {
    let by_kind = report.records.rejected_by.iter();
    by_kind
        .map(|(kind, &count)| RejectKind {
            kind,
            count,
            examples: report
                .rejects
                .iter()
                .filter(|example| example.kind == *kind)
                .collect(),
        })
        .collect()
}

/// The most frequent kinds of skipped files.
pub(super) fn skipped(report: &Report) -> Vec<(&str, u64)> {
    let mut skipped: Vec<(&str, u64)> = report
        .input
        .skipped
        .iter()
        .map(|(kind, &count)| (kind.as_str(), count))
        .collect();
    skipped.sort_by_key(|&(kind, count)| (std::cmp::Reverse(count), kind));
    skipped.truncate(MAX_SKIPPED_KINDS);
    skipped
}

fn skipped_others(report: &Report) -> u64 {
    let named: u64 = skipped(report).iter().map(|kind| kind.1).sum();
    report.input.skipped.values().sum::<u64>() - named
}

fn stages(report: &Report) -> Vec<StageBar<'_>> {
    let longest = report
        .run
        .stages
        .iter()
        .map(|stage| stage.seconds)
        .fold(1e-9, f64::max);
    let bar = |stage| StageBar {
        stage,
        names: stage_names(stage),
        width: format!("{:.1}%", 100.0 * stage.seconds / longest),
    };
    report.run.stages.iter().map(bar).collect()
}

fn stage_names(stage: &twinprint_io::results::StageReport) -> [&str; 2] {
    let chinese = match stage.name.as_str() {
        "read" => "读取与指纹",
        "against" => "与已有文档比对",
        "match" => "匹配",
        "shingles" => "片段匹配",
        "recall" => "测量召回率",
        "verify" => "核对与分组",
        "winnow" => "片段指纹",
        "shared" => "共有片段",
        "passages" => "多文共有段落",
        "parts" => "局部复制",
        "write" => "写出",
        "report" => "报告",
        other => other,
    };
    [&stage.name, chinese]
}

/// The steps of the search in order, with the numbers that remain after each step.
pub(super) fn funnel(report: &Report) -> Vec<FunnelStep> {
    let search = &report.search;
    let step = |english, chinese, count| FunnelStep {
        names: [english, chinese],
        count,
    };
    vec![
        step("documents", "文档", report.records.kept + report.records.removed),
        step("distinct texts", "不同的文本", search.texts),
        step("distinct fingerprints", "不同的指纹", search.fingerprints),
        step(
            "candidates from fingerprints",
            "由指纹得到的候选",
            search.fingerprint_candidates,
        ),
        step(
            "candidates from shingles",
            "由片段得到的候选",
            search.shingle_candidates,
        ),
        step("verified pairs", "经核对的文本对", search.verified),
        step("of these, duplicates", "其中重复", search.duplicates),
    ]
}
