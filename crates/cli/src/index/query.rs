//! `twinprint index query`

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::bail;
use clap::{ValueEnum, ValueHint};
use rayon::prelude::*;
use twinprint::planner::LookupCosts;
use twinprint::raw::{Column, ColumnKind, RowValue};
use twinprint::segment::{Scratch, SegmentError, Stats};
use twinprint::store::{Committed, Snapshot, StoreError, scan_is_cheaper};
use twinprint::{ProfileLabel, Progress, Unit, Width, threads};

use super::Directory;
use super::files::IdArgs;
use super::profile::{self, ProfileArgs};
use super::rows::{RowArgs, Rows};
use super::texts::TextArgs;
use super::width::{self, at_width};
use crate::progress::Bars;
use crate::usage::usage;
use crate::{interrupt, number, terminal};

/// Number of queries that a thread looks up together. Queries that are neighbours in the index then share its reads.
const LOOKUP_BATCH: usize = 1 << 16;
/// Fewer queries than this are not divided among threads.
const LEAST_SHARE: usize = 64;
/// Number of queries that one scan answers. Each takes about 100 bytes of memory.
const SCAN_BATCH: usize = 1 << 22;

/// The columns of the output if queries are fingerprints.
const ID_COLUMNS: &[Column] = &[
    Column::new("query", ColumnKind::Id),
    Column::new("id", ColumnKind::Id),
    Column::new("hamming", ColumnKind::Distance),
];
/// The columns of the output if queries are texts.
const NAME_COLUMNS: &[Column] = &[
    Column::new("query", ColumnKind::Name),
    Column::new("id", ColumnKind::Id),
    Column::new("hamming", ColumnKind::Distance),
];

/// Finds all fingerprints in an index within Hamming distance k of given fingerprints, or of the fingerprints of texts
///
/// Writes rows of query, id and hamming: queries in the order of the files, the matches of a query by hamming, then id.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    directory: Directory,

    /// Files of fingerprints to look up, as for `index build`. The column query has the id of the looked-up fingerprint
    #[arg(long, required_unless_present = "text", num_args = 1.., value_name = "FILE", value_hint = ValueHint::FilePath)]
    queries: Vec<PathBuf>,

    #[command(flatten)]
    ids: IdArgs,

    #[command(flatten)]
    texts: TextArgs,

    #[command(flatten)]
    profile: ProfileArgs,

    /// Largest Hamming distance of a match [default: the radius that the index was built for]
    #[arg(short = 'k', long, value_name = "K", value_parser = clap::value_parser!(u32).range(width::RADII))]
    hamming: Option<u32>,

    #[command(flatten)]
    rows: RowArgs,

    /// Answer up to four million queries at a time by reading the whole index once
    #[arg(long, value_enum, default_value_t = Scan::Auto, num_args = 0..=1, default_missing_value = "always", require_equals = true, value_name = "WHEN")]
    scan: Scan,

    /// Worker threads; 0 uses all cores
    #[arg(long, default_value_t = 0, value_name = "N")]
    threads: usize,

    /// Print the numbers of probes and comparisons to stderr
    #[arg(long)]
    stats: bool,

    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Scan {
    /// If it is cheaper than looking up each query
    Auto,
    /// Always, for example for an index on a slow disk
    Always,
    /// Never
    Never,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let bits = args.directory.bits()?;
    let pool = threads::pool(args.threads).map_err(|error| usage(format!("--threads: {error}")))?;
    pool.install(|| at_width!(bits, run_at(args)))
}

fn run_at<W: Width>(args: &Args) -> anyhow::Result<ExitCode> {
    let committed = super::read::<W>(&args.directory.index)?;
    width::check_radius(args.hamming.unwrap_or_default(), W::BITS)?;
    let stored = ProfileLabel::read(&committed.settings.label);
    let cancel = interrupt::flag()?;
    let bars = Bars::new(args.quiet);
    let mut answers = Answers {
        k: args.hamming.unwrap_or(committed.settings.radius),
        scan: args.scan == Scan::Always,
        committed: &committed,
        bars: &bars,
        cancel: &cancel,
        workers: (0..rayon::current_num_threads())
            .map(|_| Worker::default())
            .collect(),
        stats: Stats::default(),
        queries: 0,
    };
    let mut code = ExitCode::SUCCESS;
    if args.texts.are_given() {
        let subject = args
            .profile
            .subject(args.texts.keys(), stored.as_ref(), W::BITS)?;
        let mut out = args.rows.open(NAME_COLUMNS, &[])?;
        let at_once = answers.at_once();
        code = args
            .texts
            .read(&subject, args.quiet, at_once, &cancel, |fingerprints, names| {
                answers.answer(
                    fingerprints,
                    |query| RowValue::Name(names.get(query).map_or("", String::as_str)),
                    &mut out,
                )
            })?;
        out.finish()?;
    } else {
        let files = args.ids.open(&args.queries)?;
        files.check_bits(W::BITS)?;
        profile::check_same(stored.as_ref(), args.profile.label(&files)?.as_ref())?;
        if args.scan == Scan::Auto {
            let (rows, queries) = (committed.snapshot.rows(), files.len().min(SCAN_BATCH as u64));
            let costs = LookupCosts::default();
            let codec = committed.settings.codec;
            let missing = committed.snapshot.missing_pages();
            answers.scan = scan_is_cheaper::<W>(codec, rows, queries, answers.k, &costs, &missing)?;
        }
        let mut out = args.rows.open(ID_COLUMNS, &[])?;
        let at_once = answers.at_once();
        let (mut queries, mut names) = (Vec::new(), Vec::new());
        let mut left = files.len();
        files.read(0, |fingerprints: &[W], ids| {
            left -= fingerprints.len() as u64;
            queries.extend_from_slice(fingerprints);
            names.extend_from_slice(ids);
            if queries.len() >= at_once || left == 0 {
                let name = |query: usize| RowValue::Number(names.get(query).copied().unwrap_or_default());
                answers.answer(&queries, name, &mut out)?;
                queries.clear();
                names.clear();
            }
            anyhow::Ok(())
        })?;
        out.finish()?;
    }
    bars.finish();
    if args.stats {
        answers.print_stats();
    }
    Ok(code)
}

/// Answers queries in batches, by lookups or by scans, and writes the rows.
struct Answers<'a, W> {
    committed: &'a Committed<W>,
    k: u32,
    scan: bool,
    bars: &'a Bars,
    cancel: &'a Arc<AtomicBool>,
    /// One for each thread.
    workers: Vec<Worker<W>>,
    stats: Stats,
    queries: u64,
}

/// A match of a query, by the position of the query. The order of matches is that of the rows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    query: usize,
    hamming: u32,
    id: u64,
}

/// The buffers of a thread, and the result for its share of the queries.
#[derive(Default)]
struct Worker<W> {
    scratch: Scratch<W>,
    stats: Stats,
    found: Vec<Found>,
}

impl<W: Width> Worker<W> {
    /// Looks up `queries`, the first of which has the position `first`.
    fn look_up(
        &mut self,
        snapshot: &Snapshot<W>,
        queries: &[W],
        first: usize,
        k: u32,
    ) -> Result<(), StoreError> {
        let found = &mut self.found;
        self.stats = snapshot.lookup_batch(queries, k, &mut self.scratch, |query, id, _, hamming| {
            let query = first + query;
            found.push(Found { query, hamming, id });
        })?;
        found.sort_unstable();
        Ok(())
    }
}

impl<W: Width> Answers<'_, W> {
    /// Number of queries that are gathered and then answered together.
    fn at_once(&self) -> usize {
        if self.scan {
            SCAN_BATCH
        } else {
            LOOKUP_BATCH * self.workers.len()
        }
    }

    /// Answers `queries` and writes the rows. `name` maps the position of a query to its value in the column query.
    fn answer<'n>(
        &mut self,
        queries: &[W],
        name: impl Fn(usize) -> RowValue<'n>,
        out: &mut Rows,
    ) -> anyhow::Result<()> {
        for (first, some) in (0..).step_by(self.at_once()).zip(queries.chunks(self.at_once())) {
            if self.cancel.load(Ordering::Relaxed) {
                bail!("interrupted");
            }
            self.queries += some.len() as u64;
            for worker in &mut self.workers {
                worker.found.clear();
            }
            if self.scan {
                self.scan(some)?;
            } else {
                self.look_up(some)?;
            }
            for found in self.workers.iter().flat_map(|worker| &worker.found) {
                out.row(&[
                    name(first + found.query),
                    RowValue::Number(found.id),
                    RowValue::Number(found.hamming.into()),
                ])?;
            }
        }
        Ok(())
    }

    /// Looks up `queries`. Each thread looks up a contiguous share of them, so the rows of the workers, one worker after
    /// the other, are in order.
    fn look_up(&mut self, queries: &[W]) -> anyhow::Result<()> {
        let share = queries.len().div_ceil(self.workers.len()).max(LEAST_SHARE);
        let (snapshot, k) = (&self.committed.snapshot, self.k);
        self.workers
            .par_iter_mut()
            .zip(queries.par_chunks(share))
            .enumerate()
            .try_for_each(|(i, (worker, queries))| worker.look_up(snapshot, queries, i * share, k))?;
        for worker in self.workers.iter().take(queries.len().div_ceil(share)) {
            self.stats += worker.stats;
        }
        Ok(())
    }

    fn scan(&mut self, queries: &[W]) -> anyhow::Result<()> {
        let snapshot = &self.committed.snapshot;
        self.bars.stage("scan", snapshot.rows(), Unit::Fingerprints);
        let Some(Worker { found, .. }) = self.workers.first_mut() else {
            return Ok(());
        };
        let scanned = snapshot.scan(
            queries,
            self.k,
            self.cancel,
            &|rows| self.bars.advance(rows),
            |query, id, hamming| found.push(Found { query, hamming, id }),
        );
        match scanned {
            Err(StoreError::Segment(SegmentError::Stopped)) => bail!("interrupted"),
            scanned => {
                let scanned = scanned?;
                self.stats.candidates += scanned.compared;
                self.stats.matches += scanned.matches;
                found.par_sort_unstable();
                Ok(())
            }
        }
    }

    fn print_stats(&self) {
        terminal::note(&format!(
            "{} queries, {} probes, {} compared, {} fingerprints found",
            number::count(self.queries),
            number::count(self.stats.probes),
            number::count(self.stats.candidates),
            number::count(self.stats.matches)
        ));
    }
}
