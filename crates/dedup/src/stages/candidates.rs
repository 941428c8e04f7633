//! The sixth stage: expands the pairs of rows to candidate pairs of items, and joins short texts and hot rows by their
//! shingles.
//!
//! The rules are those of a run in memory, see [`crate::candidates`].

use std::path::Path;

use twinprint_cluster::JoinRole;

use super::against::KnownItems;
use super::bits::{Bits, ItemRoles};
use super::folder::{Stage, Task};
use super::former::Former;
use super::hot_list;
use super::job::StagedJob;
use super::joined::{HotRows, JoinedRows};
use super::members::Members;
use super::outputs::{CROWD, CandidatesSummary, EDGES, EdgeBlocks};
use super::recall;
use super::size::TaskBytes;
use super::tables::{CrowdRow, EdgeRow, role_field};
use crate::candidates::radius::RadiusChoice;
use crate::candidates::{Candidates, Edge, HOT_ROW_MIN_CLASSES, JoinBytes, JoinWatch, in_set_join, row_role};
use crate::error::DedupError;
use crate::rows::{RowSorter, RowWriter};

/// The bytes of a candidate while it is verified: its row, its items among those of the task, and its sets' keys.
const VERIFIED_EDGE_BYTES: u64 = 64;
/// The smallest number of candidates at which a task of the verification ends.
const MIN_EDGES: u64 = 1 << 10;

/// Makes the candidates.
pub(super) fn expand(job: &StagedJob<'_>) -> Result<CandidatesSummary, DedupError> {
    job.folder.run(Task::only(Stage::Candidates), |dir| {
        let mut expansion = Expansion {
            job,
            edges: FoundEdges {
                job,
                rows: RowSorter::new(dir, TaskBytes::of(job.spec.memory).candidates()),
                connected: Bits::new(job.items()?.len()),
            },
            roles: ItemRoles::new(job.items()?.len()),
            known: KnownItems::open(job)?.bits(job)?,
            summary: CandidatesSummary::default(),
        };
        expansion.text_roles()?;
        if job.parameters()?.radius.choice != RadiusChoice::Exact {
            let rows = JoinedRows::open(job)?;
            let hot = rows.hot(dir)?;
            expansion.summary.row_pairs = hot.pairs;
            expansion.summary.hot = hot_list::describe(job, &rows, &hot.hot)?;
            expansion.row_roles(&rows, &hot)?;
            expansion.edges_of(&rows, &hot)?;
        }
        expansion.roles.leave_out(&expansion.known);
        expansion.join_members(dir)?;
        expansion.finish(dir)
    })
}

/// The candidates while they are made.
struct Expansion<'j> {
    job: &'j StagedJob<'j>,
    edges: FoundEdges<'j>,
    roles: ItemRoles,
    /// The known items, which have no candidates.
    known: Bits,
    summary: CandidatesSummary,
}

/// The candidates found so far.
struct FoundEdges<'j> {
    job: &'j StagedJob<'j>,
    rows: RowSorter<EdgeRow>,
    /// The items that have candidates.
    connected: Bits,
}

impl FoundEdges<'_> {
    fn push(&mut self, a: u64, b: u64) -> Result<(), DedupError> {
        self.connected.set(a);
        self.connected.set(b);
        self.rows.push(self.job.edge(a, b)?)
    }
}

impl Expansion<'_> {
    /// Gives the items the roles of their texts.
    fn text_roles(&mut self) -> Result<(), DedupError> {
        let (job, parameters) = (self.job, self.job.parameters()?);
        let is_exact = parameters.radius.choice == RadiusChoice::Exact;
        for (number, item) in (0..).zip(job.items()?.all()) {
            let text = item?.counts();
            job.check_at(number)?;
            let role = if is_exact {
                text.role_in_exact_run()
            } else {
                text.role(parameters.limits, job.options)
            };
            self.roles.raise(number, role);
        }
        Ok(())
    }

    /// Gives the items of hot rows and of their neighbours their roles.
    fn row_roles(&mut self, rows: &JoinedRows<'_>, hot: &HotRows) -> Result<(), DedupError> {
        let mut items = rows.items().cursor();
        rows.each_row(|row, positions| {
            let Some(role) = row_role(hot.hot.has(row), hot.warm.has(row)) else {
                return Ok(());
            };
            for position in positions {
                self.roles.raise(items.get(position)?.value, role);
            }
            Ok(())
        })
    }

    /// Makes the edges of the rows that are not hot.
    fn edges_of(&mut self, rows: &JoinedRows<'_>, hot: &HotRows) -> Result<(), DedupError> {
        rows.each_pair(&hot.hot, |of_a, of_b| {
            let mut others = of_a.iter().flat_map(|&a| of_b.iter().map(move |&b| (a, b)));
            others.try_for_each(|(a, b)| self.edge(a, b))
        })?;
        let mut cursor = rows.items().cursor();
        let mut items = Vec::new();
        rows.each_row(|_, positions| {
            // All items of a larger row are members of the set join.
            if !(2..=HOT_ROW_MIN_CLASSES as u64).contains(&(positions.end - positions.start)) {
                return Ok(());
            }
            items.clear();
            for position in positions {
                let item = cursor.get(position)?.value;
                items.iter().try_for_each(|&other| self.edge(item, other))?;
                items.push(item);
            }
            Ok(())
        })
    }

    /// Adds the edge of two items unless it is left to the set join.
    fn edge(&mut self, a: u64, b: u64) -> Result<(), DedupError> {
        let joined = in_set_join(self.roles.of(a), self.roles.of(b));
        if joined || self.known.has(a) || self.known.has(b) {
            return Ok(());
        }
        self.summary.by_fingerprints += 1;
        self.edges.push(a, b)
    }

    /// Runs the set join of the members. The members of crowds are written to a file.
    fn join_members(&mut self, dir: &Path) -> Result<(), DedupError> {
        let mut crowd = RowWriter::create(&dir.join(CROWD))?;
        let job = self.job;
        let members = Members::load(job, &self.roles)?;
        if !members.is_empty() {
            let sets = members.sets(job)?;
            let mut found = Candidates::of_members(members.roles(&self.roles));
            let task = TaskBytes::of(job.spec.memory);
            let fits = |join: JoinBytes| join.indexes <= task.index(members.bytes() + join.counters);
            let watch = JoinWatch {
                check_counters: &|_| Ok(()),
                fits: &fits,
                folder: dir,
                least_chunk: 0,
                limit: usize::MAX,
                advance: &|_| job.check_cancelled(),
            };
            found.emit_member_pairs(&sets, job.options.threshold, watch, &mut |edge: Edge| {
                self.summary.by_shingles += 1;
                let [a, b] = [edge.item, edge.earlier].map(|member| members.item(member));
                self.edges.push(a, b)
            })?;
            for (member, &role) in found.roles.entries() {
                if role != JoinRole::None {
                    let item = members.item(member);
                    self.edges.connected.set(item);
                    crowd.push(CrowdRow {
                        item,
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
        recall::draw(self.job, &self.edges.connected, &self.known, dir)?;
        let mut summary = self.summary;
        let mut writer = RowWriter::create(&dir.join(EDGES))?;
        let job = self.job;
        let most = (job.spec.memory / 8 / VERIFIED_EDGE_BYTES).max(MIN_EDGES);
        self.edges.rows.finish(|row| {
            job.check_at(writer.rows())?;
            let (blocks, at) = (&mut summary.blocks, writer.rows());
            match blocks.last_mut() {
                Some(last)
                    if (last.item_block, last.earlier_block) == (row.item_block, row.earlier_block)
                        && last.to - last.from < most =>
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
        summary.bits = job.parameters()?.radius.bits;
        if let Some(former) = Former::open(job)?.filter(|_| job.options.verify) {
            former.write_compared(dir)?;
            summary.has_compared = true;
        }
        Ok(summary)
    }
}
