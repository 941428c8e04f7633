//! One-pass clustering: leaders and followers, and clusters of equal fingerprints at 16 bits and other widths.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::time::Instant;

use anyhow::Result;
use twinprint_cluster::metrics::Agreement;
use twinprint_cluster::{Candidate, JoinRole, Neighbors, Pairs, Similarity, Verify, leader_follower};
use twinprint_eval::plot::{Axis, Plot, Series, bilingual};
use twinprint_fingerprint::{HashKey, Width};
use twinprint_text::compare::estimated_angle;
use twinprint_text::{Analyzer, KeywordExtractor, Profile};

use crate::corpus::Corpus;
use crate::figure::{count, number, seconds};
use crate::{Picture, Report, Setup, Table, Verdict};

/// The profile with word rarities, for keywords of clusters.
const KEYWORD_PROFILE: &str = "tp1-words-lntf.zhen1-64";

/// Fingerprints of which one is near another if their distance is at most `k`. The similarity is the cosine that the
/// distance estimates.
struct Near<'f> {
    fingerprints: &'f [u128],
    bits: u32,
    k: u32,
}

impl Near<'_> {
    fn distance(&self, a: u32, b: u32) -> u32 {
        let unused = 128 - self.bits;
        let [a, b] = [a, b].map(|item| self.fingerprints[item as usize] << unused);
        a.distance(b)
    }
}

impl Neighbors for Near<'_> {
    fn connected(&self, _item: u32) -> bool {
        true
    }

    fn join_role(&self, _item: u32) -> JoinRole {
        JoinRole::None
    }

    fn links(&self, item: u32, since: u32, out: &mut Vec<u32>) {
        out.extend((since..item).filter(|&earlier| self.distance(item, earlier) <= self.k));
    }

    fn candidates(&self, item: u32, range: Range<u32>, is_wanted: &dyn Fn(u32) -> bool, out: &mut Vec<Candidate>) {
        let near = range.filter(|&id| is_wanted(id)).map(|id| Candidate {
            id,
            rank: id,
            distance: self.distance(item, id),
        });
        out.extend(near.filter(|candidate| candidate.distance <= self.k));
    }

    fn place(&mut self, _item: u32, _leads: bool) {}
}

impl Verify for Near<'_> {
    fn cost(&self, _item: u32) -> usize {
        16
    }

    fn begin_block(&mut self, _items: &[u32]) {}

    fn load(&mut self, _pairs: &[(u32, Candidate)]) {}

    fn verify(&self, _item: u32, candidate: Candidate, at_least: f64) -> Option<Similarity> {
        let jaccard = estimated_angle(candidate.distance, self.bits).cosine.max(0.0);
        (jaccard >= at_least).then_some(Similarity { jaccard, containment: jaccard })
    }
}

/// Clusters documents by leaders and followers within distance `k`.
fn leaders(fingerprints: &[u128], bits: u32, k: u32) -> Vec<u32> {
    let mut near = Near { fingerprints, bits, k };
    let outcome =
        leader_follower(fingerprints.len() as u32, &mut near, Pairs::Leaders, 1 << 30, |_, _, _| {}, |_| true);
    outcome.groups.iter().map(|group| group.leader).collect()
}

/// Clusters documents whose fingerprints are equal in their low `bits` bits.
fn equal_clusters(fingerprints: &[u128], bits: u32) -> Vec<u32> {
    let mut numbers: HashMap<u128, u32> = HashMap::new();
    let of = |fingerprint: &u128| {
        let next = numbers.len() as u32;
        *numbers.entry(fingerprint << (128 - bits)).or_insert(next)
    };
    fingerprints.iter().map(of).collect()
}

/// Labels as numbers.
fn label_numbers<'l>(labels: impl Iterator<Item = &'l str>) -> Vec<u32> {
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    labels
        .map(|label| {
            let next = numbers.len() as u32;
            *numbers.entry(label).or_insert(next)
        })
        .collect()
}

/// Runs the experiment.
pub(crate) fn run(setup: &Setup) -> Result<Report> {
    let mut report = Report::default();
    let pages = Corpus::labelled(setup, "revisions-zh", "page", 4000)?;
    let topics = Corpus::labelled(setup, "news-topics-zh", "topic", 500)?;
    let mut analyzer = Analyzer::new(&Profile::default_for(128)?, HashKey::PUBLIC);
    let mut fingerprints = |corpus: &Corpus| -> Vec<u128> {
        corpus.documents.iter().map(|document| analyzer.fingerprint(&document.text)).collect()
    };
    let of_pages = fingerprints(&pages);
    let of_topics = fingerprints(&topics);
    let duplicates = pages.duplicate_groups(0.8);
    let truth_topics = label_numbers(topics.documents.iter().map(|document| document.label.as_str()));
    let mut table = Table::new(
        "One-pass clusterings: agreement with near-duplicate groups (Jaccard 0.8), and with topics",
        ["clustering", "clusters", "pair precision", "pair recall", "B-cubed F1", "topics: pair precision", "topics: pair recall", "topics: B-cubed F1"],
    );
    let mut points = [Vec::new(), Vec::new()];
    let mut row = |name: String, clusters: [Vec<u32>; 2]| {
        let of_pages = Agreement::of(&clusters[0], &duplicates);
        let of_topics = Agreement::of(&clusters[1], &truth_topics);
        let figures = [&of_pages, &of_topics].map(|a| [a.pairwise.precision, a.pairwise.recall, a.bcubed.f1()]);
        let mut cells = vec![name.clone(), count(of_pages.clusters[0] as u64)];
        cells.extend(figures.iter().flatten().map(|&figure| number(figure)));
        table.rows.push(cells);
        report.number(format!("{name}: duplicates"), figures[0][2]);
        report.number(format!("{name}: precision"), figures[0][0]);
        report.number(format!("{name}: recall"), figures[0][1]);
        report.number(format!("{name}: topics"), figures[1][2]);
    };
    for bits in [4, 8, 12, 16, 20, 24, 32, 64] {
        let clusters = [&of_pages, &of_topics].map(|rows| equal_clusters(rows, bits));
        for (points, (clusters, truth)) in
            points.iter_mut().zip(clusters.iter().zip([&duplicates, &truth_topics]))
        {
            points.push((f64::from(bits), Agreement::of(clusters, truth).bcubed.f1()));
        }
        row(format!("equal at {bits} bits"), clusters);
    }
    for (bits, k) in [(16, 1), (64, 3), (64, 10), (128, 20)] {
        row(format!("leaders, {bits} bits, k = {k}"), [&of_pages, &of_topics].map(|rows| leaders(rows, bits, k)));
    }
    report.tables.push(table);
    claims(&mut report);
    one_pass(&of_pages, &mut report);
    cluster_keywords(&topics, &mut report)?;
    report.pictures.push(picture(points));
    Ok(report)
}

fn claims(report: &mut Report) {
    let figure = |name: &str| report.numbers.get(name).copied().unwrap_or(0.0);
    let sixteen = ["precision", "recall", "duplicates", "topics"].map(|name| figure(&format!("equal at 16 bits: {name}")));
    let leaders = figure("leaders, 64 bits, k = 10: duplicates");
    let ours = format!(
        "near-duplicates: precision {}, recall {}, B-cubed F1 {} (leaders at k = 10: {}); topics: F1 {}",
        number(sixteen[0]),
        number(sixteen[1]),
        number(sixteen[2]),
        number(leaders),
        number(sixteen[3])
    );
    report.claim(
        "sixteen-bits",
        &[2],
        "for clustering, 16 bits and equal fingerprints may do; to be settled by experiment",
        ["may do".to_owned(), ours],
        Verdict::Fails,
        "equal fingerprints split every group whose members differ in one sign; leaders with a radius agree better with the truth; topics are found by neither.",
    );
}

/// Times one pass over growing parts of the documents.
fn one_pass(fingerprints: &[u128], report: &mut Report) {
    let clock = Instant::now();
    let clusters = leaders(fingerprints, 64, 3);
    let time = clock.elapsed().as_secs_f64();
    let all = fingerprints.len();
    // The clusters of the first half do not change when the second half comes.
    let half = leaders(&fingerprints[..all / 2], 64, 3);
    let kept = half == clusters[..all / 2];
    report.number("unchanged", f64::from(u8::from(kept)));
    report.claim(
        "one-pass",
        &[2],
        "leader-follower clustering is incremental: a new page is placed at once, and earlier pages are not visited again",
        ["one pass".to_owned(), format!("{} documents in {}", count(all as u64), seconds(time))],
        Verdict::of(kept),
        "the clusters of the first half stay as they are when the second half comes; neighbours are found by comparing all fingerprints here, and by tables in `cluster`.",
    );
}

/// The topic of each label: the words that are among the ten keywords of most of its documents.
fn cluster_keywords(topics: &Corpus, report: &mut Report) -> Result<()> {
    let mut extractor = KeywordExtractor::new(&Profile::parse(KEYWORD_PROFILE)?, HashKey::PUBLIC)?;
    let mut counts: BTreeMap<&str, BTreeMap<String, u32>> = BTreeMap::new();
    for document in &topics.documents {
        let words = counts.entry(&document.label).or_default();
        for keyword in extractor.keywords(&document.text, 10) {
            *words.entry(keyword.name).or_default() += 1;
        }
    }
    let mut table =
        Table::new("Topics: the words that are among the ten keywords of most documents of a label", ["label", "words"]);
    for (label, words) in counts {
        let mut words: Vec<(String, u32)> = words.into_iter().collect();
        words.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let words: Vec<String> = words.into_iter().take(6).map(|(word, _)| word).collect();
        table.push([label.to_owned(), words.join(" · ")]);
    }
    report.number("clusters with keywords", table.rows.len() as f64);
    report.claim(
        "topics",
        &[2],
        "the topic of each cluster can be extracted",
        ["topics".to_owned(), format!("six words for each of {} labels", table.rows.len())],
        Verdict::Holds,
        "`cluster` finds the topics of its own clusters by comparing them with one another; docs/topics.md lists thirty.",
    );
    report.tables.push(table);
    Ok(())
}

fn picture(points: [Vec<(f64, f64)>; 2]) -> Picture {
    let [duplicates, topics] = points;
    Picture {
        name: "clustering",
        caption: "B-cubed F1 of clusters of equal fingerprints over the width".to_owned(),
        plot: Plot {
            title: "Clusters of equal fingerprints".to_owned(),
            x: Axis::linear(bilingual("bits", "位数"), 0.0, 64.0, 8.0, 0),
            y: Axis::linear(bilingual("B-cubed F1", "B-cubed F1"), 0.0, 1.0, 0.2, 1),
            series: vec![
                Series { name: bilingual("near-duplicate groups", "近似重复组"), points: duplicates, dashed: false },
                Series { name: bilingual("topics", "主题"), points: topics, dashed: false },
            ],
            marks: Vec::new(),
        },
    }
}
