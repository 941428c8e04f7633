//! The report with its examples: groups and pairs, and the differences between their texts.

use std::collections::{BTreeMap, BTreeSet};

use twinprint_io::results::{DocumentReport, LargeCluster, OrderReport, PairReport, Report};
use twinprint_io::work::{BlockBuffer, Spool};
use twinprint_text::Measure;

use super::collect;
use super::difference::{LazyDifference, TextDifference};
use super::examples::{ExampleGroup, Examples, ItemPair};
use crate::error::DedupError;
use crate::ids::{Id, IdVec, ItemId, ids};
use crate::write::FinishedRun;

/// The largest number of members that are shown of a group.
const MAX_MEMBERS: usize = 5;
/// The number of characters of text that the report shows of a group.
const EXCERPT_CHARS: usize = 160;

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
    pub(super) largest: Vec<Option<LazyDifference>>,
    pub(super) doubtful: Vec<LazyDifference>,
    pub(super) closest_misses: Vec<LazyDifference>,
}

/// The items that a report shows, by their positions in keep order.
pub(crate) trait ShownItems {
    /// The number in input order of the document that stands for the item.
    fn number(&self, item: u64) -> Result<u32, DedupError>;

    /// The document that stands for the item.
    fn document(&self, item: u64) -> Result<DocumentReport, DedupError>;

    /// The canonical text of the item and its measure; `None` in a run without verification.
    fn text<'b>(
        &'b self,
        item: u64,
        buffer: &'b mut BlockBuffer,
    ) -> Result<Option<(&'b str, Measure)>, DedupError>;
}

/// The names of members of the groups that the report shows, by a number of the group.
#[derive(Debug, Default)]
pub(crate) struct ShownMembers(BTreeMap<u64, Vec<String>>);

impl ShownMembers {
    /// No members of the given groups.
    pub(crate) fn of(groups: impl IntoIterator<Item = u64>) -> Self {
        Self(groups.into_iter().map(|group| (group, Vec::new())).collect())
    }

    /// Adds a document that does not lead its group. Documents are added in input order.
    pub(crate) fn add<N: Into<String>>(&mut self, group: u64, name: impl FnOnce() -> N) {
        if let Some(named) = self.0.get_mut(&group)
            && named.len() < MAX_MEMBERS
        {
            named.push(name().into());
        }
    }

    fn take(&mut self, group: u64) -> Vec<String> {
        self.0.remove(&group).unwrap_or_default()
    }
}

impl Shown {
    /// Collects the report of a run in memory without its times. `spool` has the texts; `None` in a run without verification.
    /// O(documents).
    pub(crate) fn collect(run: &FinishedRun<'_>, spool: Option<&Spool>) -> Result<Self, DedupError> {
        let mut sizes = run.sizes();
        // All documents of a group of known texts are removed, so such a group is not counted.
        for (size, class) in sizes.iter_mut().zip(run.tables.keep.classes.iter()) {
            if run.tables.known.of(class).is_some() {
                *size = 0;
            }
        }
        let mut report = collect::counts(run, &sizes)?;
        report.run.spool_bytes = spool.map_or(0, Spool::bytes);
        let examples = examples(run, &sizes);
        let items = ItemsInMemory::new(run, spool, &examples);
        let mut members = ShownMembers::of(examples.largest().map(|group| group.leader));
        for document in run.tables.corpus.documents.document_ids() {
            let verdict = run.verdict(document);
            if verdict.leader != document {
                let leader = run.tables.keep.rank(verdict.leader_item).into();
                members.add(leader, || run.names.id(document));
            }
        }
        Self::new(report, &examples, members, |group| Ok(group.leader), &items)
    }

    /// Adds the outcome of putting the records in order.
    pub(crate) fn ordered(mut self, order: Option<OrderReport>) -> Self {
        self.report.order = order;
        self
    }

    /// Adds the examples to a report, and prepares the comparison of at most some twenty pairs of texts. `key` is the number by which a
    /// group has its `members`.
    pub(crate) fn new(
        mut report: Report,
        examples: &Examples,
        mut members: ShownMembers,
        key: impl Fn(&ExampleGroup) -> Result<u64, DedupError>,
        items: &dyn ShownItems,
    ) -> Result<Self, DedupError> {
        let mut buffer = BlockBuffer::default();
        let describe = |group: &ExampleGroup| {
            let DocumentReport { id, source, line } = items.document(group.leader)?;
            let text = items
                .text(group.leader, &mut buffer)?
                .map_or("", |(text, _)| text);
            let farthest = group.farthest.as_ref();
            Ok(LargeCluster {
                cluster_id: items.number(group.leader)?,
                size: group.size,
                leader: id,
                source,
                line,
                members: members.take(key(group)?),
                text: text.chars().take(EXCERPT_CHARS).collect(),
                farthest: farthest.map(|pair| pair_report(items, pair)).transpose()?,
            })
        };
        report.largest = examples
            .largest()
            .map(describe)
            .collect::<Result<_, DedupError>>()?;
        let pairs = examples.doubtful().map(|pair| pair_report(items, pair));
        report.doubtful = pairs.collect::<Result<_, _>>()?;
        let pairs = examples.misses().iter().map(|pair| pair_report(items, pair));
        report.closest_misses = pairs.collect::<Result<_, _>>()?;
        Ok(Self {
            differences: differences(items, examples)?,
            report,
        })
    }
}

/// Chooses the examples of a run in memory.
fn examples(run: &FinishedRun<'_>, sizes: &IdVec<ItemId, u32>) -> Examples {
    let mut examples = Examples::new(&run.tables.near_misses);
    for (leader, &farthest) in farthest(run).entries() {
        examples.add(ExampleGroup {
            leader: run.tables.keep.rank(leader).into(),
            size: sizes[leader],
            farthest: (farthest != leader).then(|| removed_pair(run, farthest)),
        });
    }
    examples
}

/// For each leader, its least similar follower; for an item without followers, the item itself.
fn farthest(run: &FinishedRun<'_>) -> IdVec<ItemId, ItemId> {
    let groups = run.groups();
    let mut farthest: IdVec<ItemId, ItemId> = ids(groups.len()).collect();
    let doubt = |item| removed_pair(run, item).doubt();
    for (item, group) in groups.entries() {
        let leader = ItemId::new(group.leader);
        let current = farthest[leader];
        if leader != item && (current == leader || doubt(item) < doubt(current)) {
            farthest[leader] = item;
        }
    }
    farthest
}

/// The pair of a follower and its leader.
fn removed_pair(run: &FinishedRun<'_>, item: ItemId) -> ItemPair {
    let group = &run.groups()[item];
    let rank = |item: ItemId| run.tables.keep.rank(item).into();
    ItemPair {
        a: rank(ItemId::new(group.leader)),
        b: rank(item),
        hamming: group.distance,
        similarity: group.similarity,
    }
}

/// The items that the report of a run in memory shows.
struct ItemsInMemory<'r> {
    run: &'r FinishedRun<'r>,
    spool: Option<&'r Spool>,
    by_rank: BTreeMap<u64, ItemId>,
}

impl<'r> ItemsInMemory<'r> {
    fn new(run: &'r FinishedRun<'r>, spool: Option<&'r Spool>, examples: &Examples) -> Self {
        let shown: BTreeSet<u64> = examples.items().collect();
        let keep = &run.tables.keep;
        let items = ids(keep.len()).map(|item| (u64::from(keep.rank(item)), item));
        Self {
            run,
            spool,
            by_rank: items.filter(|(rank, _)| shown.contains(rank)).collect(),
        }
    }

    fn item(&self, rank: u64) -> ItemId {
        // Every shown item has an entry.
        self.by_rank.get(&rank).copied().unwrap_or(ItemId::new(0))
    }
}

impl ShownItems for ItemsInMemory<'_> {
    fn number(&self, item: u64) -> Result<u32, DedupError> {
        Ok(self.run.tables.keep.representative(self.item(item)).get())
    }

    fn document(&self, item: u64) -> Result<DocumentReport, DedupError> {
        let document = self.run.tables.keep.representative(self.item(item));
        let (source, line) = self.run.names.place(document);
        Ok(DocumentReport {
            id: self.run.names.id(document).into_owned(),
            source: source.to_owned(),
            line,
        })
    }

    fn text<'b>(
        &'b self,
        item: u64,
        buffer: &'b mut BlockBuffer,
    ) -> Result<Option<(&'b str, Measure)>, DedupError> {
        let tables = self.run.tables;
        let Some(spool) = self.spool else {
            return Ok(None);
        };
        let class = tables.keep.classes.of(self.item(item));
        let classes = &tables.corpus.classes;
        Ok(Some((
            spool.text(classes.text(class), buffer)?,
            classes.measure(class),
        )))
    }
}

fn pair_report(items: &dyn ShownItems, pair: &ItemPair) -> Result<PairReport, DedupError> {
    let measured = |value: f64| (!value.is_nan()).then_some(value);
    Ok(PairReport {
        a: items.document(pair.a)?,
        b: items.document(pair.b)?,
        hamming: pair.hamming,
        jaccard: measured(pair.similarity.jaccard),
        containment: measured(pair.similarity.containment),
    })
}

/// The differences between the texts of the pairs that are shown; none in a run without verification.
fn differences(items: &dyn ShownItems, examples: &Examples) -> Result<Differences, DedupError> {
    // Two texts are in memory at a time.
    let (mut of_a, mut of_b) = (BlockBuffer::default(), BlockBuffer::default());
    let mut has_texts = true;
    let mut sides = |pair: &ItemPair| {
        let a = items.text(pair.a, &mut of_a)?;
        let b = items.text(pair.b, &mut of_b)?;
        has_texts &= a.is_some();
        let (a, b) = (
            a.unwrap_or(("", Measure::WordGrams)),
            b.unwrap_or(("", Measure::WordGrams)),
        );
        Ok(TextDifference::later(a.0, b.0, a.1.with(b.1)))
    };
    let largest = examples
        .largest()
        .map(|group| group.farthest.as_ref().map(&mut sides));
    let largest = largest
        .map(Option::transpose)
        .collect::<Result<_, DedupError>>()?;
    let doubtful = examples
        .doubtful()
        .map(&mut sides)
        .collect::<Result<_, DedupError>>()?;
    let misses = examples.misses().iter().map(&mut sides);
    let closest_misses = misses.collect::<Result<_, DedupError>>()?;
    Ok(if has_texts {
        Differences {
            largest,
            doubtful,
            closest_misses,
        }
    } else {
        Differences::default()
    })
}
