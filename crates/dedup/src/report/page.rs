//! `report.html`: one file in two languages that needs nothing else, neither scripts nor the network.
//!
//! The template holds the words, this module what is drawn between them. Whatever comes from a corpus goes through the template's
//! escaping, and names through [`visible`](twinprint_io::page::visible) besides.

use std::collections::BTreeMap;

use askama::Template;

use super::chart::Chart;
use super::difference::{Kind, Sides};
use super::flow::Flow;
use super::shown::Differences;
use twinprint_io::page::filters;
use twinprint_io::results::{PairReport, PartsReport, RadiusChoice, Report};

/// Kinds of skipped files named.
const SKIPPED: usize = 20;

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'r> {
    report: &'r Report,
    flow: Flow,
    charts: Charts,
    largest: Vec<Group<'r>>,
    doubtful: Vec<Pair<'r>>,
    misses: Vec<Pair<'r>>,
    rejects: Vec<Reject<'r>>,
    skipped: Vec<(&'r str, u64)>,
    /// Files of kinds that are not named.
    skipped_others: u64,
    stages: Vec<Bar<'r>>,
    funnel: Vec<Step>,
}

impl Page<'_> {
    fn documents(&self) -> u64 {
        self.report.records.kept + self.report.records.removed
    }
}

/// What is drawn in columns.
pub(super) struct Charts {
    pub(super) distances: Chart,
    /// Absent where nothing was verified.
    pub(super) jaccards: Option<Chart>,
    pub(super) sizes: Chart,
}

/// A large group and how the member least like the kept one differs.
struct Group<'r> {
    group: &'r twinprint_io::results::LargeCluster,
    pair: Option<Pair<'r>>,
}

/// A pair and how its texts differ, where texts were kept.
struct Pair<'r> {
    pair: &'r PairReport,
    sides: Option<&'r Sides>,
}

/// Rejected records of one kind.
struct Reject<'r> {
    kind: &'r str,
    count: u64,
    examples: Vec<&'r twinprint_io::source::RejectExample>,
}

/// A stage and its share of the time.
struct Bar<'r> {
    stage: &'r twinprint_io::results::StageReport,
    names: [&'r str; 2],
    width: String,
}

/// A step of the search, and how much was left after it.
pub(super) struct Step {
    pub(super) names: [&'static str; 2],
    pub(super) count: u64,
}

/// The page.
pub(super) fn html(report: &Report, differences: &Differences) -> String {
    let page = Page {
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
    // Rendering writes to a string, which does not fail; the filters do not either.
    page.render().unwrap_or_default()
}

/// The charts, documents of equal text left out of those of likeness.
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
    Charts {
        distances: Chart::of_distances(&without_equal(&report.distances, 0), report.radius.k),
        jaccards,
        sizes: Chart::of_sizes(&report.clusters.sizes),
    }
}

fn pairs<'r>(pairs: &'r [PairReport], sides: &'r [Sides]) -> Vec<Pair<'r>> {
    let sides = sides.iter().map(Some).chain(std::iter::repeat(None));
    pairs
        .iter()
        .zip(sides)
        .map(|(pair, sides)| Pair { pair, sides })
        .collect()
}

fn largest<'r>(report: &'r Report, differences: &'r Differences) -> Vec<Group<'r>> {
    let sides = differences
        .largest
        .iter()
        .map(Option::as_ref)
        .chain(std::iter::repeat(None));
    let group = |(group, sides): (&'r twinprint_io::results::LargeCluster, Option<&'r Sides>)| Group {
        group,
        pair: group.farthest.as_ref().map(|pair| Pair { pair, sides }),
    };
    report.largest.iter().zip(sides).map(group).collect()
}

fn rejects(report: &Report) -> Vec<Reject<'_>> {
    let by_kind = report.records.rejected_by.iter();
    by_kind
        .map(|(kind, &count)| Reject {
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
    skipped.truncate(SKIPPED);
    skipped
}

fn skipped_others(report: &Report) -> u64 {
    let named: u64 = skipped(report).iter().map(|kind| kind.1).sum();
    report.input.skipped.values().sum::<u64>() - named
}

fn stages(report: &Report) -> Vec<Bar<'_>> {
    let longest = report
        .run
        .stages
        .iter()
        .map(|stage| stage.seconds)
        .fold(1e-9, f64::max);
    let bar = |stage| Bar {
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
        "verify" => "核对与分组",
        "parts" => "局部复制",
        "write" => "写出",
        "report" => "报告",
        other => other,
    };
    [&stage.name, chinese]
}

pub(super) fn funnel(report: &Report) -> Vec<Step> {
    let search = &report.search;
    let step = |english, chinese, count| Step {
        names: [english, chinese],
        count,
    };
    vec![
        step("documents", "文档", report.records.kept + report.records.removed),
        step("different texts", "不同的文本", search.texts),
        step("different fingerprints", "不同的指纹", search.fingerprints),
        step(
            "candidates from fingerprints",
            "由指纹得到的候选对",
            search.fingerprint_candidates,
        ),
        step(
            "candidates from shingles (short texts and crowds)",
            "由片段得到的候选对（短文本和拥挤的指纹）",
            search.shingle_candidates,
        ),
        step(
            "pairs checked on the text",
            "在原文上核对的文本对",
            search.verified,
        ),
        step("of these, duplicates", "其中确为重复", search.duplicates),
    ]
}
