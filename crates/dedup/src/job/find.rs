//! The search: reads the documents, finds the duplicates and decides which documents are kept. It writes no records.

use super::Runner;
use super::group::{Grouped, Grouping};
use crate::candidates::radius::RadiusChoice;
use crate::candidates::{self, JoinWatch};
use crate::corpus::Names;
use crate::corpus::keep_order::KeepOrder;
use crate::corpus::shingle_sets::SetCache;
use crate::error::DedupError;
use crate::ids::{ClassId, ItemId};
use crate::known::append::Append;
use crate::known::{AppendInput, KnownClasses, KnownStore, LookedUpTexts};
use crate::memory;
use crate::options::{Keep, PairRows};
use crate::read::{ReadOutcome, Rejects, SpoolPlace};
use crate::recall::{self, MeasuredSearch, SampledRun};
use crate::verify::pair_rows;
use crate::verify::schedule::schedule;
use crate::write::Tables;
use crate::write::pairs::PairWriter;
use twinprint_io::number::counted;
use twinprint_io::progress::Unit;
use twinprint_io::sink::OutputDir;
use twinprint_io::source::Sources;
use twinprint_io::work::Spool;

/// The input of a search.
pub(crate) struct Search<'s, 'a> {
    pub(crate) sources: &'s Sources,
    pub(crate) against: Option<&'s KnownStore<'s>>,
    pub(crate) append: Option<&'s mut Append<'a>>,
    pub(crate) spool: SpoolPlace<'s>,
    /// The directory of `rejects.jsonl` and `pairs.jsonl`; `None` keeps their rows in memory.
    pub(crate) dir: Option<&'s OutputDir>,
}

/// The result of a search.
pub(crate) struct Searched {
    pub(crate) tables: Tables,
    /// The spool of texts; `None` in a run without verification.
    pub(crate) spool: Option<Spool>,
    /// The digest of the documents, if the run adds to a store.
    pub(crate) digest: Option<u128>,
}

impl Runner<'_> {
    /// Reads the documents and decides which are kept.
    pub(crate) fn find(&mut self, search: Search<'_, '_>) -> Result<Searched, DedupError> {
        let Search {
            sources,
            against,
            append,
            spool: spool_place,
            dir,
        } = search;
        let budget = self.budget;
        let mut rejects = match dir {
            Some(dir) => Rejects::File(dir.file("rejects.jsonl")?),
            None => Rejects::Memory(Vec::new()),
        };
        let ReadOutcome {
            corpus,
            spool,
            counts,
            digest,
        } = self.read(sources, spool_place, &mut rejects, append.as_deref())?;
        let rejected = rejects.finish()?;
        sources.intake()?;
        let documents = &corpus.documents;
        self.warn_about_undated(documents.undated() as u64, documents.len() as u64)?;
        let mut keep = KeepOrder::new(&corpus.documents, corpus.classes.len());
        let names = Names {
            documents: &corpus.documents,
            sources,
        };
        let known = match against {
            None => KnownClasses::default(),
            Some(against) => {
                let all: Vec<ClassId> = corpus.classes.class_ids().collect();
                let known = self.stage("against", all.len() as u64, Unit::Documents, |job| {
                    let texts = LookedUpTexts {
                        classes: &corpus.classes,
                        spool: spool.as_ref(),
                        wanted: &all,
                    };
                    let look_up = || {
                        let KnownStore { path, store } = against;
                        store.look_up(path, texts, job.progress, &|| job.check_cancelled())
                    };
                    match (append, digest) {
                        (Some(append), Some(digest)) => {
                            let input = AppendInput {
                                digest,
                                corpus: &corpus,
                                names,
                            };
                            append.known(&input, &mut keep, job.progress, look_up)
                        }
                        _ => look_up(),
                    }
                })?;
                known.at_least(self.options.threshold)
            }
        };
        self.warn_about_keep(known.count());
        let tables = memory::tables_and_record(&corpus, counts.longest);
        // The search for partial copies is a late stage. Its memory is checked now, so that a run without enough memory
        // ends before the long stages.
        if self.options.parts.is_some() {
            budget.check(tables + memory::long_parts(counts.longest))?;
        }
        let set_memory = budget.sets(tables);
        let (radius, mut candidates) = self.stage("match", 0, Unit::Steps, |job| {
            let radius = job.choose_radius(&corpus, &keep, spool.as_ref())?;
            let mut candidates = candidates::find(&corpus.classes, &keep.classes, &radius, job.options)?;
            job.check_cancelled()?;
            if !known.is_empty() {
                candidates.leave_out(|item| known.of(keep.classes.of(item)).is_some());
            }
            Ok((radius, candidates))
        })?;
        let members = candidates.members();
        if let Some(spool) = &spool
            && members > 0
        {
            self.stage("shingles", members, Unit::Documents, |job| {
                let mut sets = SetCache::new(spool, &corpus.classes, &keep.classes, set_memory, job.cancel);
                let most = memory::most_index(corpus.documents.len() as u64);
                let held = tables + candidates.edge_bytes();
                let watch = JoinWatch {
                    check_counters: &|counters| budget.check_join(held, counters),
                    fits: &|join| join.indexes <= most && budget.check_join(held, join.total()).is_ok(),
                    folder: spool_place.dir(),
                    least_chunk: most / memory::MOST_CHUNKS,
                    limit: usize::MAX,
                    advance: &|done| {
                        job.progress.advance(done);
                        job.check_cancelled()
                    },
                };
                let distance = |a: ItemId, b: ItemId| {
                    let [a, b] = [a, b].map(|item| keep.classes.of(item));
                    corpus.classes.distance(a, b, radius.bits)
                };
                candidates.join_members(&sets, job.options, distance, watch)?;
                if job.options.pairs != PairRows::None {
                    let rows_of = |item| match job.options.pairs {
                        PairRows::All => u64::from(corpus.classes.copies(keep.classes.of(item))),
                        PairRows::Distinct | PairRows::None => 1,
                    };
                    pair_rows::check(&candidates, &mut sets, job.options.threshold, set_memory, rows_of)?;
                }
                Ok(())
            })?;
        }
        let held = tables + candidates.edge_bytes();
        let order = schedule(&candidates.edges, &candidates.roles);
        keep.renumber(&order);
        candidates.renumber(&order);
        drop(order);

        let mut pairs = PairWriter::new(dir, spool_place.dir(), self.options, &corpus, &keep, names)?;
        let (grouped, sample) = self.stage("verify", keep.len() as u64, Unit::Documents, |job| {
            let sample = match &spool {
                Some(spool) if radius.choice != RadiusChoice::Exact => {
                    let search = MeasuredSearch {
                        classes: &corpus.classes,
                        keep: &keep,
                        spool,
                        candidates: &candidates,
                        bits: radius.bits,
                        threshold: job.options.threshold,
                        seed: job.options.seed,
                    };
                    Some(SampledRun::draw(search, |item| {
                        known.of(keep.classes.of(item)).is_some()
                    })?)
                }
                _ => None,
            };
            let held = held + sample.as_ref().map_or(0, SampledRun::bytes);
            let grouping = Grouping {
                corpus: &corpus,
                keep: &keep,
                spool: spool.as_ref(),
                sample: sample.as_ref(),
                candidates: &candidates,
                bits: radius.bits,
                set_bytes: budget.sets(held),
                table_bytes: held,
            };
            Ok((job.group(&grouping, &mut pairs)?, sample))
        })?;
        let Grouped {
            outcome,
            probed,
            near_misses,
        } = grouped;
        let recall = match &sample {
            Some(sample) => Some(self.stage("recall", 0, Unit::Steps, |job| {
                sample.join_others(&|| job.check_cancelled())?;
                Ok(sample.report())
            })?),
            None => spool.is_some().then(recall::exact),
        };
        drop(sample);
        recall::warn_if_low(recall.as_ref(), self.progress);
        let pairs = pairs.finish()?;
        let tables = Tables {
            corpus,
            keep,
            known,
            counts,
            radius,
            recall,
            candidates,
            probed,
            outcome,
            near_misses,
            pairs,
            rejected,
        };
        Ok(Searched {
            tables,
            spool,
            digest,
        })
    }

    /// Warns that the rule of [`Keep`] chooses among the documents of this run only: a known text is removed even if
    /// the rule would prefer it.
    pub(super) fn warn_about_keep(&self, texts: u64) {
        let keep = self.options.keep;
        if texts > 0 && keep != Keep::First {
            self.progress.warn(&format!(
                "the {} document is chosen among the documents of this run; {} known from before {} removed in any \
                 case",
                keep.name(),
                counted(texts, "text"),
                if texts == 1 { "is" } else { "are" },
            ));
        }
    }

    /// Fails if no document has the field by which the newest document is kept. Warns if only some documents have it.
    pub(super) fn warn_about_undated(&self, undated: u64, all: u64) -> Result<(), DedupError> {
        let (Some(field), 1..) = (&self.source_options.sort_key, undated) else {
            return Ok(());
        };
        if undated == all {
            return Err(DedupError::NoSortField { field: field.clone() });
        }
        self.progress.warn(&format!(
            "{undated} of {all} documents have no field \"{field}\" and count as the oldest"
        ));
        Ok(())
    }
}
