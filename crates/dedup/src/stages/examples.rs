//! The groups and pairs that the report of a run on disk shows as examples, chosen in one pass over the followers.

use twinprint_cluster::Similarity;
use twinprint_io::results::{DocumentReport, Report};
use twinprint_io::work::BlockBuffer;
use twinprint_text::Measure;

use super::against::KnownItems;
use super::archive::Archive;
use super::bits::Bits;
use super::folder::{Stage, Task};
use super::job::StagedJob;
use super::outputs::{FOLLOWERS, LeadSummary};
use super::tables::{FollowerRow, measure_of};
use crate::corpus::DocumentNames;
use crate::error::DedupError;
use crate::report::{ExampleGroup, Examples, ItemPair, Shown, ShownItems, ShownMembers};
use crate::rows::next_if;

/// The report of a run on disk while the result is written.
pub(crate) struct StagedReport {
    pub(crate) report: Report,
    examples: Examples,
    /// The members of the groups that are shown, by the documents that stand for their leaders.
    pub(super) members: ShownMembers,
}

impl StagedReport {
    pub(super) fn new(job: &StagedJob<'_>, report: Report) -> Result<Self, DedupError> {
        let examples = examples(job)?;
        let items = job.items()?;
        let leaders = examples
            .largest()
            .map(|group| Ok(items.get(group.leader)?.representative));
        Ok(Self {
            report,
            members: ShownMembers::of(leaders.collect::<Result<Vec<u64>, DedupError>>()?),
            examples,
        })
    }

    /// The report with its examples, after the result was written.
    pub(crate) fn shown(self, job: &StagedJob<'_>) -> Result<Shown, DedupError> {
        let archive = Archive::open(job)?;
        let items = ItemsOnDisk {
            job,
            archive: &archive,
        };
        let representative = |group: &ExampleGroup| Ok(job.items()?.get(group.leader)?.representative);
        Shown::new(self.report, &self.examples, self.members, representative, &items)
    }
}

/// Chooses the examples.
fn examples(job: &StagedJob<'_>) -> Result<Examples, DedupError> {
    let led: LeadSummary = job.folder.summary(Task::only(Stage::Lead))?;
    let mut examples = Examples::new(&led.near_misses);
    let followers = job
        .folder
        .rows::<FollowerRow>(Task::only(Stage::Lead), FOLLOWERS)?;
    let mut followers = followers.all().peekable();
    let follows = followers_of(job)?;
    let known = KnownItems::open(job)?;
    let mut known = known.items().peekable();
    for (number, item) in (0..).zip(job.items()?.all()) {
        let item = item?;
        job.check_at(number)?;
        let mut group = ExampleGroup {
            leader: number,
            size: item.copies(),
            farthest: None,
        };
        while let Some(row) = next_if(&mut followers, |row| row.leader == number)? {
            group.size = group.size.saturating_add(row.copies);
            let pair = ItemPair {
                a: number,
                b: row.item,
                hamming: row.distance,
                similarity: Similarity {
                    jaccard: f64::from_bits(row.jaccard),
                    containment: f64::from_bits(row.containment),
                },
            };
            if group.farthest.is_none_or(|other| pair.doubt() < other.doubt()) {
                group.farthest = Some(pair);
            }
        }
        // All documents of a known text are removed, so they are no group.
        if next_if(&mut known, |&item| item == number)?.is_some() {
            group.size = 0;
        }
        if !follows.has(number) {
            examples.add(group);
        }
    }
    Ok(examples)
}

/// The items that follow a leader.
fn followers_of(job: &StagedJob<'_>) -> Result<Bits, DedupError> {
    let mut follows = Bits::new(job.items()?.len());
    let followers = job
        .folder
        .rows::<FollowerRow>(Task::only(Stage::Lead), FOLLOWERS)?;
    for row in followers.all() {
        follows.set(row?.item);
    }
    Ok(follows)
}

/// The items that the report of a run on disk shows.
struct ItemsOnDisk<'r> {
    job: &'r StagedJob<'r>,
    archive: &'r Archive<'r>,
}

impl ShownItems for ItemsOnDisk<'_> {
    fn number(&self, item: u64) -> Result<u32, DedupError> {
        let row = self.job.items()?.get(item)?;
        self.archive.in_input_order(row.representative)
    }

    fn document(&self, item: u64) -> Result<DocumentReport, DedupError> {
        let name = self.archive.name(self.number(item)?)?;
        Ok(DocumentReport {
            id: name.id.into_owned(),
            source: name.source.into_owned(),
            line: name.line,
        })
    }

    fn text<'b>(
        &'b self,
        item: u64,
        buffer: &'b mut BlockBuffer,
    ) -> Result<Option<(&'b str, Measure)>, DedupError> {
        let Some(spool) = self.job.stored_texts()? else {
            return Ok(None);
        };
        let row = self.job.items()?.get(item)?;
        let text = spool.text(row.text(), buffer)?;
        Ok(Some((text, measure_of(row.measure))))
    }
}
