//! The last stage: joins a sample of texts with the texts of a block of items, to measure the recall of the search.
//!
//! The sample is drawn when the candidates are known. The pairs drawn are those of a run in memory, see
//! [`recall`](crate::recall).

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use rayon::prelude::*;
use twinprint_cluster::JoinRole;
use twinprint_io::results::RecallReport;
use twinprint_io::work::BlockBuffer;
use twinprint_text::overlap::Shingler;

use super::against::KnownItems;
use super::bits::Bits;
use super::folder::{Stage, Task};
use super::job::StagedJob;
use super::outputs::{CROWD, DRAWN, EDGES, RecallSummary, SAMPLE};
use super::tables::{CrowdRow, DrawnRow, EdgeRow, ItemRow, measure_of, role_of};
use crate::candidates::in_set_join;
use crate::candidates::radius::RadiusChoice;
use crate::error::DedupError;
use crate::recall::{self, Choice, CorpusText, Drawn, Sample, wanted_texts};
use crate::rows::{Number, RowFile, RowWriter};

/// The number of texts that one thread joins at a time.
const TEXTS_PER_TASK: usize = 256;

impl ItemRow {
    /// Describes the text of the item, for the sample.
    fn corpus_text(&self, item: u64) -> CorpusText {
        CorpusText {
            item,
            order: self.first,
            fingerprint: self.fingerprint,
            features: self.features,
            bytes: self.len,
            measure: measure_of(self.measure),
        }
    }
}

/// Writes the items of the sample to `dir`. `connected` has the items with candidates. Items that are known take no part.
pub(super) fn draw(
    job: &StagedJob<'_>,
    connected: &Bits,
    known: &Bits,
    dir: &Path,
) -> Result<(), DedupError> {
    let mut sample = RowWriter::create(&dir.join(SAMPLE))?;
    if job.measures_recall()? {
        let items = job.items()?;
        let wanted = wanted_texts(connected.count(), items.len());
        let mut choice = Choice::new(job.options.seed, wanted);
        for (item, row) in (0..).zip(items.all()) {
            let row = row?;
            job.check_at(item)?;
            if row.features > 0 && !known.has(item) {
                choice.offer(&row.corpus_text(item));
            }
        }
        for value in choice.finish() {
            sample.push(Number { value })?;
        }
    }
    sample.finish()?;
    Ok(())
}

/// Joins the sample with a block of items.
pub(super) fn join(job: &StagedJob<'_>, block: u32) -> Result<RecallSummary, DedupError> {
    job.folder
        .run(Task::new(Stage::Recall, block), |dir| join_block(job, block, dir))
}

fn join_block(job: &StagedJob<'_>, block: u32, dir: &Path) -> Result<RecallSummary, DedupError> {
    let sample = job.sample()?;
    let spool = job.spool()?;
    let known = KnownItems::open(job)?.bits(job)?;
    let range = job.items_of_block(block)?;
    let mut texts = Vec::new();
    for (item, row) in range.clone().zip(job.items()?.range(range)) {
        let row = row?;
        let text = row.corpus_text(item);
        if row.features > 0 && !known.has(item) && sample.has_measure(text.measure) {
            texts.push((row.text(), text));
        }
    }
    // Texts that are next to each other in the spool are read by one thread.
    texts.par_sort_unstable_by_key(|(place, text)| (place.block, text.item));
    texts.par_chunks(TEXTS_PER_TASK).try_for_each_init(
        || (BlockBuffer::default(), sample.scratch()),
        |(buffer, scratch), texts| {
            job.check_cancelled()?;
            for (place, text) in texts {
                sample.join_text(text, spool.text(*place, buffer)?, scratch);
            }
            job.progress.advance(texts.len() as u64);
            Ok::<_, DedupError>(())
        },
    )?;
    let mut rows = RowWriter::create(&dir.join(DRAWN))?;
    let drawn = sample.drawn();
    let sampled = drawn.len() as u64;
    for (text, drawn) in drawn {
        if let Some(Drawn {
            priority,
            order,
            item,
        }) = drawn
        {
            rows.push(DrawnRow {
                text,
                priority,
                order,
                item,
            })?;
        }
    }
    rows.finish()?;
    Ok(RecallSummary { sampled })
}

/// The candidates of the run, in which drawn pairs are looked up.
struct DrawnPairs<'j> {
    job: &'j StagedJob<'j>,
    edges: RowFile<EdgeRow>,
    crowd: HashMap<u64, JoinRole>,
}

impl<'j> DrawnPairs<'j> {
    fn open(job: &'j StagedJob<'j>) -> Result<Self, DedupError> {
        let task = Task::only(Stage::Candidates);
        let crowd = job.folder.rows::<CrowdRow>(task, CROWD)?;
        let roles = crowd.all().map(|row| {
            let row = row?;
            Ok((row.item, role_of(row.role)))
        });
        Ok(Self {
            job,
            edges: job.folder.rows(task, EDGES)?,
            crowd: roles.collect::<Result<_, DedupError>>()?,
        })
    }

    /// True if two items are candidates.
    fn has(&self, a: u64, b: u64) -> Result<bool, DedupError> {
        let role = |item: u64| self.crowd.get(&item).copied().unwrap_or(JoinRole::None);
        if in_set_join(role(a), role(b)) {
            return Ok(true);
        }
        let edge = self.job.edge(a, b)?;
        let at = self.edges.partition_point(|other| *other < edge)?;
        Ok(at < self.edges.len() && self.edges.get(at)? == edge)
    }
}

impl StagedJob<'_> {
    /// True if the search may miss duplicates, so that its recall is measured.
    pub(crate) fn measures_recall(&self) -> Result<bool, DedupError> {
        Ok(self.options.verify && self.parameters()?.radius.choice != RadiusChoice::Exact)
    }

    /// The sampled texts.
    fn sample(&self) -> Result<Sample, DedupError> {
        let chosen: RowFile<Number> = self.folder.rows(Task::only(Stage::Candidates), SAMPLE)?;
        let key = self.items_summary()?.key.finish();
        let (items, spool) = (self.items()?, self.spool()?);
        let mut buffer = BlockBuffer::default();
        let mut shingler = Shingler::for_one_run(key);
        let texts = chosen.all().map(|item| {
            let item = item?.value;
            let row = items.get(item)?;
            let text = row.corpus_text(item);
            let canonical = spool.text(row.text(), &mut buffer)?;
            Ok::<_, DedupError>((text, shingler.shingle(canonical, text.measure)))
        });
        Sample::new(key, self.options.threshold, self.options.seed, texts)
    }

    /// The measured recall; `None` in a run without verification.
    pub(crate) fn recall(&self) -> Result<Option<RecallReport>, DedupError> {
        if !self.measures_recall()? {
            return Ok(self.options.verify.then(recall::exact));
        }
        let mut drawn: BTreeMap<u64, Drawn> = BTreeMap::new();
        let mut sampled = 0;
        for number in 0..self.tasks(Stage::Recall)?.unwrap_or(0) {
            let task = Task::new(Stage::Recall, number);
            let summary: RecallSummary = self.folder.summary(task)?;
            sampled = summary.sampled;
            for row in self.folder.rows::<DrawnRow>(task, DRAWN)?.all() {
                let DrawnRow {
                    text,
                    priority,
                    order,
                    item,
                } = row?;
                let own = Drawn {
                    priority,
                    order,
                    item,
                };
                let best = drawn.entry(text).or_insert(own);
                *best = own.min(*best);
            }
        }
        let pairs = DrawnPairs::open(self)?;
        let trials: Vec<bool> = drawn
            .iter()
            .map(|(&text, drawn)| pairs.has(text, drawn.item))
            .collect::<Result<_, _>>()?;
        Ok(Some(recall::of_trials(sampled, trials.into_iter())))
    }
}
