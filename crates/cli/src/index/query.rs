//! `twinprint index query`

use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use anyhow::{Context, bail};
use clap::{ValueEnum, ValueHint};
use twinprint::raw::RawFiles;
use twinprint::segment::{Scratch, Stats};

use super::Directory;
use crate::{interrupt, number, terminal};

/// Queries answered together: neighbours in the index are read once.
const BATCH: usize = 1 << 16;

/// Finds all fingerprints within k bits of others
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    directory: Directory,

    /// Files of fingerprints to look for (*.u64); the query number of each is its position, counted through all files
    #[arg(long, required = true, num_args = 1.., value_name = "FILE", value_hint = ValueHint::FilePath)]
    queries: Vec<PathBuf>,

    /// Most bits that may differ; the radius the index was built for unless given
    #[arg(short = 'k', long, value_name = "K", value_parser = clap::value_parser!(u32).range(0..=64))]
    hamming: Option<u32>,

    /// Form of the rows: query, id, hamming, by query, then hamming, then id
    #[arg(long, value_enum, default_value_t = Form::Jsonl, value_name = "FORM")]
    format: Form,

    /// Say on stderr how many probes and comparisons it took
    #[arg(long)]
    stats: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Form {
    /// One object a line
    Jsonl,
    /// A header and one row a line
    Csv,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let files = RawFiles::open(&args.queries)?;
    let committed = super::read(&args.directory.index)?;
    let k = args.hamming.unwrap_or(committed.settings.radius);
    let cancel = interrupt::flag()?;
    let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    if args.format == Form::Csv {
        writeln!(out, "query,id,hamming").context("writing to stdout")?;
    }
    let (mut scratch, mut stats) = (Scratch::default(), Stats::default());
    let (mut first, mut rows) = (0, Vec::new());
    files.read(|stretch| {
        for batch in stretch.chunks(BATCH) {
            if cancel.load(Ordering::Relaxed) {
                bail!("interrupted");
            }
            rows.clear();
            stats += committed
                .snapshot
                .lookup_batch(batch, k, &mut scratch, |query, id, _, hamming| {
                    rows.push((first + query as u64, hamming, id));
                })?;
            first += batch.len() as u64;
            rows.sort_unstable();
            rows.iter()
                .try_for_each(|&(query, hamming, id)| match args.format {
                    Form::Jsonl => writeln!(out, "{{\"query\":{query},\"id\":{id},\"hamming\":{hamming}}}"),
                    Form::Csv => writeln!(out, "{query},{id},{hamming}"),
                })
                .context("writing to stdout")?;
        }
        Ok(())
    })?;
    out.flush().context("writing to stdout")?;
    if args.stats {
        terminal::note(&format!(
            "{} queries, {} probes, {} compared, {} fingerprints found",
            number::count(first),
            number::count(stats.probes),
            number::count(stats.candidates),
            number::count(stats.matches)
        ));
    }
    Ok(())
}
