//! The main job and its stages: read, choose a radius, join, verify and group, write, report.

mod begin;
mod group;
mod stage;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use self::begin::Beginning;
use self::group::{Grouped, Grouping};

use crate::candidates::radius::RadiusChoice;
use crate::candidates::{self, JoinWatch};
use crate::corpus::Corpus;
use crate::corpus::Names;
use crate::corpus::keep_order::KeepOrder;
use crate::corpus::shingle_sets::SetCache;
use crate::error::DedupError;
use crate::ids::ClassId;
use crate::known::append::Append;
use crate::known::{Against, AppendInput, DocumentStores, KnownClasses, LookedUpTexts, NoStores};
use crate::memory::{self, Budget};
use crate::options::{DedupOptions, Keep, Mode, Order, PairRows};
use crate::parts;
use crate::read::ReadOutcome;
use crate::recall::{self, MeasuredSearch, RecallSample};
use crate::report::{self, Shown};
use crate::verify::pair_rows;
use crate::verify::schedule::schedule;
use crate::write::pairs::PairWriter;
use crate::write::{self, FinishedRun};
use twinprint_io::number::counted;
use twinprint_io::progress::{Progress, Unit};
use twinprint_io::results::{RecallReport, Report, StageReport};
use twinprint_io::source::SourceOptions;
use twinprint_io::threads;

/// The default radius without verification, as in Manku, Jain and Das Sarma 2007.
pub(crate) const UNVERIFIED_RADIUS: u32 = 3;

/// A run of [`dedup`]: the inputs, the options and the output directory.
#[derive(Clone, Copy, Debug)]
pub struct DedupJob<'j> {
    /// Files, folders and globs; `-` is standard input.
    pub inputs: &'j [String],
    /// The formats and fields of the inputs.
    pub source: &'j SourceOptions,
    /// The options of the run, which decide what a duplicate is and what is written.
    pub options: &'j DedupOptions,
    /// The output directory: new or empty, unless [`DedupOptions::existing`] replaces an earlier result.
    pub out: &'j Path,
}

/// Finds the near-duplicates among the documents of a job and writes the result to its output directory.
///
/// A run that fails removes what it has written and leaves an earlier result unchanged. The files of a run that was
/// killed are replaced by the next run.
///
/// Deterministic: the same input, options and version give byte-identical files on any number of threads and any CPU,
/// except for the `run` object of `report.json`. Work is about linear in the input plus the join (see
/// [`twinprint_index::planner`]); memory is about 100 bytes per document plus a fixed amount. Setting `cancel` to true
/// ends the run with an error for which [`DedupError::is_cancelled`] is true.
///
/// # Errors
/// An error that stops the whole run. A record that cannot be used is no error: it is rejected, counted and listed in
/// `rejects.jsonl`.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use twinprint_dedup::{DedupJob, DedupOptions, dedup};
/// use twinprint_io::progress::Silent;
/// use twinprint_io::source::SourceOptions;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let dir = tempfile::tempdir()?;
/// let notes = dir.path().join("notes.jsonl");
/// std::fs::write(
///     &notes,
///     r#"{"id": "draft", "text": "The lamp room of the old lighthouse was rebuilt in oak, the lens was cleaned and set back."}
/// {"id": "ferry", "text": "The ferry to the northern islands runs every other hour until the end of the season."}
/// {"id": "copy", "text": "The lamp room of the old lighthouse was rebuilt in oak, the lens was cleaned and set back."}
/// "#,
/// )?;
///
/// let out = dir.path().join("out");
/// let job = DedupJob {
///     inputs: &[notes.display().to_string()],
///     source: &SourceOptions::default(),
///     options: &DedupOptions::new()?,
///     out: &out,
/// };
/// let report = dedup(&job, &Silent, &Arc::default())?;
/// assert_eq!((report.records.kept, report.records.removed), (2, 1));
///
/// let removed = std::fs::read_to_string(out.join("removed/notes.jsonl"))?;
/// assert!(removed.starts_with(r#"{"id": "copy""#));
/// # Ok(())
/// # }
/// ```
pub fn dedup(
    job: &DedupJob<'_>,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<Report, DedupError> {
    dedup_with_stores(job, &NoStores, progress, cancel)
}

/// Like [`dedup`], but [`DedupOptions::against`] may also name a document store, which `stores` opens.
///
/// # Errors
/// The errors of [`dedup`], and an error if the store cannot be used.
pub fn dedup_with_stores(
    job: &DedupJob<'_>,
    stores: &dyn DocumentStores,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<Report, DedupError> {
    job.options.check()?;
    let pool = threads::pool(job.options.threads)?;
    let result = pool.install(|| {
        let budget = Budget::new(job.options.memory, rayon::current_num_threads())?;
        let runner = Runner {
            inputs: job.inputs,
            source_options: &SourceOptions {
                max_held: budget.longest_record(0),
                ..job.source.clone()
            },
            options: job.options,
            out: job.out,
            stores,
            budget,
            progress,
            cancel,
            started: Instant::now(),
            stages: Vec::new(),
        };
        runner.run()
    });
    if cancel.load(Ordering::Relaxed) && result.is_err() {
        Err(DedupError::cancelled())
    } else {
        result
    }
}

/// A run in progress.
struct Runner<'j> {
    inputs: &'j [String],
    source_options: &'j SourceOptions,
    options: &'j DedupOptions,
    out: &'j Path,
    stores: &'j dyn DocumentStores,
    budget: Budget,
    progress: &'j dyn Progress,
    cancel: &'j Arc<AtomicBool>,
    started: Instant,
    stages: Vec<StageReport>,
}

impl Runner<'_> {
    fn run(mut self) -> Result<Report, DedupError> {
        let (inputs, budget) = (self.inputs, self.budget);
        let against = self.options.against.as_deref();
        let against = against
            .map(|path| Ok::<_, DedupError>((path, Against::open(path, self.options, self.stores)?)))
            .transpose()?;
        let mut append = match &against {
            Some((path, against)) if self.options.append => Some(Append::new(
                against,
                path,
                inputs,
                self.source_options,
                self.options,
            )?),
            _ => None,
        };
        let (dir, work, sources) = match self.begin(append.as_ref())? {
            Beginning::New(dir, work, sources) => (dir, work, sources),
            Beginning::Ended(report) => return Ok(*report),
        };

        if let Some(columns) = self.options.added_columns() {
            write::check_columns(&sources, columns, self.options)?;
        }
        if self.options.order == Order::Similar {
            write::check_order(&sources, self.progress)?;
        }
        let ReadOutcome {
            corpus,
            spool,
            counts,
            digest,
        } = self.read(&sources, work.path(), &dir, append.as_ref())?;
        sources.intake()?;
        self.check_sort_field(&corpus)?;
        let mut keep = KeepOrder::new(&corpus.documents, corpus.classes.len());
        let names = Names {
            documents: &corpus.documents,
            sources: &sources,
        };
        let known = match &against {
            None => KnownClasses::default(),
            Some((path, against)) => {
                let all: Vec<ClassId> = corpus.classes.class_ids().collect();
                let known = self.stage("against", all.len() as u64, Unit::Documents, |job| {
                    let texts = LookedUpTexts {
                        classes: &corpus.classes,
                        spool: spool.as_ref(),
                        wanted: &all,
                    };
                    let look_up = || against.look_up(path, texts, job.progress, &|| job.check_cancelled());
                    match (&mut append, digest) {
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
        self.warn_about_keep(&known);
        // The estimate adds the longest record to the memory of the tables, because later stages hold that record in
        // memory while they compare and copy it.
        let tables = memory::tables_of(&corpus) + memory::BYTES_PER_RECORD_BYTE * counts.longest;
        // The search for partial copies is a late stage. Its memory is checked now, so that a run without enough memory
        // ends before the long stages.
        let long_parts =
            (memory::PARTS_BYTES_PER_RECORD_BYTE - memory::BYTES_PER_RECORD_BYTE) * counts.longest;
        if self.options.parts.is_some() {
            budget.check(tables + long_parts)?;
        }
        let set_memory = budget.sets(tables);
        let (radius, mut candidates) = self.stage("match", 0, Unit::Steps, |job| {
            let radius = job.choose_radius(&corpus, &keep, spool.as_ref())?;
            let mut candidates = candidates::find(&corpus.classes, &keep.classes, &radius, job.options)?;
            job.check_cancelled()?;
            if !known.is_empty() {
                candidates.leave_out(|item| known.of(keep.classes[item]).is_some());
            }
            Ok((radius, candidates))
        })?;
        let members = candidates.members();
        if let Some(spool) = &spool
            && members > 0
        {
            self.stage("shingles", members, Unit::Documents, |job| {
                let mut sets = SetCache::new(spool, &corpus.classes, &keep.classes, set_memory);
                let watch = JoinWatch {
                    fits: &|join| budget.check_join(tables, join).is_ok(),
                    advance: &|done| {
                        job.progress.advance(done);
                        job.check_cancelled()
                    },
                };
                candidates.join_members(&sets, job.options, radius.bits, watch)?;
                if job.options.pairs != PairRows::None {
                    let rows_of = |item| match job.options.pairs {
                        PairRows::All => u64::from(corpus.classes.copies(keep.classes[item])),
                        PairRows::Distinct | PairRows::None => 1,
                    };
                    pair_rows::check(&candidates, &mut sets, job.options.threshold, set_memory, rows_of)?;
                }
                Ok(())
            })?;
        }
        let held = tables + candidates.edges.len() as u64 * memory::EDGE_BYTES;
        let order = schedule(&candidates.edges, &candidates.roles);
        keep.renumber(&order);
        candidates.renumber(&order);
        drop(order);

        let mut pairs = PairWriter::new(&dir, self.options, &corpus, &keep, names)?;
        let (grouped, sample) = self.stage("verify", keep.len() as u64, Unit::Documents, |job| {
            let sample = match &spool {
                Some(spool) if radius.choice != RadiusChoice::Exact => {
                    let search = MeasuredSearch {
                        classes: &corpus.classes,
                        order: &keep.classes,
                        spool,
                        candidates: &candidates,
                        bits: radius.bits,
                        threshold: job.options.threshold,
                        seed: job.options.seed,
                    };
                    Some(RecallSample::draw(search, |item| {
                        known.of(keep.classes[item]).is_some()
                    })?)
                }
                _ => None,
            };
            let held = held + sample.as_ref().map_or(0, RecallSample::bytes);
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
        self.warn_about_recall(recall.as_ref());
        let pair_rows = pairs.finish()?;
        let part_counts = match (self.options.parts, &spool) {
            (Some(least), Some(spool)) => Some(self.stage("parts", 0, Unit::Steps, |job| {
                let search = parts::PartsSearch {
                    corpus: &corpus,
                    spool,
                    keep: &keep,
                    names,
                    least,
                    budget,
                    table_bytes: held + long_parts,
                    work: work.path(),
                    check_cancelled: &|| job.check_cancelled(),
                };
                search.write(&dir)
            })?),
            _ => None,
        };
        let run = FinishedRun {
            options: self.options,
            source_options: self.source_options,
            inputs,
            sources: &sources,
            corpus: &corpus,
            keep: &keep,
            known: &known,
            counts: &counts,
            radius: &radius,
            recall,
            candidates: &candidates,
            probed,
            outcome: &outcome,
            near_misses: &near_misses,
            names,
            spool: spool.as_ref(),
            pair_rows,
            parts: part_counts,
        };
        let order = self.stage("write", write::bytes_to_write(&run), Unit::Bytes, |job| {
            let records = || match job.options.mode {
                Mode::Remove | Mode::Annotate => write::copy_records(&run, &dir, work.path(), job.progress),
                Mode::Report => Ok(None),
            };
            let (order, clusters) = rayon::join(records, || write::write_clusters(&run, &dir));
            clusters?;
            let order = order?;
            write::write_config(&run, &dir)?;
            Ok(order)
        })?;
        let shown = self.stage("report", 0, Unit::Steps, |_| Shown::collect(&run, order))?;
        let stages = std::mem::take(&mut self.stages);
        let mut report = report::write(shown, stages, self.started, &dir)?;
        let (Some(mut append), Some(digest)) = (append, digest) else {
            drop(work);
            dir.finish()?;
            return Ok(report);
        };
        let is_kept = |document| run.verdict(document).kept();
        let appended = append.add(&sources, &corpus.documents, &is_kept, self.progress)?;
        self.check_cancelled()?;
        report.appended = Some(appended);
        drop(work);
        append.conclude(digest, &dir)?;
        Ok(report)
    }

    /// Warns that the rule of [`Keep`] chooses among the documents of this run only: a known text is removed even if
    /// the rule would prefer it.
    fn warn_about_keep(&self, known: &KnownClasses) {
        let (texts, keep) = (known.count(), self.options.keep);
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

    /// Warns if the measured recall may be low.
    fn warn_about_recall(&self, recall: Option<&RecallReport>) {
        let Some(recall) = recall.filter(|recall| recall.may_be_low()) else {
            return;
        };
        self.progress.warn(&format!(
            "the recall may be below {}: of {} sampled pairs of duplicates, {} are not among the candidates; a larger \
             radius finds more",
            RecallReport::WANTED,
            recall.trials,
            recall.trials - recall.found
        ));
    }

    /// Fails if no document has the field by which the newest document is kept. Warns if only some documents have it.
    fn check_sort_field(&self, corpus: &Corpus) -> Result<(), DedupError> {
        let undated = corpus.documents.undated();
        let (Some(field), 1..) = (&self.source_options.sort_key, undated) else {
            return Ok(());
        };
        let all = corpus.documents.len();
        if undated == all {
            return Err(DedupError::NoSortField { field: field.clone() });
        }
        self.progress.warn(&format!(
            "{undated} of {all} documents have no field \"{field}\" and count as the oldest"
        ));
        Ok(())
    }
}
