//! `twinprint index query`

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ValueEnum, ValueHint};
use twinprint::planner::LookupCosts;
use twinprint::raw::RowValue;
use twinprint::store::scan_is_cheaper;
use twinprint::{ProfileLabel, Width, threads};

use super::Directory;
use super::files::IdArgs;
use super::lookups::{Answers, SCAN_BATCH};
use super::names::{QueryIds, columns_of_queries};
use super::profile::{self, ProfileArgs};
use super::rows::RowArgs;
use super::search::{WAYS, Way};
use super::texts::TextArgs;
use super::width::{self, at_width};
use crate::choice::explained;
use crate::own_input::refuse_own_input;
use crate::progress::Bars;
use crate::usage::usage;
use crate::{interrupt, number};

/// Finds all fingerprints in an index within Hamming distance k of given fingerprints, or of the fingerprints of texts
///
/// Writes rows of query, id and hamming: queries in the order of the files, the matches of a query by hamming, then id.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("asked").args(["queries", "text"]).required(true))]
pub(super) struct Args {
    #[command(flatten)]
    directory: Directory,

    /// Files of fingerprints to look up, as for `index build`; --text looks up documents instead. The column query has the
    /// id of the looked-up fingerprint
    #[arg(long, num_args = 1.., value_name = "FILE", value_hint = ValueHint::FilePath)]
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

    /// Way to find fingerprints; all find the same [default: directory, or a scan of the index if that is cheaper]
    #[arg(long, value_parser = explained(WAYS), value_name = "WAY", conflicts_with = "scan")]
    search: Option<Way>,

    /// Largest table of `--search stored-variations`
    #[arg(long, default_value = "1GiB", value_name = "SIZE", value_parser = number::parse_bytes)]
    memory: u64,

    /// Answer up to four million queries at a time by reading the whole index once
    #[arg(long, value_enum, default_value_t = Scan::Auto, num_args = 0..=1, default_missing_value = "always", require_equals = true, value_name = "WHEN")]
    scan: Scan,

    /// Worker threads; 0 uses all cores
    #[arg(long, default_value_t = 0, value_name = "N")]
    threads: usize,

    /// Print the work to stderr: probes, steps of searches, candidates (fingerprints compared), and bytes of the tables
    /// that were read
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
    if let Some(output) = &args.rows.output {
        let files = args.queries.iter().chain([&args.directory.index]);
        refuse_own_input(output, files.map(PathBuf::as_path))?;
        args.texts.refuse_replaced_by(output)?;
    }
    width::check_radius(args.hamming.unwrap_or_default(), W::BITS)?;
    let stored = ProfileLabel::read(&committed.settings.label);
    let cancel = interrupt::flag()?;
    let bars = Bars::new(args.quiet);
    let k = args.hamming.unwrap_or(committed.settings.radius);
    let way = match args.search {
        None if args.scan == Scan::Always => Way::Pass,
        way => way.unwrap_or_default(),
    };
    let mut answers = Answers::new(&committed, k, way, args.memory, &bars, &cancel)?;
    let mut code = ExitCode::SUCCESS;
    if args.texts.are_given() {
        let subject = args
            .profile
            .subject(args.texts.keys(), stored.as_ref(), W::BITS)?;
        let columns = columns_of_queries(true, committed.names.is_some());
        let mut out = args.rows.open(columns, &[])?;
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
        if args.scan == Scan::Auto && args.search.is_none() {
            let (rows, queries) = (committed.snapshot.rows(), files.len().min(SCAN_BATCH as u64));
            let costs = LookupCosts::default();
            let codec = committed.settings.codec;
            let missing = committed.snapshot.missing_pages();
            if scan_is_cheaper::<W>(codec, rows, queries, k, &costs, &missing)? {
                answers.scan();
            }
        }
        let columns = columns_of_queries(files.has_names(), committed.names.is_some());
        let mut out = args.rows.open(columns, &[])?;
        let at_once = answers.at_once();
        let (mut queries, mut query_ids) = (Vec::new(), QueryIds::of(&files));
        let mut left = files.len();
        files.read(0, |fingerprints: &[W], ids| {
            left -= fingerprints.len() as u64;
            queries.extend_from_slice(fingerprints);
            query_ids.extend(ids)?;
            if queries.len() >= at_once || left == 0 {
                answers.answer(&queries, |query| query_ids.value(query), &mut out)?;
                queries.clear();
                query_ids.clear();
            }
            anyhow::Ok(())
        })?;
        out.finish()?;
    }
    bars.finish();
    answers.note_missed(&args.directory.index);
    if args.stats {
        answers.print_stats();
    }
    Ok(code)
}
