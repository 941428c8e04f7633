//! The eighth stage: decides in keep order which items lead, in one pass over the verified pairs.
//!
//! One bit an item is in memory. The members of crowds are compared with the members that lead, as a run in memory does:
//! they are searched and verified when their turn comes, because all pairs of a crowd are too many to list.

use std::path::Path;

use rayon::prelude::*;
use twinprint_cluster::{Candidate, Neighbors, Pairs, Similarity, Verify};

use super::bits::Bits;
use super::folder::{Stage, Task};
use super::item_tables::ItemTables;
use super::job::StagedJob;
use super::outputs::{BELOW, CROWD, CROWD_PAIRS, FOLLOWERS, LeadSummary, VERIFIED};
use super::tables::{CrowdRow, FollowerRow, VerifiedRow, role_of};
use crate::candidates::Candidates;
use crate::error::DedupError;
use crate::options::PairRows;
use crate::rows::{Merge, RowFile, RowSorter, RowWriter, next_if};
use crate::verify::matcher::{MatchCriteria, Matcher};
use crate::verify::near_misses::{NearMiss, NearMisses};

/// The number of members of crowds whose sets are loaded at a time.
const BLOCK_MEMBERS: usize = 8192;

/// Decides which items lead.
pub(super) fn lead(job: &StagedJob<'_>) -> Result<LeadSummary, DedupError> {
    job.folder.run(Task::only(Stage::Lead), |dir| decide(job, dir))
}

fn decide(job: &StagedJob<'_>, dir: &Path) -> Result<LeadSummary, DedupError> {
    let tasks = job.candidates()?.blocks.len() as u32;
    let files: Vec<RowFile<VerifiedRow>> = job.folder.rows_of(Stage::Verify, tasks, VERIFIED)?;
    let crowd_file = job
        .folder
        .rows::<CrowdRow>(Task::only(Stage::Candidates), CROWD)?;
    let members: Vec<CrowdRow> = crowd_file.all().collect::<Result<_, _>>()?;
    let member_items: Vec<u64> = members.iter().map(|member| member.item).collect();
    let tables = ItemTables::load(job, &member_items)?;
    let candidates = Candidates::of_members(members.iter().map(|member| role_of(member.role)).collect());
    let mut crowd = Crowd::new(job, &tables, &candidates, &member_items)?;
    let items = job.items()?;
    let mut item_rows = items.cursor();
    let mut follows = Bits::new(items.len());
    let mut followers = RowSorter::new(dir, job.sort_memory());
    let mut crowd_pairs = RowWriter::create(&dir.join(CROWD_PAIRS))?;
    let mut summary = LeadSummary::default();
    let mut pairs = Merge::of_files(&files, job.merge_memory()).peekable();
    let mut next_member = 0;
    let mut of_item: Vec<VerifiedRow> = Vec::new();
    loop {
        let next_pair = match pairs.peek() {
            Some(Ok(row)) => Some(row.item),
            Some(Err(_)) => {
                pairs.next().transpose()?;
                None
            }
            None => None,
        };
        let item = match (next_pair, member_items.get(next_member)) {
            (Some(pair), Some(&member)) => pair.min(member),
            (Some(item), None) | (None, Some(&item)) => item,
            (None, None) => break,
        };
        job.check_at(item)?;
        of_item.clear();
        if item >= items.len() {
            return Err(items.damaged());
        }
        while let Some(row) = next_if(&mut pairs, |row| row.item == item)? {
            if row.earlier >= item {
                return Err(items.damaged());
            }
            of_item.push(row);
        }
        let is_member = member_items.get(next_member) == Some(&item);
        if is_member {
            job.check_cancelled()?;
            for row in crowd.duplicates(next_member, &follows)? {
                crowd_pairs.push(row)?;
                summary.crowd_duplicates += 1;
                of_item.push(row);
            }
            of_item.sort_unstable();
            of_item.dedup_by_key(|row| row.earlier);
        }
        let leading = of_item.iter().filter(|row| !follows.has(row.earlier));
        // As in a run in memory: the highest Jaccard, then the smallest distance, then the first in keep order.
        let nearest = leading.min_by(|a, b| {
            let [own, other] = [a, b].map(|row| f64::from_bits(row.jaccard));
            other.total_cmp(&own).then(a.distance.cmp(&b.distance))
        });
        if let Some(nearest) = nearest {
            follows.set(item);
            summary.followers += 1;
            followers.push(FollowerRow {
                leader: nearest.earlier,
                item,
                copies: item_rows.get(item)?.copies(),
                distance: nearest.distance,
                jaccard: nearest.jaccard,
                containment: nearest.containment,
            })?;
        }
        if is_member {
            crowd.place(next_member, !follows.has(item));
            next_member += 1;
        }
    }
    (summary.probed, summary.near_misses) = crowd.finish()?;
    add_near_misses(job, tasks, &follows, &mut summary.near_misses)?;
    crowd_pairs.finish()?;
    followers.write(&dir.join(FOLLOWERS))?;
    Ok(summary)
}

/// Adds the candidates just below the threshold of which both items lead.
fn add_near_misses(
    job: &StagedJob<'_>,
    tasks: u32,
    follows: &Bits,
    near_misses: &mut NearMisses,
) -> Result<(), DedupError> {
    for file in job.folder.rows_of::<VerifiedRow>(Stage::Verify, tasks, BELOW)? {
        for (at, row) in (0..).zip(file.all()) {
            let row = row?;
            job.check_at(at)?;
            if !follows.has(row.item) && !follows.has(row.earlier) {
                near_misses.add(NearMiss {
                    earlier: row.earlier,
                    item: row.item,
                    distance: row.distance,
                    similarity: Similarity {
                        jaccard: f64::from_bits(row.jaccard),
                        containment: f64::from_bits(row.containment),
                    },
                });
            }
        }
    }
    Ok(())
}

/// The members of crowds.
struct Crowd<'c> {
    /// `None` without members.
    matcher: Option<Matcher<'c>>,
    items: &'c [u64],
    wants_all: bool,
    /// The members whose sets are loaded.
    block: std::ops::Range<usize>,
}

impl<'c> Crowd<'c> {
    fn new(
        job: &'c StagedJob<'_>,
        tables: &'c ItemTables,
        candidates: &'c Candidates,
        items: &'c [u64],
    ) -> Result<Self, DedupError> {
        let wants_all = job.options.pairs != PairRows::None;
        let mut crowd = Self {
            matcher: None,
            items,
            wants_all,
            block: 0..0,
        };
        if items.is_empty() {
            return Ok(crowd);
        }
        let sets = tables.sets(job)?;
        let criteria = MatchCriteria {
            bits: job.parameters()?.radius.bits,
            threshold: job.options.threshold,
            pairs: if wants_all { Pairs::All } else { Pairs::Leaders },
        };
        let mut matcher = Matcher::new(
            &tables.classes,
            &tables.keep,
            candidates,
            Some(sets),
            None,
            criteria,
        );
        matcher.prepare_join(Box::new(|_| Ok(())))?;
        crowd.matcher = Some(matcher);
        Ok(crowd)
    }

    /// The duplicates of a member among the earlier members that lead, or among all earlier members if all pairs are
    /// wanted.
    fn duplicates(&mut self, member: usize, follows: &Bits) -> Result<Vec<VerifiedRow>, DedupError> {
        let (items, wants_all) = (self.items, self.wants_all);
        let Some(matcher) = &mut self.matcher else {
            return Ok(Vec::new());
        };
        if member >= self.block.end {
            self.block = member..(member + BLOCK_MEMBERS).min(items.len());
            let block: Vec<u32> = self.block.clone().map(|member| member as u32).collect();
            matcher.begin_block(&block);
        }
        let number = member as u32;
        let wanted = |other: u32| wants_all || !follows.has(items[other as usize]);
        let mut found = Vec::new();
        let start = self.block.start as u32;
        matcher.candidates(number, 0..start, &wanted, &mut found);
        matcher.candidates(number, start..number, &wanted, &mut found);
        found.sort_unstable_by_key(|candidate| candidate.id);
        found.dedup_by_key(|candidate| candidate.id);
        let pairs: Vec<(u32, Candidate)> = found.iter().map(|&candidate| (number, candidate)).collect();
        matcher.load(&pairs);
        let matcher = &*matcher;
        let verified = found.par_iter().filter_map(|&candidate| {
            let similarity = matcher.verify(number, candidate, 0.0)?;
            Some(VerifiedRow {
                item: items[member],
                earlier: items[candidate.id as usize],
                distance: candidate.distance,
                jaccard: similarity.jaccard.to_bits(),
                containment: similarity.containment.to_bits(),
            })
        });
        let verified = verified.collect();
        matcher.check()?;
        Ok(verified)
    }

    fn place(&mut self, member: usize, leads: bool) {
        if let Some(matcher) = &mut self.matcher {
            matcher.place(member as u32, leads);
        }
    }

    /// Returns the number of verified pairs, and the near misses.
    fn finish(self) -> Result<(u64, NearMisses), DedupError> {
        let Some(matcher) = self.matcher else {
            return Ok((0, NearMisses::default()));
        };
        let probed = matcher.probed();
        let items = self.items;
        let near_misses = matcher.finish()?.renumbered(|member| items[member as usize]);
        Ok((probed, near_misses))
    }
}
