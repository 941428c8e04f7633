//! `twinprint dedup`

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::ValueEnum;
use twinprint::compat::Recipe;
use twinprint::sink::Existing;
use twinprint::{
    Auto, ClusterFiles, Columns, DedupJob, DedupOptions, EmptyTexts, Keep, Mode, Order, PairRows, Profile,
    Progress, Room, StopWords,
};

use crate::idf::IdfArgs;
use crate::input::InputArgs;
use crate::intake::IntakeArgs;
use crate::progress::Bars;
use crate::usage::UsageError;
use crate::{append, forecast, interrupt, summary, terminal};

const EXAMPLES: &str = "\
Examples:
  twinprint dedup news.jsonl -o out
      keep one of each group of near-duplicates: out/kept, out/removed, out/clusters.jsonl
  twinprint dedup crawl/ -o out --threshold 0.9 --keep longest
      a folder of text files; only closer copies count, the longest of each group stays
  zcat dump.jsonl.gz | twinprint dedup - --format jsonl --text-key body.text -o out --mode report
      from stdin, text in a nested field, no records copied
  twinprint dedup news.jsonl -o out --mode annotate
      out/annotated: every record with cluster_id, cluster_size, is_leader, duplicate_of, hamming, jaccard, dup_count
  twinprint dedup news.jsonl -o out --order similar
      relatives next to one another in out/kept, where zstd and gzip make more of them; report.json says how much
  twinprint dedup crawl/ -o out --dry-run
      what it will take in memory, disk and time, and whether there is as much
  twinprint dedup a.jsonl b.jsonl -o out --pairs
      also every pair found, with distance, Jaccard and containment
  twinprint dedup news.jsonl -o out --against seen --append
      what the collection seen/ knows is removed too, and what is kept is added to it: tomorrow's run knows today's
  twinprint dedup news.jsonl -o out --parts
      also partial copies: a passage of one page within another, however different the rest, with its place in the original texts";

/// Finds near-duplicates and writes kept and removed records, groups and a report
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "every flag is one")]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    intake: IntakeArgs,

    /// Directory for the result: new, empty, or with an earlier result and --overwrite
    #[arg(short, long, value_name = "DIR", visible_alias = "output-dir")]
    output: PathBuf,

    /// Least Jaccard similarity of a duplicate: of word 3-grams, or character 5-grams for Chinese [default: 0.8]
    #[arg(long, value_name = "J", help_heading = "What counts as a duplicate")]
    threshold: Option<f64>,

    /// Take matching fingerprints for duplicates without looking at the text (k = 3 unless given)
    #[arg(long, help_heading = "What counts as a duplicate")]
    no_verify: bool,

    /// Also remove what a collection or an index knows from before: a collection verifies on its texts, an index has fingerprints only
    /// (k = 3 unless given)
    ///
    /// Known documents are removed whatever --keep says: --keep chooses among the documents of this run.
    #[arg(long, value_name = "DIR", help_heading = "What counts as a duplicate")]
    against: Option<PathBuf>,

    /// Add what is kept to the collection of --against: all of it, or on an error or Ctrl-C nothing
    ///
    /// The run holds the collection from its start to its end; other processes that need it fail meanwhile. After a kill, run the same
    /// command again: it leaves what one run leaves. The same input (the same ids and texts in the same order, whatever the files are called)
    /// gives the result of its first run again, and adds nothing twice. An input that differs is another run: it removes everything that
    /// the collection has, except records with the id and the text of a document there. A record that the collection would not take (too
    /// long an id or a text, or no words where it wants some) is rejected.
    #[arg(long, requires = "against", help_heading = "Output")]
    append: bool,

    /// Which document of a group is kept; newest goes by --keep-key. What --against knows is removed in any case
    #[arg(long, value_enum, default_value_t = KeepArg::First, help_heading = "What counts as a duplicate")]
    keep: KeepArg,

    /// Field that --keep newest sorts by (numbers, or text such as 2024-05-01) [default: time]
    #[arg(long, value_name = "FIELD", help_heading = "What counts as a duplicate")]
    keep_key: Option<String>,

    /// Texts without words (empty, or punctuation alone) duplicate nothing; keep them, remove them, or reject them
    #[arg(long, value_enum, default_value_t = EmptyArg::Keep, value_name = "HOW", help_heading = "What counts as a duplicate")]
    empty: EmptyArg,

    /// How documents become fingerprints, such as tp1-words-lntf or tp1-chars4-tf; or paper: 64 bits, k = 3, no verification
    #[arg(long, default_value = "tp1-words-lntf", help_heading = "Fingerprints")]
    profile: String,

    /// Width of the fingerprints: 64, 128, or auto
    #[arg(long, default_value = "auto", value_parser = parse_auto, help_heading = "Fingerprints")]
    bits: Auto,

    /// Radius of the candidates: up to 12 at 64 bits, 40 at 128, or auto: the largest the corpus affords
    #[arg(short = 'k', long, default_value = "auto", value_parser = parse_auto, value_name = "K", visible_alias = "bit-diff", help_heading = "Fingerprints")]
    hamming: Auto,

    /// File of words to leave out of the features, one a line
    #[arg(long, value_name = "FILE", help_heading = "Fingerprints")]
    stop_words: Option<PathBuf>,

    #[command(flatten)]
    idf: IdfArgs,

    /// remove: copy records to kept/ and removed/; annotate: copy all to annotated/ with fields that tell their group; report: only
    /// say what is there
    #[arg(long, value_enum, default_value_t = ModeArg::Remove, help_heading = "Output")]
    mode: ModeArg,

    /// How records stand in kept/: as in the input, or relatives next to one another, so that packers make more of them
    #[arg(long, value_enum, default_value_t = OrderArg::Input, help_heading = "Output")]
    order: OrderArg,

    /// Fields added to every record of annotated/ (or of kept/ and removed/, where given): twinprint's own, those of another tool, or
    /// dup-count alone, the number of documents that a kept record stands for [default: twinprint with --mode annotate, else none]
    #[arg(long, value_enum, value_name = "FIELDS", help_heading = "Output")]
    columns: Option<ColumnsArg>,

    /// Begin the names of these fields with this
    #[arg(
        long,
        default_value = "",
        hide_default_value = true,
        value_name = "TEXT",
        help_heading = "Output"
    )]
    prefix: String,

    /// Files that list the group of every document
    #[arg(long, value_enum, default_value_t = ClustersArg::Both, value_name = "FILES", help_heading = "Output")]
    clusters: ClustersArg,

    /// Replace an earlier result in the output directory, if all of it was written by twinprint; it stays until the new one is whole
    #[arg(long, help_heading = "Output")]
    overwrite: bool,

    /// Write every verified pair to pairs.jsonl; =distinct writes one of equal texts and a row for each copy
    #[arg(long, value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "all", default_value = "none", hide_default_value = true, value_name = "WHICH", help_heading = "Output")]
    pairs: PairsArg,

    /// Also find partial copies. parts.jsonl: pairs of which one text holds SHARE (0.3 unless given) of the other. passages.jsonl: passages
    /// that more than 64 texts share and that make up SHARE of at least one of them, alone or with other such passages. Common runs of
    /// 31 words (63 letters in Chinese) are always noticed, of 20 words (42 letters) about half, of 12 words (24 letters) hardly any. The shortest
    /// passage has 8 words (16 letters)
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "0.3", value_name = "SHARE", help_heading = "Output")]
    parts: Option<f64>,

    /// No progress and no summary
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,

    /// Worker threads; 0 takes all cores
    #[arg(long, default_value_t = 0, value_name = "N", help_heading = "Running")]
    threads: usize,

    /// Memory the run may take, such as 2GiB. It needs 108 MiB, 8 MiB a thread, 32 bytes a document, 190 a different text, 16 a candidate pair and 20
    /// for each byte of the longest record; a run that needs more ends with an error. The rest is used for caches
    #[arg(long, value_name = "SIZE", value_parser = crate::number::parse_bytes, help_heading = "Running")]
    memory: Option<u64>,

    /// Tell from a sample what the run will take (rows, memory, disk, time) and whether it fits; write nothing. Its exit code is not about rejected records
    #[arg(long, help_heading = "Running")]
    dry_run: bool,

    /// Directory for temporary files; inside the output directory unless given
    #[arg(long, value_name = "DIR", help_heading = "Running")]
    work_dir: Option<PathBuf>,

    /// Seed of the samples
    #[arg(long, default_value_t = 42, value_name = "N", help_heading = "Running")]
    seed: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum KeepArg {
    First,
    Longest,
    Shortest,
    Newest,
}

#[derive(Clone, Copy, ValueEnum)]
enum EmptyArg {
    Keep,
    Remove,
    Reject,
}

#[derive(Clone, Copy, ValueEnum)]
enum ModeArg {
    Remove,
    Annotate,
    Report,
}

#[derive(Clone, Copy, ValueEnum)]
enum OrderArg {
    Input,
    Similar,
}

#[derive(Clone, Copy, ValueEnum)]
enum ColumnsArg {
    Twinprint,
    Datatrove,
    TextDedup,
    Duplodocus,
    DupCount,
}

#[derive(Clone, Copy, ValueEnum)]
enum ClustersArg {
    Jsonl,
    Parquet,
    Both,
    None,
}

#[derive(Clone, Copy, ValueEnum)]
enum PairsArg {
    None,
    All,
    Distinct,
}

pub(crate) fn parse_auto(text: &str) -> Result<Auto, String> {
    if text == "auto" {
        return Ok(Auto::Auto);
    }
    text.parse()
        .map(Auto::Fixed)
        .map_err(|_| "write a number or auto".to_owned())
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut source = args.input.options();
    let options = options(args)?;
    if options.keep == Keep::Newest {
        source.sort_key = Some(args.keep_key.clone().unwrap_or_else(|| "time".to_owned()));
    }
    let bars = Bars::new(args.quiet);
    for idle in idle(args, &options) {
        bars.warn(idle);
    }
    let cancel = interrupt::flag()?;
    let job = DedupJob {
        inputs: &args.input.inputs,
        source: &source,
        options: &options,
        out: &args.output,
    };
    if args.dry_run {
        let forecast = twinprint::forecast(&job, &bars, &cancel);
        bars.finish();
        let (forecast, room) = (forecast?, Room::of(&options, &args.output));
        terminal::out(&forecast::text(&forecast, &room))?;
        forecast.check(&room)?;
        return Ok(ExitCode::SUCCESS);
    }
    let result = twinprint::dedup(&job, &bars, &cancel);
    bars.finish();
    let report = result?;
    if !args.quiet {
        terminal::out(&summary::of(&report, &args.output))?;
    }
    if let (Some(appended), Some(to)) = (&report.appended, &options.against) {
        append::report(appended, to, args.quiet);
    }
    Ok(args.intake.end(&report.intake))
}

/// What was given and decides nothing. No error: it may come from a file, of which the command line changes a part.
fn idle(args: &Args, options: &DedupOptions) -> Vec<&'static str> {
    let mut idle = Vec::new();
    if args.keep_key.is_some() && options.keep != Keep::Newest {
        idle.push("--keep-key is not used: only --keep newest goes by a field");
    }
    if args.columns.is_some() && options.mode == Mode::Report {
        idle.push("--columns is not used: --mode report writes no records");
    }
    if args.threshold.is_some() && !options.verify {
        idle.push(
            "--threshold is not used: without verification no text is looked at, and the radius (-k) decides",
        );
    }
    idle
}

fn options(args: &Args) -> anyhow::Result<DedupOptions> {
    let paper = args.profile == "paper";
    let profile = if paper {
        "tp1-words-lntf"
    } else {
        args.profile.as_str()
    };
    let mut options = DedupOptions::new()?;
    options.profile = args
        .idf
        .profile(profile, |id| profile_named(id, args.stop_words.as_deref()))?;
    options.stop_words_file.clone_from(&args.stop_words);
    options.idf_file = args.idf.given();
    options.bits = args.bits;
    options.hamming = args.hamming;
    options.verify = !(args.no_verify || paper);
    options.threshold = args.threshold.unwrap_or(options.threshold);
    options.against.clone_from(&args.against);
    options.append = args.append;
    options.keep = match args.keep {
        KeepArg::First => Keep::First,
        KeepArg::Longest => Keep::Longest,
        KeepArg::Shortest => Keep::Shortest,
        KeepArg::Newest => Keep::Newest,
    };
    options.empty = match args.empty {
        EmptyArg::Keep => EmptyTexts::Keep,
        EmptyArg::Remove => EmptyTexts::Remove,
        EmptyArg::Reject => EmptyTexts::Reject,
    };
    options.mode = match args.mode {
        ModeArg::Remove => Mode::Remove,
        ModeArg::Annotate => Mode::Annotate,
        ModeArg::Report => Mode::Report,
    };
    options.order = match args.order {
        OrderArg::Input => Order::Input,
        OrderArg::Similar => Order::Similar,
    };
    options.columns = args.columns.map(|columns| match columns {
        ColumnsArg::Twinprint => Columns::Twinprint,
        ColumnsArg::Datatrove => Columns::Datatrove,
        ColumnsArg::TextDedup => Columns::TextDedup,
        ColumnsArg::Duplodocus => Columns::Duplodocus,
        ColumnsArg::DupCount => Columns::DupCount,
    });
    options.clusters = match args.clusters {
        ClustersArg::Jsonl => ClusterFiles::Jsonl,
        ClustersArg::Parquet => ClusterFiles::Parquet,
        ClustersArg::Both => ClusterFiles::Both,
        ClustersArg::None => ClusterFiles::None,
    };
    options.existing = existing(args.overwrite);
    options.prefix.clone_from(&args.prefix);
    options.pairs = match args.pairs {
        PairsArg::None => PairRows::None,
        PairsArg::All => PairRows::All,
        PairsArg::Distinct => PairRows::Distinct,
    };
    options.parts = args.parts;
    options.threads = args.threads;
    options.work_dir.clone_from(&args.work_dir);
    options.memory = args.memory;
    options.seed = args.seed;
    if let (Auto::Auto, Some(bits)) = (options.bits, width_named(profile)) {
        options.bits = Auto::Fixed(bits);
    }
    Ok(options)
}

/// The treatment of an earlier result, as --overwrite asks.
pub(crate) fn existing(overwrite: bool) -> Existing {
    if overwrite {
        Existing::Replace
    } else {
        Existing::Refuse
    }
}

/// The width a profile id ends in, if it does.
pub(crate) fn width_named(id: &str) -> Option<u32> {
    let base = id.split('+').next().unwrap_or(id);
    base.rsplit('-').next()?.parse().ok()
}

/// The profile of an id, for commands that have no key; see [`profile_under_any_key`].
pub(crate) fn profile_named(id: &str, stop_words: Option<&std::path::Path>) -> anyhow::Result<Profile> {
    profile_of("--profile", id, stop_words)
}

/// As [`profile_named`], for the value of another option.
pub(crate) fn profile_of(
    option: &str,
    id: &str,
    stop_words: Option<&std::path::Path>,
) -> anyhow::Result<Profile> {
    let refuse = |error: &str| UsageError(format!("{option} {id}: {error}"));
    if Recipe::parse(id).is_ok() {
        Err(refuse(
            "for `twinprint fingerprint` alone, which makes fingerprints as other libraries do",
        ))?;
    }
    let profile = keyed_profile_of(option, id, stop_words)?;
    if profile.key_id() != Profile::PUBLIC_KEY {
        Err(refuse("takes no key here; `twinprint fingerprint --key` does"))?;
    }
    Ok(profile)
}

/// The profile of an id, whose width may be left out. An id that holds the checksum of a list of stop words needs that list.
pub(crate) fn profile_under_any_key(
    id: &str,
    stop_words: Option<&std::path::Path>,
) -> anyhow::Result<Profile> {
    keyed_profile_of("--profile", id, stop_words)
}

fn keyed_profile_of(option: &str, id: &str, stop_words: Option<&std::path::Path>) -> anyhow::Result<Profile> {
    let refuse = |error: String| UsageError(format!("{option} {id}: {error}"));
    let (base, checksum) = match (id.split_once("+stop."), stop_words) {
        (Some((base, checksum)), Some(_)) => (base, Some(checksum)),
        _ => (id, None),
    };
    let (recipe, key) = base.split_at(base.find('+').unwrap_or(base.len()));
    let width = if recipe.split('-').count() == 3 {
        "-128"
    } else {
        ""
    };
    let whole = format!("{recipe}{width}{key}");
    let profile = Profile::parse(&whole).map_err(|error| refuse(error.to_string()))?;
    let Some(path) = stop_words else {
        return Ok(profile);
    };
    let list = std::fs::read_to_string(path).with_context(|| format!("--stop-words {}", path.display()))?;
    let words = list.lines().map(str::trim).filter(|line| !line.is_empty());
    let profile = profile.with_stop_words(StopWords::new(words));
    match checksum {
        Some(checksum) if !profile.id().ends_with(checksum) => Err(refuse(format!(
            "the stop words in {} are others: with them the profile is {}",
            path.display(),
            profile.id()
        ))
        .into()),
        _ => Ok(profile),
    }
}
