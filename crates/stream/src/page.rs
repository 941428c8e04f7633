//! `stories.html`: the largest stories over time, with their topics and titles, as one self-contained page in two
//! languages.
//!
//! The template escapes text of the corpus. Names also pass the `name` filter, which shows characters that would
//! otherwise be invisible.

use std::cmp::Reverse;

use askama::Template;
use twinprint_cluster::stories::{Estimate, Story, Topic};

use super::cosine_chart::CosineChart;
use super::summary::{ClusterSummary, StoryThresholds};
use super::time::{day, stamp};
use twinprint_io::page::filters;

/// The largest number of stories on the page; the largest stories are shown.
const MAX_STORIES: usize = 200;
/// The largest number of stories in the chart over time; the largest stories of the page are shown.
const MAX_BARS: usize = 40;
/// The number of stories in memory at which the smallest of them are dropped.
const MAX_HELD: usize = 4 * MAX_STORIES;
/// The number of terms in the heading of a story.
const HEADING_TERMS: usize = 5;

/// A story, as the page shows it.
#[derive(Debug)]
struct PageStory {
    id: u64,
    size: u64,
    /// The number of the story's documents that are not duplicates of another.
    distinct: u32,
    /// The first and the last time of the story's documents, in seconds since 1970.
    seen: [i64; 2],
    terms: Vec<String>,
    title: String,
    titles: Vec<String>,
}

impl PageStory {
    fn heading(&self) -> String {
        let terms = self.terms.iter().take(HEADING_TERMS);
        terms.map(String::as_str).collect::<Vec<_>>().join(" · ")
    }

    /// Formats the day of the first and the day of the last document.
    fn days(&self) -> String {
        let [first, last] = self.seen.map(|seconds| day(seconds).unwrap_or_default());
        if first == last {
            first
        } else {
            format!("{first} – {last}")
        }
    }

    fn stamps(&self) -> [String; 2] {
        self.seen.map(|seconds| stamp(seconds).unwrap_or_default())
    }
}

/// The largest stories added so far, for the page.
#[derive(Debug, Default)]
pub(super) struct StoriesPage(Vec<PageStory>);

impl StoriesPage {
    /// Adds a story. A story of one document is left out.
    pub(super) fn add(&mut self, story: &Story, topic: &Topic) {
        if story.size < 2 {
            return;
        }
        self.0.push(PageStory {
            id: story.id,
            size: story.size,
            distinct: story.members,
            seen: story.seen,
            terms: topic.terms.iter().map(|term| term.text.clone()).collect(),
            title: topic.title.clone(),
            titles: story.titles().map(str::to_owned).collect(),
        });
        if self.0.len() > MAX_HELD {
            self.drop_smallest();
        }
    }

    fn drop_smallest(&mut self) {
        self.0.sort_by_key(|story| (Reverse(story.size), story.id));
        self.0.truncate(MAX_STORIES);
    }

    /// Renders the page as HTML. It shows the cosines of `estimate`, and times if `timed` is true.
    pub(super) fn html(
        mut self,
        summary: &ClusterSummary,
        estimate: Option<&Estimate>,
        timed: bool,
    ) -> String {
        self.drop_smallest();
        let thresholds = summary.thresholds.as_ref();
        let page = Page {
            summary,
            thresholds,
            cosines: estimate
                .zip(thresholds)
                .map(|(estimate, thresholds)| CosineChart::new(estimate, thresholds)),
            timed,
            bars: if timed { bars(&self.0) } else { Vec::new() },
            span: span(&self.0),
            stories: self.0,
        };
        // Rendering cannot fail: it writes to a string, and no filter of the template returns an error.
        page.render().unwrap_or_default()
    }
}

/// A story in the chart over time: `x` and `width` in per cent, `y` in pixels.
struct Bar {
    id: u64,
    x: String,
    width: String,
    y: usize,
    label: String,
    size: u64,
    days: String,
}

#[derive(Template)]
#[template(path = "stories.html")]
struct Page<'p> {
    summary: &'p ClusterSummary,
    thresholds: Option<&'p StoryThresholds>,
    /// The chart of the cosines that the thresholds were estimated from.
    cosines: Option<CosineChart>,
    timed: bool,
    stories: Vec<PageStory>,
    bars: Vec<Bar>,
    /// The first and the last day of the chart.
    span: [String; 2],
}

impl Page<'_> {
    fn some_are_hidden(&self) -> bool {
        (self.stories.len() as u64) < self.summary.stories[1]
    }

    fn height(&self) -> usize {
        self.bars.len() * BAR_HEIGHT + 26
    }
}

/// The height of a bar with its label, in pixels.
const BAR_HEIGHT: usize = 30;

/// The first and the last time of all stories in the chart.
fn ends(stories: &[PageStory]) -> [i64; 2] {
    let drawn = || stories.iter().take(MAX_BARS);
    [
        drawn().map(|story| story.seen[0]).min().unwrap_or(0),
        drawn().map(|story| story.seen[1]).max().unwrap_or(0),
    ]
}

fn span(stories: &[PageStory]) -> [String; 2] {
    ends(stories).map(|seconds| day(seconds).unwrap_or_default())
}

fn bars(stories: &[PageStory]) -> Vec<Bar> {
    let [first, last] = ends(stories);
    let duration = (last.saturating_sub(first)).max(1) as f64;
    let mut drawn: Vec<&PageStory> = stories.iter().take(MAX_BARS).collect();
    drawn.sort_by_key(|story| (story.seen[0], story.id));
    let bar = |(row, story): (usize, &PageStory)| {
        let share = |seconds: i64| (seconds.saturating_sub(first)) as f64 / duration * 100.0;
        let [from, to] = story.seen.map(share);
        Bar {
            id: story.id,
            x: format!("{from:.2}%"),
            width: format!("{:.2}%", (to - from).max(0.4)),
            y: row * BAR_HEIGHT,
            label: story.heading(),
            size: story.size,
            days: story.days(),
        }
    };
    drawn.into_iter().enumerate().map(bar).collect()
}
