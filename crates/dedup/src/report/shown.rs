//! Chooses the groups and pairs that the report shows, and reads their texts.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use twinprint_io::results::{DocumentReport, LargeCluster, OrderReport, PairReport, Report};

use super::collect;
use crate::error::DedupError;
use crate::verify::near_misses::NearMiss;
use crate::write::FinishedRun;
use twinprint_io::work::BlockBuffer;

use super::difference::Sides;

/// Groups named.
const LARGEST: usize = 10;
/// Members of a large group named.
const MEMBERS: usize = 5;
/// Characters of text shown of a large group.
const EXCERPT: usize = 160;
/// Doubtful pairs, and pairs that just miss the threshold.
const PAIRS: usize = 6;

/// A report and, for the pages, how the texts of its pairs differ.
pub(crate) struct Shown {
    pub(super) report: Report,
    pub(super) differences: Differences,
}

/// How the texts of the pairs differ, in the order of the report's own lists; empty where no texts were kept.
#[derive(Default)]
pub(super) struct Differences {
    /// Of each large group, where it has different texts.
    pub(super) largest: Vec<Option<Sides>>,
    pub(super) doubtful: Vec<Sides>,
    pub(super) closest_misses: Vec<Sides>,
}

/// No item.
const NONE: u32 = u32::MAX;

/// A pair of items.
#[derive(Clone, Copy)]
struct Pair {
    a: u32,
    b: u32,
    hamming: u32,
    similarity: twinprint_cluster::Similarity,
}

impl Shown {
    /// Collects all but times; `order` is what putting the records in order gave. O(documents), and a sort of the groups; reads some two dozen pairs of texts.
    pub(crate) fn collect(run: &FinishedRun<'_>, order: Option<OrderReport>) -> Result<Self, DedupError> {
        let mut sizes = run.sizes();
        // A group of what is known from before is none of the run's: nothing of it is kept.
        for (size, &class) in sizes.iter_mut().zip(&run.keep.classes) {
            if run.known.of(class).is_some() {
                *size = 0;
            }
        }
        let mut report = collect::numbers(run, &sizes)?;
        report.order = order;
        let farthest = farthest(run);
        let leaders = largest(&sizes);
        let of_largest: Vec<Option<Pair>> = leaders
            .iter()
            .map(|&leader| removed_pair(run, farthest[leader as usize]))
            .collect();
        report.largest = describe(run, &sizes, &leaders, &of_largest)?;
        let doubtful = doubtful(run, &farthest);
        report.doubtful = doubtful.iter().map(|pair| pair_report(run, pair)).collect();
        let misses: Vec<Pair> = run.near_misses.closest(PAIRS).iter().map(missed_pair).collect();
        report.closest_misses = misses.iter().map(|pair| pair_report(run, pair)).collect();
        Ok(Self {
            differences: differences(run, &of_largest, &doubtful, &misses)?,
            report,
        })
    }
}

/// Of each leader, by item, the follower that is least like it; [`NONE`] where all its texts are equal.
fn farthest(run: &FinishedRun<'_>) -> Vec<u32> {
    let mut farthest = vec![NONE; run.outcome.groups.len()];
    for (item, group) in (0u32..).zip(&run.outcome.groups) {
        let slot = &mut farthest[group.leader as usize];
        if group.leader != item && (*slot == NONE || doubt(run, item) < doubt(run, *slot)) {
            *slot = item;
        }
    }
    farthest
}

/// What sorts the followers that are least like their leaders first.
fn doubt(run: &FinishedRun<'_>, item: u32) -> impl Ord + use<> {
    let group = &run.outcome.groups[item as usize];
    // Jaccards are in 0..=1, where the bits of numbers order as they do; where nothing was verified all are the same.
    let jaccard = group.similarity.jaccard.to_bits();
    (jaccard, Reverse(group.distance), run.keep.rank[item as usize])
}

/// The leaders of the largest groups, the largest first.
fn largest(sizes: &[u32]) -> Vec<u32> {
    let mut leaders: Vec<u32> = (0..sizes.len() as u32)
        .filter(|&item| sizes[item as usize] > 1)
        .collect();
    let key = |&item: &u32| (Reverse(sizes[item as usize]), item);
    if leaders.len() > LARGEST {
        leaders.select_nth_unstable_by_key(LARGEST, key);
        leaders.truncate(LARGEST);
    }
    leaders.sort_unstable_by_key(key);
    leaders
}

fn doubtful(run: &FinishedRun<'_>, farthest: &[u32]) -> Vec<Pair> {
    let mut items: Vec<u32> = farthest.iter().copied().filter(|&item| item != NONE).collect();
    if items.len() > PAIRS {
        items.select_nth_unstable_by_key(PAIRS, |&item| doubt(run, item));
        items.truncate(PAIRS);
    }
    items.sort_unstable_by_key(|&item| doubt(run, item));
    items.iter().filter_map(|&item| removed_pair(run, item)).collect()
}

/// A leader and its follower `item`.
fn removed_pair(run: &FinishedRun<'_>, item: u32) -> Option<Pair> {
    let group = run.outcome.groups.get(item as usize)?;
    Some(Pair {
        a: group.leader,
        b: item,
        hamming: group.distance,
        similarity: group.similarity,
    })
}

fn missed_pair(miss: &NearMiss) -> Pair {
    Pair {
        a: miss.earlier,
        b: miss.item,
        hamming: miss.distance,
        similarity: miss.similarity,
    }
}

fn pair_report(run: &FinishedRun<'_>, pair: &Pair) -> PairReport {
    let measured = |value: f64| (!value.is_nan()).then_some(value);
    PairReport {
        a: document(run, pair.a),
        b: document(run, pair.b),
        hamming: pair.hamming,
        jaccard: measured(pair.similarity.jaccard),
        containment: measured(pair.similarity.containment),
    }
}

fn document(run: &FinishedRun<'_>, item: u32) -> DocumentReport {
    let document = run.keep.representative[item as usize];
    let (source, line) = run.names.place(document);
    DocumentReport {
        id: run.names.id(document).into_owned(),
        source: source.to_owned(),
        line,
    }
}

fn describe(
    run: &FinishedRun<'_>,
    sizes: &[u32],
    leaders: &[u32],
    farthest: &[Option<Pair>],
) -> Result<Vec<LargeCluster>, DedupError> {
    let mut members: BTreeMap<u32, Vec<String>> = leaders.iter().map(|&item| (item, Vec::new())).collect();
    for document in 0..run.corpus.documents.len() {
        let verdict = run.verdict(document);
        if let Some(named) = members.get_mut(&verdict.items.1)
            && verdict.leader != document
            && named.len() < MEMBERS
        {
            named.push(run.names.id(document).into_owned());
        }
    }
    let mut buffer = BlockBuffer::default();
    let describe = |(&item, farthest): (&u32, &Option<Pair>)| {
        let leader = run.keep.representative[item as usize];
        let DocumentReport { id, source, line } = document(run, item);
        let text = text(run, item, &mut buffer)?;
        Ok(LargeCluster {
            cluster_id: leader,
            size: sizes[item as usize],
            leader: id,
            source,
            line,
            members: members.remove(&item).unwrap_or_default(),
            text: text.chars().take(EXCERPT).collect(),
            farthest: farthest.as_ref().map(|pair| pair_report(run, pair)),
        })
    };
    leaders.iter().zip(farthest).map(describe).collect()
}

/// The canonical text of an item; empty where no texts were kept.
fn text<'b>(run: &FinishedRun<'_>, item: u32, buffer: &'b mut BlockBuffer) -> Result<&'b str, DedupError> {
    match run.spool {
        Some(spool) => Ok(spool.text(
            run.corpus.classes.text[run.keep.classes[item as usize] as usize],
            buffer,
        )?),
        None => Ok(""),
    }
}

fn differences(
    run: &FinishedRun<'_>,
    largest: &[Option<Pair>],
    doubtful: &[Pair],
    misses: &[Pair],
) -> Result<Differences, DedupError> {
    if run.spool.is_none() {
        return Ok(Differences::default());
    }
    // Two texts are held at a time.
    let (mut of_a, mut of_b) = (BlockBuffer::default(), BlockBuffer::default());
    let mut sides = |pair: &Pair| {
        let measure = |item: u32| run.corpus.classes.measure[run.keep.classes[item as usize] as usize];
        let measure = measure(pair.a).with(measure(pair.b));
        Ok(Sides::of(
            text(run, pair.a, &mut of_a)?,
            text(run, pair.b, &mut of_b)?,
            measure,
        ))
    };
    Ok(Differences {
        largest: largest
            .iter()
            .map(|pair| pair.as_ref().map(&mut sides).transpose())
            .collect::<Result<_, DedupError>>()?,
        doubtful: doubtful
            .iter()
            .map(&mut sides)
            .collect::<Result<_, DedupError>>()?,
        closest_misses: misses.iter().map(&mut sides).collect::<Result<_, _>>()?,
    })
}
