//! `twinprint dedup`

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use twinprint::{
    Auto, ClusterFiles, Columns, DedupJob, DedupOptions, EmptyTexts, Keep, Mode, OnDisk, Order, PairRows,
    Progress, Room,
};

use twinprint::source::SourceOptions;

use crate::choice::by_name;
use crate::input::InputArgs;
use crate::intake::IntakeArgs;
use crate::number::parse_auto;
use crate::output::{Output, existing};
use crate::profile::{IdfArgs, profile_named, width_named};
use crate::progress::Bars;
use crate::usage::usage;
use crate::{append, forecast, interrupt, summary, terminal};

const EXAMPLES: &str = "\
Examples:
  twinprint dedup news.jsonl -o out
      keep one of each group of near-duplicates: out/kept, out/removed, out/clusters.jsonl
  twinprint dedup crawl/ -o out --threshold 0.9 --keep longest
      a folder of text files; only closer copies count, and the longest of each group is kept
  zcat dump.jsonl.gz | twinprint dedup - --format jsonl --text-key body.text -o out --mode report
      read from stdin, with the text in a nested field; no records are copied
  twinprint dedup news.jsonl -o out --mode annotate
      out/annotated: every record with cluster_id, cluster_size, is_leader, duplicate_of, hamming, jaccard, dup_count
  twinprint dedup news.jsonl -o out --order similar
      similar documents are adjacent in out/kept, so that zstd and gzip compress better; report.json has the gain
  twinprint dedup crawl/ -o out --dry-run
      estimates memory, disk and time, and fails if the machine has too little
  twinprint dedup a.jsonl b.jsonl -o out --pairs
      also writes every pair found, with distance, Jaccard and containment
  twinprint dedup news.jsonl -o out --against seen --append
      also removes duplicates of documents in the collection seen/, and adds the kept documents to it for the next run
  twinprint dedup crawl/ -o out --memory 2GiB --on-disk
      keeps the tables on disk, for a corpus larger than memory; after an interruption the same command resumes
  twinprint dedup crawl/ -o out --on-disk --incremental --overwrite
      the same, every week: only the files that were added to crawl/ are analysed, and their pairs verified
  twinprint dedup news.jsonl -o out --parts
      also finds partial copies: a passage of one page within another, with its position in the original texts";

// Options with a fixed set of values, and the library's value for each name.
const KEEP: [(&str, Keep); 4] = [
    ("first", Keep::First),
    ("longest", Keep::Longest),
    ("shortest", Keep::Shortest),
    ("newest", Keep::Newest),
];
const EMPTY_TEXTS: [(&str, EmptyTexts); 3] = [
    ("keep", EmptyTexts::Keep),
    ("remove", EmptyTexts::Remove),
    ("reject", EmptyTexts::Reject),
];
const MODES: [(&str, Mode); 3] = [
    ("remove", Mode::Remove),
    ("annotate", Mode::Annotate),
    ("report", Mode::Report),
];
const ORDERS: [(&str, Order); 2] = [("input", Order::Input), ("similar", Order::Similar)];
const COLUMNS: [(&str, Columns); 5] = [
    ("twinprint", Columns::Twinprint),
    ("datatrove", Columns::Datatrove),
    ("text-dedup", Columns::TextDedup),
    ("duplodocus", Columns::Duplodocus),
    ("dup-count", Columns::DupCount),
];
const CLUSTER_FILES: [(&str, ClusterFiles); 4] = [
    ("jsonl", ClusterFiles::Jsonl),
    ("parquet", ClusterFiles::Parquet),
    ("both", ClusterFiles::Both),
    ("none", ClusterFiles::None),
];
const PAIR_ROWS: [(&str, PairRows); 3] = [
    ("none", PairRows::None),
    ("all", PairRows::All),
    ("distinct", PairRows::Distinct),
];

/// Finds near-duplicates and writes kept and removed records, groups and a report
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "every flag is one")]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    intake: IntakeArgs,

    /// Directory for the result: new, empty, or with an earlier result and --overwrite. Or a folder of object storage, such
    /// as s3://bucket/out, with --work-dir, where the result is written before it is copied
    #[arg(
        short,
        long,
        value_name = "DIR",
        visible_alias = "output-dir",
        help_heading = "Output"
    )]
    output: PathBuf,

    /// Minimum Jaccard similarity of a duplicate: of word 3-grams, or character 5-grams for Chinese [default: 0.8]
    #[arg(long, value_name = "J", help_heading = "Duplicates")]
    threshold: Option<f64>,

    /// Treat matching fingerprints as duplicates without reading the texts (default k: 3)
    #[arg(long, help_heading = "Duplicates")]
    no_verify: bool,

    /// Also remove duplicates of the documents in a collection or an index. A collection has texts, by which duplicates
    /// are verified; an index has only fingerprints (default k: 3)
    ///
    /// Duplicates of these documents are removed with any --keep, which chooses only among the documents of this run.
    #[arg(long, value_name = "DIR", help_heading = "Duplicates")]
    against: Option<PathBuf>,

    /// Add the kept documents to the collection of --against: all of them, or none if the run fails or is interrupted
    /// by Ctrl-C
    ///
    /// The run locks the collection until it ends; meanwhile other processes that need the collection fail. If the run
    /// is killed, run the same command again: the result is that of one complete run. The same input (the same ids and
    /// texts in the same order, under any file names) gives the result of its first run again, and adds nothing twice.
    /// A different input is a new run: it removes all duplicates of documents in the collection, except a record that
    /// has the id and the text of such a document. A record is rejected if the collection cannot store it: its id or
    /// its text is too long, or it has no words and the collection requires some.
    #[arg(long, requires = "against", help_heading = "Output")]
    append: bool,

    /// Rule that chooses the kept document of a group; newest compares the field of --keep-key. Duplicates of --against
    /// are always removed
    #[arg(long, value_parser = by_name(KEEP), default_value = "first", help_heading = "Duplicates")]
    keep: Keep,

    /// Field by which --keep newest sorts (numbers, or text such as 2024-05-01) [default: time]
    #[arg(long, value_name = "FIELD", help_heading = "Duplicates")]
    keep_key: Option<String>,

    /// Treatment of texts without words (empty or only punctuation), which are never duplicates
    #[arg(long, value_parser = by_name(EMPTY_TEXTS), default_value = "keep", value_name = "HOW", help_heading = "Duplicates")]
    empty: EmptyTexts,

    /// Profile of the fingerprints, such as tp1-words-lntf or tp1-chars4-tf; or paper: 64 bits, k = 3, no verification
    #[arg(long, default_value = "tp1-words-lntf", help_heading = "Fingerprints")]
    profile: String,

    /// Width of the fingerprints: 64, 128, or auto
    #[arg(long, default_value = "auto", value_parser = parse_auto, help_heading = "Fingerprints")]
    bits: Auto,

    /// Largest Hamming distance of candidates: up to 12 at 64 bits, 40 at 128, or auto: the largest that the budget of
    /// candidates allows
    #[arg(short = 'k', long, default_value = "auto", value_parser = parse_auto, value_name = "K", visible_alias = "bit-diff", help_heading = "Fingerprints")]
    hamming: Auto,

    /// File of stop words, which are ignored as features, one per line
    #[arg(long, value_name = "FILE", help_heading = "Fingerprints")]
    stop_words: Option<PathBuf>,

    #[command(flatten)]
    idf: IdfArgs,

    /// Records to write: remove copies the records to kept/ and removed/; annotate copies all to annotated/, with
    /// fields about their group; report copies none
    #[arg(long, value_parser = by_name(MODES), default_value = "remove", help_heading = "Output")]
    mode: Mode,

    /// Order of the records in kept/: the order of the input, or similar documents next to each other, for better
    /// compression
    #[arg(long, value_parser = by_name(ORDERS), default_value = "input", help_heading = "Output")]
    order: Order,

    /// Fields to add to every record of annotated/ (or of kept/ and removed/, if this option is given): twinprint's
    /// own, those of another tool, or only dup-count, the number of documents that a kept record represents [default:
    /// twinprint with --mode annotate, else none]
    #[arg(long, value_parser = by_name(COLUMNS), value_name = "FIELDS", help_heading = "Output")]
    columns: Option<Columns>,

    /// Prefix of the names of the fields that --columns adds
    #[arg(
        long,
        default_value = "",
        hide_default_value = true,
        value_name = "TEXT",
        help_heading = "Output"
    )]
    prefix: String,

    /// Files that list the group of every document
    #[arg(long, value_parser = by_name(CLUSTER_FILES), default_value = "both", value_name = "FILES", help_heading = "Output")]
    clusters: ClusterFiles,

    /// Replace an earlier result in the output directory, if twinprint wrote all of it; it is deleted after the new
    /// result is complete
    #[arg(long, help_heading = "Output")]
    overwrite: bool,

    /// Write every pair of verified duplicates to pairs.jsonl. With =distinct, only one of several equal texts occurs in pairs, and
    /// each copy has a row that names this one
    #[arg(long, value_parser = by_name(PAIR_ROWS), num_args = 0..=1, require_equals = true, default_missing_value = "all", default_value = "none", hide_default_value = true, value_name = "WHICH", help_heading = "Output")]
    pairs: PairRows,

    /// Also find partial copies. parts.jsonl: pairs in which one text contains SHARE (default 0.3) of the other.
    /// passages.jsonl: passages that more than 64 texts share and that, alone or together with other such passages,
    /// make up SHARE of at least one of them. Common runs of 31 words (63 characters in Chinese) are always found, of 20
    /// words (42 characters) about half, of 12 words (24 characters) hardly any. The shortest passage has 8 words (16
    /// characters)
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "0.3", value_name = "SHARE", help_heading = "Output")]
    parts: Option<f64>,

    /// Show no progress and no summary
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,

    /// Worker threads; 0 uses all cores
    #[arg(long, default_value_t = 0, value_name = "N", help_heading = "Running")]
    threads: usize,

    /// Memory limit of the run, such as 2GiB. A run needs 72 MiB, 26 MiB per thread (16 from the 33rd on), 14 bytes per
    /// document, 90 per different text, 16 per candidate pair and 20 for each byte of the longest record. If that exceeds
    /// the limit, the run begins again on disk. Caches use the rest
    #[arg(long, value_name = "SIZE", value_parser = crate::number::parse_bytes, help_heading = "Running")]
    memory: Option<u64>,

    /// Keep the tables on disk, beside the output directory or in --work-dir. If the run is interrupted, the same command
    /// resumes after its last complete stage
    #[arg(long, help_heading = "Running")]
    on_disk: bool,

    /// Minimum number of blocks into which a run on disk divides fingerprints and texts. B blocks make B (B + 1) / 2 tasks of
    /// the stages join and verify, which several machines can share (see `twinprint shard`). The memory limit may make more
    #[arg(long, default_value_t = 1, value_name = "B", value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Running")]
    blocks: u32,

    /// Keep the folder of a run on disk. A later run over the same files and more analyses and verifies only what is new; the
    /// added files must come after the others
    #[arg(long, help_heading = "Running")]
    incremental: bool,

    /// Start a run on disk over instead of resuming an interrupted one
    #[arg(long, help_heading = "Running")]
    fresh: bool,

    /// Estimate rows, memory, disk and time from a sample, and write nothing. Fails if the machine has too little
    /// memory or disk. Rejected records do not change the exit code
    #[arg(long, help_heading = "Running")]
    dry_run: bool,

    /// Bytes of records that --dry-run reads as a sample. A larger sample makes better estimates
    #[arg(long, value_name = "SIZE", value_parser = crate::number::parse_bytes, default_value = "32MiB", requires = "dry_run", help_heading = "Running")]
    sample: u64,

    /// Directory for temporary files [default: inside the output directory]
    #[arg(long, value_name = "DIR", help_heading = "Running")]
    work_dir: Option<PathBuf>,

    /// Seed of the random samples
    #[arg(long, default_value_t = 42, value_name = "N", help_heading = "Running")]
    seed: u64,
}

/// The options of a run, from its arguments.
pub(crate) struct Prepared {
    source: SourceOptions,
    options: DedupOptions,
    output: Output,
}

impl Args {
    /// The options that the arguments give.
    pub(crate) fn prepare(&self, cancel: &Arc<AtomicBool>) -> anyhow::Result<Prepared> {
        let mut source = self.input.options();
        let options = options(self)?;
        if options.keep == Keep::Newest {
            source.sort_key = Some(self.keep_key.clone().unwrap_or_else(|| "time".to_owned()));
        }
        Ok(Prepared {
            source,
            options,
            output: Output::of(&self.output, self.work_dir.as_deref(), cancel)?,
        })
    }

    /// True if no progress and no summary are wanted.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// True if only an estimate is wanted.
    pub(crate) fn is_dry_run(&self) -> bool {
        self.dry_run
    }
}

impl Prepared {
    /// The run that the arguments describe.
    pub(crate) fn job<'j>(&'j self, args: &'j Args) -> DedupJob<'j> {
        DedupJob {
            inputs: &args.input.inputs,
            source: &self.source,
            options: &self.options,
            out: self.output.dir(),
        }
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.fresh && !args.on_disk {
        return Err(usage("--fresh starts a run on disk over: give --on-disk as well"));
    }
    if args.incremental && !args.on_disk {
        return Err(usage(
            "--incremental keeps the folder of a run on disk: give --on-disk as well",
        ));
    }
    let cancel = interrupt::flag()?;
    let prepared = args.prepare(&cancel)?;
    let options = &prepared.options;
    let bars = Bars::new(args.quiet);
    for idle in idle(args, options) {
        bars.warn(idle);
    }
    let job = prepared.job(args);
    if args.dry_run {
        let forecast = twinprint::forecast(&job, &bars, &cancel);
        bars.finish();
        let (forecast, room) = (forecast?, Room::of(options, job.out));
        terminal::out(&forecast::text(&forecast, &room))?;
        forecast.check(&room)?;
        return Ok(ExitCode::SUCCESS);
    }
    let result = match prepared.output.objects() {
        None => twinprint::dedup(&job, &bars, &cancel),
        Some(to) => twinprint::dedup_to_objects(&job, to, &bars, &cancel),
    };
    bars.finish();
    let report = result?;
    if !args.quiet {
        terminal::out(&summary::summary(&report, &args.output))?;
    }
    if let (Some(appended), Some(to)) = (&report.appended, &options.against) {
        append::report(appended, to, args.quiet);
    }
    Ok(args.intake.end(&report.intake))
}

/// Returns warnings about options that have no effect. They are not errors, because the options may come from a
/// `--config` file whose other options the command line overrides.
fn idle(args: &Args, options: &DedupOptions) -> Vec<&'static str> {
    let mut idle = Vec::new();
    if args.keep_key.is_some() && options.keep != Keep::Newest {
        idle.push("--keep-key is not used: only --keep newest sorts by a field");
    }
    if args.columns.is_some() && options.mode == Mode::Report {
        idle.push("--columns is not used: --mode report writes no records");
    }
    if args.threshold.is_some() && !options.verify {
        idle.push("--threshold is not used: without verification only the radius (-k) decides");
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
    options.keep = args.keep;
    options.empty = args.empty;
    options.mode = args.mode;
    options.order = args.order;
    options.columns = args.columns;
    options.clusters = args.clusters;
    options.existing = existing(args.overwrite);
    options.prefix.clone_from(&args.prefix);
    options.pairs = args.pairs;
    options.parts = args.parts;
    options.threads = args.threads;
    options.work_dir.clone_from(&args.work_dir);
    options.memory = args.memory;
    options.on_disk = match (args.on_disk, args.fresh) {
        (_, true) => OnDisk::Anew,
        (true, false) => OnDisk::Always,
        (false, false) => OnDisk::AsNeeded,
    };
    options.blocks = args.blocks;
    options.incremental = args.incremental;
    options.sample_bytes = args.sample;
    options.seed = args.seed;
    if let (Auto::Auto, Some(bits)) = (options.bits, width_named(profile)) {
        options.bits = Auto::Fixed(bits);
    }
    Ok(options)
}
