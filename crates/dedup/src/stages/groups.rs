//! The ninth stage: brings the decisions to the classes of the slices, whose documents they decide.

use std::path::Path;

use super::against::KnownItems;
use super::folder::{Stage, Task};
use super::job::StagedJob;
use super::outputs::{DECISIONS, FOLLOWERS, GroupsSummary, LINKS};
use super::tables::{ClassLink, DecisionRow, FollowerRow};
use crate::error::DedupError;
use crate::rows::{Merge, RowFile, RowSorter, next_if, row};

row! {
    /// The group of an item, sorted by item.
    struct ItemGroup {
        item: u64,
        /// 0 for the group that the item follows in, 1 for its own group. An item with both is in the first.
        own: u8,
        /// The document that stands for the leader.
        leader: u64,
        size: u32,
        distance: u32,
        jaccard: u64,
    }
}

row! {
    /// The decision on an item, sorted by the document that stands for it.
    struct ItemDecision {
        representative: u64,
        leader: u64,
        size: u32,
        distance: u32,
        jaccard: u64,
        fingerprint: u128,
        empty: u8,
        known: u64,
    }
}

/// Makes the decisions.
pub(super) fn decide(job: &StagedJob<'_>) -> Result<GroupsSummary, DedupError> {
    job.folder.run(Task::only(Stage::Groups), |dir| {
        let groups = item_groups(job, dir)?;
        let (decisions, summary) = item_decisions(job, dir, groups)?;
        of_slices(job, dir, decisions)?;
        Ok(summary)
    })
}

/// Makes the groups that each item may be in: its own, and that of its leader.
fn item_groups(job: &StagedJob<'_>, dir: &Path) -> Result<RowSorter<ItemGroup>, DedupError> {
    let followers = job
        .folder
        .rows::<FollowerRow>(Task::only(Stage::Lead), FOLLOWERS)?;
    let mut followers = followers.all().peekable();
    let mut groups = RowSorter::new(dir, job.sort_memory() / 2);
    let mut members: Vec<FollowerRow> = Vec::new();
    for (number, item) in (0..).zip(job.items()?.all()) {
        let item = item?;
        job.check_at(number)?;
        members.clear();
        while let Some(row) = next_if(&mut followers, |row| row.leader == number)? {
            members.push(row);
        }
        let own = ItemGroup {
            item: number,
            own: 1,
            leader: item.representative,
            size: members
                .iter()
                .fold(item.copies(), |sum, row| row.copies.saturating_add(sum)),
            distance: 0,
            jaccard: 1.0f64.to_bits(),
        };
        groups.push(own)?;
        for row in &members {
            groups.push(ItemGroup {
                item: row.item,
                own: 0,
                distance: row.distance,
                jaccard: row.jaccard,
                ..own
            })?;
        }
    }
    Ok(groups)
}

/// Chooses the group of each item, and counts the groups.
fn item_decisions(
    job: &StagedJob<'_>,
    dir: &Path,
    groups: RowSorter<ItemGroup>,
) -> Result<(RowSorter<ItemDecision>, GroupsSummary), DedupError> {
    let mut summary = GroupsSummary::default();
    let mut decisions = RowSorter::new(dir, job.sort_memory() / 2);
    let mut items = job.items()?.all();
    let known = KnownItems::open(job)?;
    let numbered = (1..).zip(known.items()).map(|(number, item)| Ok((number, item?)));
    let mut known = numbered.peekable();
    let mut last = None;
    groups.finish(|group| {
        if last == Some(group.item) {
            return Ok(());
        }
        job.check_at(group.item)?;
        last = Some(group.item);
        let Some(item) = items.next().transpose()? else {
            return Ok(());
        };
        let known = next_if(&mut known, |&(_, item)| item == group.item)?;
        let known = known.map_or(0, |(number, _)| number);
        // All documents of a known text are removed, so they are no group.
        if group.own == 1 && group.size > 1 && known == 0 {
            *summary.sizes.entry(group.size).or_default() += 1;
        }
        decisions.push(ItemDecision {
            representative: item.representative,
            leader: group.leader,
            size: group.size,
            distance: group.distance,
            jaccard: group.jaccard,
            fingerprint: item.fingerprint,
            empty: u8::from(item.features == 0),
            known,
        })
    })?;
    Ok((decisions, summary))
}

/// The decision on each class of a slice.
fn of_slices(job: &StagedJob<'_>, dir: &Path, decisions: RowSorter<ItemDecision>) -> Result<(), DedupError> {
    let files: Vec<RowFile<ClassLink>> = job.folder.rows_of(Stage::Classes, job.spec.hash_ranges, LINKS)?;
    let mut links = Merge::of_files(&files, job.merge_memory()).peekable();
    let mut rows = RowSorter::new(dir, job.sort_memory() / 2);
    decisions.finish(|decision| {
        let is_own = |link: &ClassLink| link.representative == decision.representative;
        while let Some(link) = next_if(&mut links, is_own)? {
            rows.push(DecisionRow {
                class: link.class,
                representative: decision.representative,
                leader: decision.leader,
                size: decision.size,
                distance: decision.distance,
                jaccard: decision.jaccard,
                fingerprint: decision.fingerprint,
                empty: decision.empty,
                known: decision.known,
            })?;
        }
        Ok(())
    })?;
    rows.write(&dir.join(DECISIONS))?;
    Ok(())
}
