//! The sixth stage: expands the pairs of rows to candidate pairs of items, and joins short texts and hot rows by their
//! shingles.
//!
//! The rules are those of a run in memory, see [`crate::candidates`].

use std::path::Path;

use twinprint_cluster::JoinRole;

use super::against::KnownItems;
use super::folder::{Stage, Task};
use super::item_bits::ItemBits;
use super::item_tables::ItemTables;
use super::job::StagedJob;
use super::join::BlockPair;
use super::outputs::{CROWD, CandidatesSummary, EDGES, EdgeBlocks, PAIRS, ROW_ENDS, ROW_ITEMS};
use super::tables::{CrowdRow, EdgeRow, RowPair, role_field};
use crate::candidates::radius::RadiusChoice;
use crate::candidates::{
    Candidates, Edge, HOT_ROW_MIN_CLASSES, JoinWatch, edge_limit, hot_rows, in_set_join, row_role,
};
use crate::error::{DedupError, StageDamage};
use crate::ids::Id;
use crate::rows::{Number, RowFile, RowSorter, RowWriter};

/// Makes the candidates.
pub(super) fn expand(job: &StagedJob<'_>) -> Result<CandidatesSummary, DedupError> {
    job.folder.run(Task::only(Stage::Candidates), |dir| {
        let rows = JoinedRows::open(job)?;
        let mut expansion = Expansion {
            job,
            edges: RowSorter::new(dir, job.sort_memory()),
            roles: Vec::new(),
            known: known_items(job)?,
            summary: CandidatesSummary::default(),
        };
        if job.parameters()?.radius.choice == RadiusChoice::Exact {
            expansion.leave_all_to_the_set_join()?;
        } else {
            expansion.text_roles()?;
            let hot = if job.options.verify {
                rows.hot(job)?
            } else {
                vec![false; rows.ends.len()]
            };
            expansion.edges_of(&rows, &hot)?;
        }
        expansion.leave_out_known();
        expansion.join_members(dir)?;
        expansion.finish(dir)
    })
}

/// The rows of the join, with their items. In memory: eight bytes for a row with one item.
struct JoinedRows {
    /// The items of the rows, one row after another.
    items: Vec<u32>,
    /// The end of each row among the items.
    ends: Vec<u32>,
    pairs: Vec<RowFile<RowPair>>,
}

impl JoinedRows {
    fn open(job: &StagedJob<'_>) -> Result<Self, DedupError> {
        let items = Self::numbers(job, ROW_ITEMS, job.items()?.len().saturating_sub(1))?;
        let ends = Self::numbers(job, ROW_ENDS, items.len() as u64)?;
        if !ends.is_sorted() {
            return Err(DedupError::damaged_stage(
                &job.folder.file(Task::only(Stage::Parameters), ROW_ENDS)?,
                StageDamage::Content,
            ));
        }
        let tasks = BlockPair::all(job.row_blocks()?).count() as u32;
        let pairs = job.folder.rows_of(Stage::Join, tasks, PAIRS)?;
        Ok(Self { items, ends, pairs })
    }

    /// The numbers of a file, of which each is at most `largest`.
    fn numbers(job: &StagedJob<'_>, name: &str, largest: u64) -> Result<Vec<u32>, DedupError> {
        let file = job.folder.rows::<Number>(Task::only(Stage::Parameters), name)?;
        let number = |row: Result<Number, DedupError>| match row?.value {
            value if value > largest => Err(file.damaged()),
            value => u32::try_from(value).map_err(|_| DedupError::TooManyDocuments { limit: u32::MAX }),
        };
        file.all().map(number).collect()
    }

    /// The pairs of rows. Both rows exist.
    fn pairs(&self) -> impl Iterator<Item = Result<RowPair, DedupError>> {
        let rows = self.ends.len() as u64;
        self.pairs.iter().flat_map(move |file| {
            file.all().map(move |pair| match pair? {
                RowPair { a, b } if a.max(b) >= rows => Err(file.damaged()),
                pair => Ok(pair),
            })
        })
    }

    /// The items of a row, ascending.
    fn items(&self, row: u64) -> &[u32] {
        let start = match row {
            0 => 0,
            row => self.ends[row as usize - 1] as usize,
        };
        &self.items[start..self.ends[row as usize] as usize]
    }

    /// The number of items of a row.
    fn size(&self, row: u64) -> usize {
        self.items(row).len()
    }

    /// For each row, true if it is hot.
    fn hot(&self, job: &StagedJob<'_>) -> Result<Vec<bool>, DedupError> {
        let mut degrees = vec![0u32; self.ends.len()];
        for pair in self.pairs() {
            let RowPair { a, b } = pair?;
            let mut add = |row: u64, neighbors: u64| {
                let neighbors = u32::try_from(neighbors).unwrap_or(u32::MAX);
                degrees[row as usize] = degrees[row as usize].saturating_add(neighbors);
            };
            if a == b {
                add(a, u64::from(u32::MAX));
            } else {
                add(a, self.size(b) as u64);
                add(b, self.size(a) as u64);
            }
        }
        job.check_cancelled()?;
        let rows = (0u64..).zip(&degrees);
        let rows = rows.map(|(row, &degree)| (degree, self.size(row)));
        Ok(hot_rows(rows, edge_limit(self.ends.len() as u64)).collect())
    }
}

/// The candidates while they are made.
struct Expansion<'j> {
    job: &'j StagedJob<'j>,
    edges: RowSorter<EdgeRow>,
    /// For each item, its role in the set join.
    roles: Vec<JoinRole>,
    /// The known items, which have no candidates.
    known: ItemBits,
    summary: CandidatesSummary,
}

/// The items that duplicate known documents.
fn known_items(job: &StagedJob<'_>) -> Result<ItemBits, DedupError> {
    let mut known = ItemBits::new(job.items()?.len());
    for item in KnownItems::open(job)?.items() {
        known.set(item?);
    }
    Ok(known)
}

impl Expansion<'_> {
    fn leave_all_to_the_set_join(&mut self) -> Result<(), DedupError> {
        for item in self.job.items()?.all() {
            self.roles.push(item?.counts().role_in_exact_run());
        }
        Ok(())
    }

    fn text_roles(&mut self) -> Result<(), DedupError> {
        let limits = self.job.parameters()?.limits;
        for item in self.job.items()?.all() {
            self.roles.push(item?.counts().role(limits, self.job.options));
        }
        Ok(())
    }

    /// Gives the items of hot rows and of their neighbours their roles, and makes the edges of the other rows.
    fn edges_of(&mut self, rows: &JoinedRows, hot: &[bool]) -> Result<(), DedupError> {
        let mut warm = vec![false; hot.len()];
        for pair in rows.pairs() {
            let RowPair { a, b } = pair?;
            let [a_is_hot, b_is_hot] = [a, b].map(|row| hot[row as usize]);
            warm[b as usize] |= a_is_hot;
            warm[a as usize] |= b_is_hot;
            self.summary.row_pairs += u64::from(a != b && !(a_is_hot && b_is_hot));
        }
        for (row, (&is_hot, &is_warm)) in (0..).zip(hot.iter().zip(&warm)) {
            let Some(role) = row_role(is_hot, is_warm) else {
                continue;
            };
            for &item in rows.items(row) {
                let own = &mut self.roles[item as usize];
                *own = (*own).max(role);
            }
        }
        for (at, pair) in (0..).zip(rows.pairs()) {
            self.job.check_at(at)?;
            let RowPair { a, b } = pair?;
            if a == b || hot[a as usize] || hot[b as usize] {
                continue;
            }
            for &item in rows.items(a) {
                rows.items(b)
                    .iter()
                    .try_for_each(|&other| self.edge(item, other))?;
            }
        }
        for row in (0..hot.len() as u64).filter(|&row| (2..=HOT_ROW_MIN_CLASSES).contains(&rows.size(row))) {
            let items = rows.items(row);
            for (i, &item) in items.iter().enumerate() {
                items[..i].iter().try_for_each(|&other| self.edge(item, other))?;
            }
        }
        self.job.check_cancelled()
    }

    /// Adds the edge of two items unless it is left to the set join.
    fn edge(&mut self, a: u32, b: u32) -> Result<(), DedupError> {
        let joined = in_set_join(self.roles[a as usize], self.roles[b as usize]);
        if joined || [a, b].iter().any(|&item| self.known.has(item.into())) {
            return Ok(());
        }
        self.summary.by_fingerprints += 1;
        self.push(u64::from(a), u64::from(b))
    }

    fn push(&mut self, a: u64, b: u64) -> Result<(), DedupError> {
        let (item, earlier) = (a.max(b), a.min(b));
        self.edges.push(EdgeRow {
            item_block: self.job.item_block(item)?,
            earlier_block: self.job.item_block(earlier)?,
            item,
            earlier,
        })
    }

    /// Takes the known items out of the set join.
    fn leave_out_known(&mut self) {
        for (item, role) in (0..).zip(&mut self.roles) {
            if self.known.has(item) {
                *role = JoinRole::None;
            }
        }
    }

    /// Runs the set join of the members. The members of crowds are written to a file.
    fn join_members(&mut self, dir: &Path) -> Result<(), DedupError> {
        let mut crowd = RowWriter::create(&dir.join(CROWD))?;
        let members: Vec<u64> = (0..)
            .zip(&self.roles)
            .filter(|(_, role)| **role != JoinRole::None)
            .map(|(item, _)| item)
            .collect();
        let job = self.job;
        if !members.is_empty() {
            let tables = ItemTables::load(job, &members)?;
            let sets = tables.sets(job)?;
            let roles = members.iter().map(|&item| self.roles[item as usize]);
            let mut found = Candidates::of_members(roles.collect());
            let bytes = job.spec.memory / 2;
            let watch = JoinWatch {
                fits: &|join| join <= bytes,
                in_chunks: true,
                limit: usize::MAX,
                advance: &|_| job.check_cancelled(),
            };
            found.emit_member_pairs(&sets, job.options.threshold, watch, &mut |edge: Edge| {
                self.summary.by_shingles += 1;
                self.push(members[edge.item.index()], members[edge.earlier.index()])
            })?;
            for (member, &role) in found.roles.entries() {
                if role != JoinRole::None {
                    crowd.push(CrowdRow {
                        item: members[member.index()],
                        role: role_field(role),
                    })?;
                }
            }
        }
        crowd.finish()?;
        Ok(())
    }

    /// Writes the candidates and finds those of each pair of blocks.
    fn finish(self, dir: &Path) -> Result<CandidatesSummary, DedupError> {
        let mut summary = self.summary;
        let mut writer = RowWriter::create(&dir.join(EDGES))?;
        let job = self.job;
        self.edges.finish(|row| {
            job.check_at(writer.rows())?;
            let (blocks, at) = (&mut summary.blocks, writer.rows());
            match blocks.last_mut() {
                Some(last)
                    if (last.item_block, last.earlier_block) == (row.item_block, row.earlier_block) =>
                {
                    last.to = at + 1;
                }
                _ => blocks.push(EdgeBlocks {
                    item_block: row.item_block,
                    earlier_block: row.earlier_block,
                    from: at,
                    to: at + 1,
                }),
            }
            writer.push(row)
        })?;
        writer.finish()?;
        Ok(summary)
    }
}
