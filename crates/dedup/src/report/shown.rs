//! The groups and pairs that the report shows as examples, with their texts.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use twinprint_io::results::{DocumentReport, LargeCluster, OrderReport, PairReport, Report};

use super::collect;
use super::difference::TextDifference;
use crate::error::DedupError;
use crate::ids::{Id, IdVec, ItemId, ids};
use crate::verify::near_misses::NearMiss;
use crate::write::FinishedRun;
use twinprint_io::work::BlockBuffer;

/// The largest number of groups that the report shows.
const MAX_GROUPS: usize = 10;
/// The largest number of members that are shown of a group.
const MAX_MEMBERS: usize = 5;
/// The number of characters of text that the report shows of a group.
const EXCERPT_CHARS: usize = 160;
/// The largest number of pairs in the list of doubtful pairs, and in the list of near misses.
const MAX_PAIRS: usize = 6;

/// A report, and the differences between the texts of the pairs that its pages show.
pub(crate) struct Shown {
    pub(super) report: Report,
    pub(super) differences: Differences,
}

/// The differences between the texts of each pair that the report shows, in the order of its lists; empty in a run
/// without verification.
#[derive(Default)]
pub(super) struct Differences {
    /// The differences of the pair shown for each large group; `None` if all texts of the group are equal.
    pub(super) largest: Vec<Option<TextDifference>>,
    pub(super) doubtful: Vec<TextDifference>,
    pub(super) closest_misses: Vec<TextDifference>,
}

/// A pair of items that the report may show.
#[derive(Clone, Copy)]
struct ItemPair {
    a: ItemId,
    b: ItemId,
    hamming: u32,
    similarity: twinprint_cluster::Similarity,
}

impl Shown {
    /// A report without examples.
    pub(crate) fn without_examples(report: Report) -> Self {
        Self {
            report,
            differences: Differences::default(),
        }
    }

    /// Collects the report without its times, and compares at most some twenty pairs of texts. `order` is the outcome
    /// of putting the records in order. O(documents), plus a sort of the groups.
    pub(crate) fn collect(run: &FinishedRun<'_>, order: Option<OrderReport>) -> Result<Self, DedupError> {
        let mut sizes = run.sizes();
        // All documents of a group of known texts are removed, so such a group is not counted.
        for (size, &class) in sizes.iter_mut().zip(&run.tables.keep.classes) {
            if run.tables.known.of(class).is_some() {
                *size = 0;
            }
        }
        let mut report = collect::counts(run, &sizes)?;
        report.order = order;
        let farthest = farthest(run);
        let leaders = largest(&sizes);
        let of_largest: Vec<Option<ItemPair>> = leaders
            .iter()
            .map(|&leader| {
                Some(farthest[leader])
                    .filter(|&item| item != leader)
                    .map(|item| removed_pair(run, item))
            })
            .collect();
        report.largest = describe(run, &sizes, &leaders, &of_largest)?;
        let doubtful = doubtful(run, &farthest);
        report.doubtful = doubtful.iter().map(|pair| pair_report(run, pair)).collect();
        let misses = missed_pairs(run);
        report.closest_misses = misses.iter().map(|pair| pair_report(run, pair)).collect();
        Ok(Self {
            differences: differences(run, &of_largest, &doubtful, &misses)?,
            report,
        })
    }
}

/// For each leader, its least similar follower; for an item without followers, the item itself.
fn farthest(run: &FinishedRun<'_>) -> IdVec<ItemId, ItemId> {
    let groups = run.groups();
    let mut farthest: IdVec<ItemId, ItemId> = ids(groups.len()).collect();
    for (item, group) in groups.entries() {
        let leader = ItemId::new(group.leader);
        let current = farthest[leader];
        if leader != item && (current == leader || doubt(run, item) < doubt(run, current)) {
            farthest[leader] = item;
        }
    }
    farthest
}

/// A sort key of followers. The follower that is the least similar to its leader comes first.
fn doubt(run: &FinishedRun<'_>, item: ItemId) -> impl Ord + use<> {
    let group = &run.groups()[item];
    // Jaccards are in 0..=1, where the bit patterns of floats sort like the numbers. Without verification all Jaccards
    // are the same NaN.
    let jaccard = group.similarity.jaccard.to_bits();
    (jaccard, Reverse(group.distance), run.tables.keep.rank[item])
}

/// The leaders of the largest groups, the largest group first.
fn largest(sizes: &IdVec<ItemId, u32>) -> Vec<ItemId> {
    let mut leaders: Vec<ItemId> = sizes.ids().filter(|&item| sizes[item] > 1).collect();
    let key = |&item: &ItemId| (Reverse(sizes[item]), item);
    if leaders.len() > MAX_GROUPS {
        leaders.select_nth_unstable_by_key(MAX_GROUPS, key);
        leaders.truncate(MAX_GROUPS);
    }
    leaders.sort_unstable_by_key(key);
    leaders
}

/// For each group, the pair of a leader and its least similar follower; the least similar pairs of all groups come
/// first.
fn doubtful(run: &FinishedRun<'_>, farthest: &IdVec<ItemId, ItemId>) -> Vec<ItemPair> {
    let followers = farthest.entries().filter(|&(leader, &item)| item != leader);
    let mut items: Vec<ItemId> = followers.map(|(_, &item)| item).collect();
    if items.len() > MAX_PAIRS {
        items.select_nth_unstable_by_key(MAX_PAIRS, |&item| doubt(run, item));
        items.truncate(MAX_PAIRS);
    }
    items.sort_unstable_by_key(|&item| doubt(run, item));
    items.iter().map(|&item| removed_pair(run, item)).collect()
}

/// The pair of a follower and its leader.
fn removed_pair(run: &FinishedRun<'_>, item: ItemId) -> ItemPair {
    let group = &run.groups()[item];
    ItemPair {
        a: ItemId::new(group.leader),
        b: item,
        hamming: group.distance,
        similarity: group.similarity,
    }
}

/// The closest near misses.
fn missed_pairs(run: &FinishedRun<'_>) -> Vec<ItemPair> {
    let closest = run.tables.near_misses.closest(MAX_PAIRS);
    let ranks: BTreeSet<u64> = closest
        .iter()
        .flat_map(|miss| [miss.earlier, miss.item])
        .collect();
    let items = run.tables.keep.rank.entries();
    let items: BTreeMap<u64, ItemId> = items
        .map(|(item, &rank)| (u64::from(rank), item))
        .filter(|(rank, _)| ranks.contains(rank))
        .collect();
    let pair = |miss: &NearMiss| {
        Some(ItemPair {
            a: *items.get(&miss.earlier)?,
            b: *items.get(&miss.item)?,
            hamming: miss.distance,
            similarity: miss.similarity,
        })
    };
    closest.iter().filter_map(pair).collect()
}

fn pair_report(run: &FinishedRun<'_>, pair: &ItemPair) -> PairReport {
    let measured = |value: f64| (!value.is_nan()).then_some(value);
    PairReport {
        a: document(run, pair.a),
        b: document(run, pair.b),
        hamming: pair.hamming,
        jaccard: measured(pair.similarity.jaccard),
        containment: measured(pair.similarity.containment),
    }
}

fn document(run: &FinishedRun<'_>, item: ItemId) -> DocumentReport {
    let document = run.tables.keep.representative[item];
    let (source, line) = run.names.place(document);
    DocumentReport {
        id: run.names.id(document).into_owned(),
        source: source.to_owned(),
        line,
    }
}

fn describe(
    run: &FinishedRun<'_>,
    sizes: &IdVec<ItemId, u32>,
    leaders: &[ItemId],
    farthest: &[Option<ItemPair>],
) -> Result<Vec<LargeCluster>, DedupError> {
    let mut members: BTreeMap<ItemId, Vec<String>> = leaders.iter().map(|&item| (item, Vec::new())).collect();
    for document in run.tables.corpus.documents.document_ids() {
        let verdict = run.verdict(document);
        if let Some(named) = members.get_mut(&verdict.leader_item)
            && verdict.leader != document
            && named.len() < MAX_MEMBERS
        {
            named.push(run.names.id(document).into_owned());
        }
    }
    let mut buffer = BlockBuffer::default();
    let describe = |(&item, farthest): (&ItemId, &Option<ItemPair>)| {
        let leader = run.tables.keep.representative[item];
        let DocumentReport { id, source, line } = document(run, item);
        let text = text(run, item, &mut buffer)?;
        Ok(LargeCluster {
            cluster_id: leader.get(),
            size: sizes[item],
            leader: id,
            source,
            line,
            members: members.remove(&item).unwrap_or_default(),
            text: text.chars().take(EXCERPT_CHARS).collect(),
            farthest: farthest.as_ref().map(|pair| pair_report(run, pair)),
        })
    };
    leaders.iter().zip(farthest).map(describe).collect()
}

/// The canonical text of an item; empty in a run without verification.
fn text<'b>(run: &FinishedRun<'_>, item: ItemId, buffer: &'b mut BlockBuffer) -> Result<&'b str, DedupError> {
    match &run.tables.spool {
        Some(spool) => Ok(spool.text(
            run.tables.corpus.classes.text[run.tables.keep.classes[item]],
            buffer,
        )?),
        None => Ok(""),
    }
}

fn differences(
    run: &FinishedRun<'_>,
    largest: &[Option<ItemPair>],
    doubtful: &[ItemPair],
    misses: &[ItemPair],
) -> Result<Differences, DedupError> {
    if run.tables.spool.is_none() {
        return Ok(Differences::default());
    }
    // Two texts are in memory at a time.
    let (mut of_a, mut of_b) = (BlockBuffer::default(), BlockBuffer::default());
    let mut sides = |pair: &ItemPair| {
        let measure = |item: ItemId| run.tables.corpus.classes.measure[run.tables.keep.classes[item]];
        let measure = measure(pair.a).with(measure(pair.b));
        Ok(TextDifference::of(
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
