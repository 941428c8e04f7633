//! Clusterings that repeat passes over the whole set, k-means and hierarchical clustering, compared with one pass with
//! fixed leaders and with centres that move.
//!
//! All of them cluster fingerprints of 128 bits. The mean of fingerprints is taken over vectors of ±1; a moving centre is
//! the sign of the sum.

use anyhow::Result;
use twinprint_cluster::metrics::Agreement;
use twinprint_fingerprint::{HashKey, Width};
use twinprint_text::{Analyzer, Profile};

use crate::corpus::Corpus;
use crate::figure::{count, number, percent};
use crate::random::Random;
use crate::{Report, Setup, Table, Verdict};

const BITS: usize = 128;
/// The largest distance of a page from its leader or centre, and of merged clusters on average.
const RADIUS: u32 = 20;
/// k-means ends after this number of passes at the latest.
const MAX_PASSES: u64 = 100;

/// A clustering, and the work that it took.
struct Clustered {
    /// The cluster of each page.
    clusters: Vec<u32>,
    /// The number of passes over all pages.
    passes: u64,
    /// The number of distances that were computed.
    distances: u64,
}

/// A cluster of one pass.
struct Centre {
    first: u128,
    /// The fingerprint that pages are compared with.
    fingerprint: u128,
    /// The sum of the pages as vectors of ±1.
    sums: [i32; BITS],
}

impl Centre {
    fn new(first: u128) -> Self {
        let mut centre = Self { first, fingerprint: first, sums: [0; BITS] };
        centre.add(first);
        centre
    }

    /// Adds a page to the sum, and moves the fingerprint to its sign. Where the sum is 0, the bit stays.
    fn add(&mut self, page: u128) {
        for (bit, sum) in self.sums.iter_mut().enumerate() {
            *sum += if page >> bit & 1 == 1 { 1 } else { -1 };
            match sum {
                1.. => self.fingerprint |= 1 << bit,
                0 => {}
                _ => self.fingerprint &= !(1 << bit),
            }
        }
    }
}

/// One pass: each page joins the nearest centre within the radius, or begins a cluster. With `moving`, it updates the
/// centre. Returns also the distance of each page from the first one of its cluster.
fn one_pass(pages: &[u128], moving: bool) -> (Clustered, Vec<u32>) {
    let mut centres: Vec<Centre> = Vec::new();
    let mut distances = 0;
    let mut from_first = Vec::new();
    let mut place = |&page: &u128| {
        distances += centres.len() as u64;
        let near = centres.iter().enumerate().map(|(i, centre)| (page.distance(centre.fingerprint), i));
        let Some((_, nearest)) = near.min().filter(|&(distance, _)| distance <= RADIUS) else {
            centres.push(Centre::new(page));
            from_first.push(0);
            return centres.len() as u32 - 1;
        };
        let centre = &mut centres[nearest];
        if moving {
            centre.add(page);
        }
        from_first.push(page.distance(centre.first));
        nearest as u32
    };
    let clusters = pages.iter().map(&mut place).collect();
    (Clustered { clusters, passes: 1, distances }, from_first)
}

/// A fingerprint as a vector of ±1.
fn vector(page: u128) -> [f32; BITS] {
    std::array::from_fn(|bit| if page >> bit & 1 == 1 { 1.0 } else { -1.0 })
}

/// Lloyd's k-means on vectors of ±1. It begins with `k` random pages as centres, and ends when no page changes its cluster.
fn k_means(pages: &[u128], k: usize, random: &mut Random) -> Clustered {
    let vectors: Vec<[f32; BITS]> = pages.iter().map(|&page| vector(page)).collect();
    let mut order: Vec<usize> = (0..pages.len()).collect();
    shuffle(&mut order, random);
    let mut centres: Vec<[f32; BITS]> = order.iter().take(k).map(|&page| vectors[page]).collect();
    let mut clusters = vec![u32::MAX; pages.len()];
    let (mut passes, mut distances) = (0, 0);
    let mut changed = true;
    while changed && passes < MAX_PASSES {
        passes += 1;
        distances += (pages.len() * centres.len()) as u64;
        let squares: Vec<f32> = centres.iter().map(|centre| centre.iter().map(|x| x * x).sum()).collect();
        let nearest = |page: &[f32; BITS]| -> u32 {
            // All pages have the same length, so |x − c|² is ordered as |c|² − 2 x·c.
            let score = |(centre, square): (&[f32; BITS], &f32)| {
                square - 2.0 * centre.iter().zip(page).map(|(c, x)| c * x).sum::<f32>()
            };
            let scores = centres.iter().zip(&squares).map(score).enumerate();
            scores.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(i, _)| i as u32)
        };
        let next: Vec<u32> = vectors.iter().map(nearest).collect();
        changed = next != clusters;
        clusters = next;
        let mut sums = vec![[0.0f32; BITS]; centres.len()];
        let mut sizes = vec![0.0f32; centres.len()];
        for (page, &cluster) in vectors.iter().zip(&clusters) {
            sizes[cluster as usize] += 1.0;
            for (sum, x) in sums[cluster as usize].iter_mut().zip(page) {
                *sum += x;
            }
        }
        for ((centre, sum), size) in centres.iter_mut().zip(&sums).zip(sizes) {
            // The centre of a cluster without pages stays.
            if size > 0.0 {
                *centre = sum.map(|x| x / size);
            }
        }
    }
    Clustered { clusters, passes, distances }
}

/// Hierarchical clustering with average linkage: merges the two clusters with the smallest average distance, until it is
/// above the radius. Each merge looks at all clusters.
fn hierarchical(pages: &[u128]) -> Clustered {
    let n = pages.len();
    let mut distance: Vec<f32> = pages.iter().flat_map(|a| pages.iter().map(move |b| a.distance(*b) as f32)).collect();
    let mut sizes = vec![1.0f32; n];
    let mut clusters: Vec<u32> = (0..n as u32).collect();
    let mut living: Vec<usize> = (0..n).collect();
    let nearest_of = |i: usize, living: &[usize], distance: &[f32]| {
        let others = living.iter().filter(|&&j| j != i).map(|&j| (distance[i * n + j], j));
        others.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))).unwrap_or((f32::INFINITY, i))
    };
    let mut nearest: Vec<(f32, usize)> = (0..n).map(|i| nearest_of(i, &living, &distance)).collect();
    let mut passes = 1;
    while let Some(&a) = living.iter().min_by(|&&a, &&b| nearest[a].0.total_cmp(&nearest[b].0).then(a.cmp(&b))) {
        let (least, b) = nearest[a];
        if least > RADIUS as f32 {
            break;
        }
        passes += 1;
        let (of_a, of_b) = (sizes[a], sizes[b]);
        for &other in &living {
            let merged = (of_a * distance[a * n + other] + of_b * distance[b * n + other]) / (of_a + of_b);
            distance[a * n + other] = merged;
            distance[other * n + a] = merged;
        }
        sizes[a] += of_b;
        living.retain(|&i| i != b);
        let (into, from) = (clusters[a], clusters[b]);
        for cluster in clusters.iter_mut().filter(|cluster| **cluster == from) {
            *cluster = into;
        }
        for &i in &living {
            if i == a || nearest[i].1 == a || nearest[i].1 == b {
                nearest[i] = nearest_of(i, &living, &distance);
            } else if distance[i * n + a] < nearest[i].0 {
                nearest[i] = (distance[i * n + a], a);
            }
        }
    }
    Clustered { clusters, passes, distances: (n * n.saturating_sub(1) / 2) as u64 }
}

/// The share of the pairs of pages in one cluster, before or after, that are so only before or only after.
fn changed_pairs(before: &[u32], after: &[u32]) -> f64 {
    let (mut either, mut changed) = (0u64, 0u64);
    for i in 0..before.len() {
        for j in i + 1..before.len() {
            let (was, is) = (before[i] == before[j], after[i] == after[j]);
            either += u64::from(was || is);
            changed += u64::from(was != is);
        }
    }
    changed as f64 / either.max(1) as f64
}

fn shuffle<T>(items: &mut [T], random: &mut Random) {
    for last in (1..items.len()).rev() {
        items.swap(last, random.below(last + 1));
    }
}

/// The number of different clusters.
fn distinct(clusters: &[u32]) -> usize {
    let mut clusters = clusters.to_vec();
    clusters.sort_unstable();
    clusters.dedup();
    clusters.len()
}

/// Runs the experiment.
pub(crate) fn run(setup: &Setup) -> Result<Report> {
    let mut report = Report::default();
    let mut random = Random::new(setup.seed);
    let corpus = Corpus::labelled(setup, "revisions-zh", "page", setup.pick(300, 1500))?;
    let mut analyzer = Analyzer::new(&Profile::default_for(BITS as u32)?, HashKey::PUBLIC);
    // In a crawl the revisions of a page do not come one after the other.
    let mut order: Vec<usize> = (0..corpus.documents.len()).collect();
    shuffle(&mut order, &mut random);
    let pages: Vec<u128> = order.iter().map(|&i| analyzer.fingerprint(&corpus.documents[i].text)).collect();
    let groups = corpus.duplicate_groups(0.8);
    let truth: Vec<u32> = order.iter().map(|&i| groups[i]).collect();
    let half = pages.len() / 2;
    let mut table = Table::new(
        format!(
            "{} pages of {}, in random order, fingerprints of 128 bits; k-means has as many clusters as there are near-duplicate groups (Jaccard 0.8)",
            count(pages.len() as u64),
            corpus.name
        ),
        ["clustering", "passes", "distances", "clusters", "B-cubed F1", "pairs of the first half that change"],
    );
    let mut ours = Vec::new();
    let mut measure = |name: &'static str, cluster: &mut dyn FnMut(&[u128], &[u32]) -> Clustered| {
        let all = cluster(&pages, &truth);
        let before = cluster(&pages[..half], &truth[..half]);
        let changed = changed_pairs(&before.clusters, &all.clusters[..half]);
        let f1 = Agreement::of(&all.clusters, &truth).bcubed.f1();
        for (figure, value) in
            [("F1", f1), ("changed", changed), ("passes", all.passes as f64), ("distances", all.distances as f64)]
        {
            report.number(format!("{name}: {figure}"), value);
        }
        let (passes, distances) = (count(all.passes), count(all.distances));
        let clusters = count(distinct(&all.clusters) as u64);
        ours.push(format!("{passes} passes, {distances} distances; {} of the pairs of the first half change when the second half comes", percent(changed)));
        table.push([name.to_owned(), passes, distances, clusters, number(f1), percent(changed)]);
    };
    let (moving, from_first) = one_pass(&pages, true);
    let farthest = from_first.iter().copied().max().unwrap_or(0);
    let beyond = from_first.iter().filter(|&&distance| distance > RADIUS).count() as f64 / pages.len() as f64;
    measure("one pass, fixed leaders", &mut |pages, _| one_pass(pages, false).0);
    measure("one pass, moving centres", &mut |pages, _| one_pass(pages, true).0);
    measure("k-means", &mut |pages, truth| k_means(pages, distinct(truth), &mut random));
    measure("hierarchical, average linkage", &mut |pages, _| hierarchical(pages));
    report.tables.push(table);
    report.number("beyond", beyond);
    let figure = |report: &Report, name: &str| report.numbers.get(name).copied().unwrap_or(0.0);
    let [fixed_f1, moving_f1] =
        ["fixed leaders", "moving centres"].map(|name| figure(&report, &format!("one pass, {name}: F1")));
    report.claim(
        "centre",
        &[2],
        "a follower updates the centre of its cluster",
        [
            "updated".to_owned(),
            format!(
                "B-cubed F1 {} with moving centres, {} with fixed leaders; {} clusters by {} distances",
                number(moving_f1),
                number(fixed_f1),
                count(distinct(&moving.clusters) as u64),
                count(moving.distances)
            ),
        ],
        Verdict::Depends,
        format!(
            "a centre drifts: {} of the pages are farther than the radius of 20 from the first page of their cluster, the farthest {farthest} bits. So groups of duplicates keep their leaders, and the stories of `cluster` have centres that move (docs/topics.md).",
            percent(beyond)
        ),
    );
    let [_, _, k_means, hierarchical] = &ours[..] else { return Ok(report) };
    let repeats = |name: &str| Verdict::of(figure(&report, &format!("{name}: passes")) > 1.0);
    let verdicts = ["k-means", "hierarchical, average linkage"].map(repeats);
    report.claim(
        "k-means",
        &[2],
        "K-means needs the whole set and repeated passes",
        ["not incremental".to_owned(), k_means.clone()],
        verdicts[0],
        "with fixed leaders there is one pass, and nothing changes.",
    );
    report.claim(
        "hierarchical",
        &[2],
        "hierarchical clustering needs the whole set and repeated passes",
        ["not incremental".to_owned(), hierarchical.clone()],
        verdicts[1],
        "every merge is a pass over the clusters that are left, after the distances of all pairs.",
    );
    Ok(report)
}
