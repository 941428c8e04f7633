//! The main job: read, choose a radius, join, verify and group, write.

mod begin;

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use self::begin::Beginning;
use twinprint_cluster::{Outcome, Pairs, leader_follower};

use crate::candidates::radius::{self, Radius, RadiusChoice};
use crate::candidates::{self, Candidates};
use crate::corpus::Corpus;
use crate::corpus::Names;
use crate::corpus::keep_order::KeepOrder;
use crate::corpus::shingle_sets::Sets;
use crate::error::DedupError;
use crate::known::append::Append;
use crate::known::{Against, AskedInput, DocumentStores, KnownClasses, NoStores};
use crate::memory::{self, Budget};
use crate::options::{DedupOptions, Keep, Mode, Order, PairRows};
use crate::parts;
use crate::read::Read;
use crate::report::{self, Shown};
use crate::verify::matcher::Matcher;
use crate::verify::near_misses::NearMisses;
use crate::verify::schedule::schedule;
use crate::write::pairs::PairWriter;
use crate::write::{self, Run};
use twinprint_io::number::counted;
use twinprint_io::progress::{Progress, Unit, cpu_seconds, io_bytes, peak_memory};
use twinprint_io::results::{Report, StageReport};
use twinprint_io::source::SourceOptions;
use twinprint_io::threads;
use twinprint_io::work::Spool;

/// The radius where nothing is verified and none is given: the paper's.
pub(crate) const UNVERIFIED_RADIUS: u32 = 3;

/// Finds the near-duplicates among the documents of `inputs` and writes the result to `out`, which must be new or empty, unless the
/// options replace an earlier result. A run that fails leaves nothing of its own there, and an earlier result as it was; what a killed one left is replaced by the next.
///
/// Deterministic: the same input, options and version give byte-identical files on any number of threads and any CPU, but for
/// the `run` object of `report.json`. Work is about linear in the input plus the join (see [`twinprint_index::planner`]); memory is
/// about 100 bytes a document beside a fixed amount. Setting `cancel` ends the run with [`DedupError::cancelled()`].
///
/// # Errors
/// What stops the whole run; a record that cannot be used is rejected, counted and named instead.
pub fn dedup(
    inputs: &[String],
    source_options: &SourceOptions,
    options: &DedupOptions,
    out: &Path,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<Report, DedupError> {
    dedup_with_stores(inputs, source_options, options, out, &NoStores, progress, cancel)
}

/// As [`dedup`], where [`DedupOptions::against`] may name one of `stores` as well as an index.
///
/// # Errors
/// As [`dedup`], and a store that cannot be used.
pub fn dedup_with_stores(
    inputs: &[String],
    source_options: &SourceOptions,
    options: &DedupOptions,
    out: &Path,
    stores: &dyn DocumentStores,
    progress: &dyn Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<Report, DedupError> {
    options.check()?;
    let pool = threads::pool(options.threads)?;
    let result = pool.install(|| {
        let budget = Budget::new(options.memory, rayon::current_num_threads())?;
        let job = Job {
            source_options: &SourceOptions {
                most_held: budget.longest_record(0),
                ..source_options.clone()
            },
            options,
            stores,
            budget,
            progress,
            cancel,
            started: Instant::now(),
            stages: Vec::new(),
        };
        job.run(inputs, out)
    });
    if cancel.load(Ordering::Relaxed) && result.is_err() {
        Err(DedupError::cancelled())
    } else {
        result
    }
}

struct Job<'j> {
    source_options: &'j SourceOptions,
    options: &'j DedupOptions,
    stores: &'j dyn DocumentStores,
    budget: Budget,
    progress: &'j dyn Progress,
    cancel: &'j Arc<AtomicBool>,
    started: Instant,
    stages: Vec<StageReport>,
}

impl Job<'_> {
    fn run(mut self, inputs: &[String], out: &Path) -> Result<Report, DedupError> {
        let budget = self.budget;
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
        let (dir, work, sources) = match self.begin(inputs, out, append.as_ref())? {
            Beginning::New(dir, work, sources) => (dir, work, sources),
            Beginning::Ended(report) => return Ok(*report),
        };

        if let Some(columns) = self.options.added_columns() {
            write::check_columns(&sources, columns, self.options)?;
        }
        if self.options.order == Order::Similar {
            write::check_order(&sources, self.progress)?;
        }
        let Read {
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
                let all: Vec<u32> = (0..corpus.classes.len()).collect();
                let known = self.stage("against", all.len() as u64, Unit::Documents, |job| {
                    let texts = (&corpus.classes, spool.as_ref());
                    let ask = || against.ask(path, texts, &all, job.progress, &|| job.check_cancelled());
                    match (&mut append, digest) {
                        (Some(append), Some(digest)) => {
                            let input = AskedInput {
                                digest,
                                corpus: &corpus,
                                names,
                            };
                            append.known(&input, &mut keep, job.progress, ask)
                        }
                        _ => ask(),
                    }
                })?;
                known.at_least(self.options.threshold)
            }
        };
        self.tell_about_keep(&known);
        // The longest record stays in the account: it is held again when it is compared and copied.
        let tables = memory::tables_of(&corpus) + memory::A_RECORD_BYTE * counts.longest;
        // The search for partial copies comes late: a run that has no memory for it ends here.
        let long_parts = (memory::A_PARTS_BYTE - memory::A_RECORD_BYTE) * counts.longest;
        if self.options.parts.is_some() {
            budget.check(tables + long_parts)?;
        }
        let mut set_memory = budget.sets(tables);
        let (radius, mut candidates) = self.stage("match", 0, Unit::Steps, |job| {
            let radius = job.choose_radius(&corpus, &keep);
            let mut candidates = candidates::find(&corpus.classes, &keep.classes, &radius, job.options)?;
            job.check_cancelled()?;
            if !known.is_empty() {
                candidates.leave_out(|item| known.of(keep.classes[item as usize]).is_some());
            }
            if let Some(spool) = &spool {
                let mut sets = Sets::new(spool, &corpus.classes, &keep.classes, set_memory);
                let fit = |join| budget.check_join(tables, join).is_ok();
                candidates.join_members(&mut sets, job.options, set_memory, fit)?;
            }
            job.check_cancelled()?;
            Ok((radius, candidates))
        })?;
        let held = tables + candidates.edges.len() as u64 * memory::AN_EDGE;
        set_memory = budget.sets(held);
        let order = schedule(corpus.classes.len(), &candidates.edges, &candidates.member);
        keep.renumber(&order);
        candidates.renumber(&order);
        drop(order);

        let mut pairs = PairWriter::new(&dir, self.options, &corpus, &keep, names)?;
        let (outcome, probed, near_misses) =
            self.stage("verify", keep.classes.len() as u64, Unit::Documents, |job| {
                job.group(
                    &corpus,
                    &keep,
                    spool.as_ref(),
                    &candidates,
                    (radius.bits, set_memory, held),
                    &mut pairs,
                )
            })?;
        let pair_rows = pairs.finish()?;
        let part_counts = match (self.options.parts, &spool) {
            (Some(least), Some(spool)) => Some(self.stage("parts", 0, Unit::Steps, |job| {
                let search = parts::Search {
                    corpus: &corpus,
                    spool,
                    keep: &keep,
                    names,
                    least,
                    budget,
                    held: held + long_parts,
                    work: work.path(),
                    go_on: &|| job.check_cancelled(),
                };
                search.write(&dir)
            })?),
            _ => None,
        };
        let run = Run {
            options: self.options,
            source_options: self.source_options,
            inputs,
            sources: &sources,
            corpus: &corpus,
            keep: &keep,
            known: &known,
            counts: &counts,
            radius: &radius,
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

    /// A warning that `--keep` does not choose between this run and known texts.
    fn tell_about_keep(&self, known: &KnownClasses) {
        let (texts, keep) = (known.count(), self.options.keep);
        if texts > 0 && keep != Keep::First {
            self.progress.warn(&format!(
                "--keep {} chooses among the documents of this run; {} that --against knows {} removed all the same",
                keep.name(),
                counted(texts, "text"),
                if texts == 1 { "is" } else { "are" },
            ));
        }
    }

    /// Runs one stage and notes its time.
    fn stage<T>(
        &mut self,
        name: &'static str,
        total: u64,
        unit: Unit,
        run: impl FnOnce(&mut Self) -> Result<T, DedupError>,
    ) -> Result<T, DedupError> {
        let (started, cpu_before, moved_before) = (Instant::now(), cpu_seconds(), io_bytes());
        self.progress.stage(name, total, unit);
        let result = run(self)?;
        let cpu = cpu_seconds()
            .zip(cpu_before)
            .map(|(after, before)| after - before);
        let moved = io_bytes()
            .zip(moved_before)
            .map(|(after, before)| (after.read - before.read, after.written - before.written));
        self.stages.push(StageReport {
            name: name.into(),
            seconds: started.elapsed().as_secs_f64(),
            cpu_seconds: cpu,
            read_bytes: moved.map(|moved| moved.0),
            written_bytes: moved.map(|moved| moved.1),
            peak_memory_bytes: peak_memory(),
        });
        self.check_cancelled()?;
        Ok(result)
    }

    fn check_cancelled(&self) -> Result<(), DedupError> {
        if self.cancel.load(Ordering::Relaxed) {
            Err(DedupError::cancelled())
        } else {
            Ok(())
        }
    }

    /// Refuses to call anything newest where no document says when it is from.
    fn check_sort_field(&self, corpus: &Corpus) -> Result<(), DedupError> {
        let undated = corpus.documents.undated();
        let (Some(field), 1..) = (&self.source_options.sort_key, undated) else {
            return Ok(());
        };
        let all = corpus.documents.len() as usize;
        if undated == all {
            return Err(DedupError::NoSortField { field: field.clone() });
        }
        self.progress.warn(&format!(
            "{undated} of {all} documents have no field \"{field}\"; --keep newest takes them for the oldest"
        ));
        Ok(())
    }

    fn choose_radius(&self, corpus: &Corpus, keep: &KeepOrder) -> Radius {
        let classes = &corpus.classes;
        if !self.options.verify {
            let k = match self.options.hamming {
                crate::options::Auto::Fixed(k) => k,
                crate::options::Auto::Auto => UNVERIFIED_RADIUS,
            };
            let bits = self.options.width_without_verification();
            return Radius {
                bits,
                k,
                choice: RadiusChoice::Verdict,
                reason: "without verification the radius is the verdict".to_owned(),
                sampled: (0, 0),
                expected_candidates: None,
                expected_recall: f64::NAN,
            };
        }
        let joined = keep
            .classes
            .iter()
            .filter(|&&class| candidates::is_joined(classes, class, self.options));
        let mut rows: Vec<u128> = joined.map(|&class| classes.fingerprint[class as usize]).collect();
        rows.sort_unstable();
        rows.dedup();
        let Self { options, .. } = self;
        radius::choose(
            &rows,
            options.bits,
            options.hamming,
            options.threshold,
            options.seed,
        )
    }

    /// Verifies and groups; also how many candidates the set join gave, and the pairs that just missed the threshold.
    fn group(
        &self,
        corpus: &Corpus,
        keep: &KeepOrder,
        spool: Option<&Spool>,
        candidates: &Candidates,
        (bits, set_memory, held): (u32, usize, u64),
        pairs: &mut PairWriter<'_>,
    ) -> Result<(Outcome, u64, NearMisses), DedupError> {
        let wanted = if self.options.pairs == PairRows::None {
            Pairs::Leaders
        } else {
            Pairs::All
        };
        let sets = spool.map(|spool| Sets::new(spool, &corpus.classes, &keep.classes, set_memory));
        let mut matcher = Matcher::new(
            &corpus.classes,
            keep,
            candidates,
            sets,
            bits,
            self.options.threshold,
            wanted,
        );
        let budget = self.budget;
        matcher.join_open(set_memory, Box::new(move |join| budget.check_join(held, join)))?;
        let mut failure = None;
        let failed = Cell::new(false);
        let mut done = 0;
        let outcome = leader_follower(
            keep.classes.len() as u32,
            &mut matcher,
            wanted,
            set_memory,
            |item, candidate, similarity| {
                if failure.is_none() {
                    failure = pairs.write(item, candidate, similarity).err();
                    failed.set(failure.is_some());
                }
            },
            |items| {
                self.progress.advance(u64::from(items - done));
                done = items;
                !failed.get() && !self.cancel.load(Ordering::Relaxed)
            },
        );
        self.check_cancelled()?;
        let probed = matcher.probed();
        match (failure, matcher.finish()) {
            (Some(error), _) | (None, Err(error)) => Err(error),
            (None, Ok(near_misses)) => Ok((outcome, probed, near_misses)),
        }
    }
}
