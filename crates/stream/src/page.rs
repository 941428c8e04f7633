//! `stories.html`: one file in two languages that needs nothing else: the largest stories over time, their topics and members.
//!
//! Whatever comes from a corpus goes through the template's escaping, and names through `visible` besides.

use std::cmp::Reverse;

use askama::Template;
use twinprint_cluster::stories::{Story, Topic};

use super::run::ClusterSummary;
use super::time::{day, stamp};
use twinprint_io::page::filters;

/// Stories shown, the largest.
const SHOWN: usize = 200;
/// Of these, stories drawn over time.
const DRAWN: usize = 40;
/// Stories held before the smallest are dropped.
const HELD: usize = 4 * SHOWN;
/// Names of a topic told in a heading.
const HEADING: usize = 5;

/// A story to be shown.
#[derive(Debug)]
struct ShownStory {
    id: u64,
    size: u64,
    distinct: u32,
    seen: [i64; 2],
    terms: Vec<String>,
    title: String,
    titles: Vec<String>,
}

impl ShownStory {
    fn heading(&self) -> String {
        let terms = self.terms.iter().take(HEADING);
        terms.map(String::as_str).collect::<Vec<_>>().join(" · ")
    }

    fn when(&self) -> String {
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

/// The largest stories met.
#[derive(Debug, Default)]
pub(super) struct Shown(Vec<ShownStory>);

impl Shown {
    /// Stories of one document are not shown.
    pub(super) fn add(&mut self, story: &Story, topic: &Topic) {
        if story.size < 2 {
            return;
        }
        self.0.push(ShownStory {
            id: story.id,
            size: story.size,
            distinct: story.members,
            seen: story.seen,
            terms: topic.terms.iter().map(|term| term.text.clone()).collect(),
            title: topic.title.clone(),
            titles: story.titles().map(str::to_owned).collect(),
        });
        if self.0.len() > HELD {
            self.cut();
        }
    }

    fn cut(&mut self) {
        self.0.sort_by_key(|story| (Reverse(story.size), story.id));
        self.0.truncate(SHOWN);
    }

    /// The page.
    pub(super) fn html(mut self, summary: &ClusterSummary, timed: bool) -> String {
        self.cut();
        let page = Page {
            summary,
            timed,
            bars: if timed { bars(&self.0) } else { Vec::new() },
            span: span(&self.0),
            stories: self.0,
        };
        // Rendering writes to a string, which does not fail; the filters do not either.
        page.render().unwrap_or_default()
    }
}

/// A story over time; places in per cent of the width and in pixels down.
struct Bar {
    id: u64,
    x: String,
    width: String,
    y: usize,
    label: String,
    size: u64,
    when: String,
}

#[derive(Template)]
#[template(path = "stories.html")]
struct Page<'p> {
    summary: &'p ClusterSummary,
    timed: bool,
    stories: Vec<ShownStory>,
    bars: Vec<Bar>,
    /// The first and the last day drawn.
    span: [String; 2],
}

impl Page<'_> {
    fn some_are_hidden(&self) -> bool {
        (self.stories.len() as u64) < self.summary.stories[1]
    }

    fn height(&self) -> usize {
        self.bars.len() * ROW + 26
    }
}

/// Pixels of a drawn story.
const ROW: usize = 30;

fn ends(stories: &[ShownStory]) -> [i64; 2] {
    let drawn = || stories.iter().take(DRAWN);
    [
        drawn().map(|story| story.seen[0]).min().unwrap_or(0),
        drawn().map(|story| story.seen[1]).max().unwrap_or(0),
    ]
}

fn span(stories: &[ShownStory]) -> [String; 2] {
    ends(stories).map(|seconds| day(seconds).unwrap_or_default())
}

fn bars(stories: &[ShownStory]) -> Vec<Bar> {
    let [first, last] = ends(stories);
    let length = (last.saturating_sub(first)).max(1) as f64;
    let mut drawn: Vec<&ShownStory> = stories.iter().take(DRAWN).collect();
    drawn.sort_by_key(|story| (story.seen[0], story.id));
    let bar = |(place, story): (usize, &ShownStory)| {
        let share = |seconds: i64| (seconds.saturating_sub(first)) as f64 / length * 100.0;
        let [from, to] = story.seen.map(share);
        Bar {
            id: story.id,
            x: format!("{from:.2}%"),
            width: format!("{:.2}%", (to - from).max(0.4)),
            y: place * ROW,
            label: story.heading(),
            size: story.size,
            when: story.when(),
        }
    };
    drawn.into_iter().enumerate().map(bar).collect()
}
