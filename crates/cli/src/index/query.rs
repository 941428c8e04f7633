//! `twinprint index query`

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use anyhow::bail;
use clap::ValueHint;
use twinprint::raw::{Column, Kind, Value};
use twinprint::segment::{Scratch, Stats};

use super::Directory;
use super::files::IdArgs;
use super::rows::RowArgs;
use crate::{interrupt, number, terminal};

/// Queries answered together: neighbours in the index are read once.
const BATCH: usize = 1 << 16;

/// What is found.
const COLUMNS: &[Column] = &[
    Column("query", Kind::Id),
    Column("id", Kind::Id),
    Column("hamming", Kind::Distance),
];

/// Finds all fingerprints within k bits of others
///
/// Writes rows of query, id and hamming: by query in the order of the file, then hamming, then id.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    directory: Directory,

    /// Files of fingerprints to look for, as for `index build`; a query is known by its id
    #[arg(long, required = true, num_args = 1.., value_name = "FILE", value_hint = ValueHint::FilePath)]
    queries: Vec<PathBuf>,

    #[command(flatten)]
    ids: IdArgs,

    /// Most bits that may differ; the radius the index was built for unless given
    #[arg(short = 'k', long, value_name = "K", value_parser = clap::value_parser!(u32).range(0..=64))]
    hamming: Option<u32>,

    #[command(flatten)]
    rows: RowArgs,

    /// Say on stderr how many probes and comparisons it took
    #[arg(long)]
    stats: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let files = args.ids.open(&args.queries)?;
    let committed = super::read(&args.directory.index)?;
    let k = args.hamming.unwrap_or(committed.settings.radius);
    let cancel = interrupt::flag()?;
    let mut out = args.rows.open(COLUMNS, &[])?;
    let (mut scratch, mut stats) = (Scratch::default(), Stats::default());
    let mut found: Vec<(usize, u32, u64)> = Vec::new();
    files.read(0, |queries, names| {
        for (queries, names) in queries.chunks(BATCH).zip(names.chunks(BATCH)) {
            if cancel.load(Ordering::Relaxed) {
                bail!("interrupted");
            }
            found.clear();
            stats += committed
                .snapshot
                .lookup_batch(queries, k, &mut scratch, |query, id, _, hamming| {
                    found.push((query, hamming, id));
                })?;
            found.sort_unstable();
            for &(query, hamming, id) in &found {
                let query = names.get(query).copied().unwrap_or_default();
                out.row(&[query, id, hamming.into()].map(Value::Number))?;
            }
        }
        Ok(())
    })?;
    out.finish()?;
    if args.stats {
        terminal::note(&format!(
            "{} queries, {} probes, {} compared, {} fingerprints found",
            number::count(files.len()),
            number::count(stats.probes),
            number::count(stats.candidates),
            number::count(stats.matches)
        ));
    }
    Ok(())
}
