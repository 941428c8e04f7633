//! `twinprint cluster`

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use twinprint::stream::{
    AgreementReport, ClusterJob, ClusterRun, ClusterSummary, FieldKeys, Method, Preference, Scope,
    StoryThresholds, StreamOptions, cluster, parse_span,
};

use crate::choice::by_name;
use crate::fields::FieldArgs;
use crate::input::InputArgs;
use crate::intake::{IntakeArgs, damaged_row};
use crate::output::existing;
use crate::profile::profile_named;
use crate::progress::Bars;
use crate::story_args::StoryArgs;
use crate::{interrupt, number, terminal};

const EXAMPLES: &str = "\
Examples:
  twinprint cluster news.jsonl -o out
      duplicate groups and stories with topics: out/assignments.jsonl, out/groups.jsonl, out/stories.jsonl, out/stories.html
  twinprint cluster a.jsonl -o mon --state st && twinprint cluster b.jsonl -o tue --state st
      today's documents join yesterday's stories
  twinprint cluster news.jsonl -o out --window 7d --half-life 36h --story-threshold 0.4
      a story ends after a week without new documents, follows its subject as that changes, and is tighter
  twinprint cluster news.jsonl -o out --canonical score,https,url-length --canonical-scope host
      the canonical copy of a group: one for each host";

const SCOPES: [(&str, Scope); 3] = [
    ("none", Scope::None),
    ("host", Scope::Host),
    ("domain", Scope::Domain),
];

/// Clusters a stream of documents in order: duplicate groups, and stories with topics
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    intake: IntakeArgs,

    /// Directory for the result: new, empty, or with an earlier result and --overwrite
    #[arg(short, long, value_name = "DIR", visible_alias = "output-dir")]
    output: PathBuf,

    /// Replace an earlier result in the output directory, if twinprint wrote all of it; it is deleted after the new
    /// result is complete
    #[arg(long)]
    overwrite: bool,

    /// Continue from the state in this file if the file exists, and store the new state in it
    ///
    /// A stream continues with its first options. Word weights are estimated from the first run, so it should have a
    /// large part of a day's documents, or --ahead 0. The results of a later run include the live groups and stories of
    /// earlier runs, under their ids; those that were merged are listed under `merged`.
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,

    #[command(flatten)]
    fields: FieldArgs,

    /// Field with the true cluster of a document, a text or a number. The agreement of groups and stories with this
    /// field is reported, and written to agreement.json
    #[arg(long, value_name = "FIELD", help_heading = "Fields")]
    labels: Option<String>,

    /// Minimum Jaccard similarity of a duplicate and its leader
    #[arg(
        long,
        default_value_t = 0.8,
        value_name = "J",
        help_heading = "Duplicate groups"
    )]
    threshold: f64,

    /// Largest Hamming distance of two fingerprints of 128 bits at which their texts are compared
    #[arg(
        short = 'k',
        long,
        default_value_t = 20,
        value_name = "K",
        help_heading = "Duplicate groups"
    )]
    hamming: u32,

    /// Treatment of texts without words (empty or only punctuation), which are never duplicates: each is kept as a
    /// group of its own, or rejected
    #[arg(long, value_enum, default_value_t = EmptyArg::Keep, value_name = "HOW", help_heading = "Duplicate groups")]
    empty: EmptyArg,

    /// Profile of the fingerprints
    #[arg(long, default_value = "tp1-words-lntf", help_heading = "Duplicate groups")]
    profile: String,

    /// Rules that choose the canonical document of a group: score, first, last, longest, https, url-length; a later
    /// rule decides if all earlier ones tie
    #[arg(
        long,
        default_value = "first",
        value_delimiter = ',',
        value_name = "LIST",
        help_heading = "Duplicate groups"
    )]
    canonical: Vec<Preference>,

    /// Number of canonical documents of a group: one for the whole group, one for each host, or one for each registered
    /// domain
    #[arg(long, value_parser = by_name(SCOPES), default_value = "none", value_name = "SCOPE", help_heading = "Duplicate groups")]
    canonical_scope: Scope,

    /// End a group when it gained no document for this time, such as 30d
    #[arg(long, value_name = "TIME", value_parser = parse_span, help_heading = "Duplicate groups")]
    group_window: Option<i64>,

    #[command(flatten)]
    forming: StoryArgs,

    /// Join the story whose first document has the same first N bits of the fingerprint (8 to 24), instead of the story
    /// with the nearest centre: cheaper, for comparison
    #[arg(long, value_name = "N", help_heading = "Stories")]
    equal_bits: Option<u32>,

    /// Number of documents at the start of a new stream whose words are counted before the first document is placed
    #[arg(long, default_value_t = 2000, value_name = "N", value_parser = crate::number::parse_count::<u64>, help_heading = "Stories")]
    ahead: u64,

    /// Also write vectors.jsonl: the terms and weights by which each document is compared with stories
    #[arg(long, help_heading = "Stories")]
    vectors: bool,

    /// Largest number of live groups, and of live stories. Above it, those that gained no document for the longest time
    /// end
    #[arg(
        long,
        default_value_t = 1_000_000,
        value_parser = crate::number::parse_count_in(1..=usize::MAX),
        value_name = "N",
        help_heading = "Running"
    )]
    live: usize,

    /// Worker threads; 0 uses all cores
    #[arg(long, default_value_t = 0, value_name = "N", help_heading = "Running")]
    threads: usize,

    /// Show no progress and no summary
    #[arg(short, long, help_heading = "Running")]
    quiet: bool,
}

/// The treatment of texts without words by a command that removes nothing.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EmptyArg {
    Keep,
    Reject,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let keys = FieldKeys {
        label: args.labels.clone(),
        ..args.fields.keys()
    };
    let bars = Bars::new(args.quiet);
    let cancel = interrupt::flag()?;
    let job = ClusterJob {
        inputs: &args.input.inputs,
        source: &args.input.options(),
        keys: &keys,
        stream: &options(args)?,
        run: ClusterRun {
            threads: args.threads,
            count_ahead: args.ahead,
            vectors: args.vectors,
            reject_empty: args.empty == EmptyArg::Reject,
            existing: existing(args.overwrite),
        },
        out: &args.output,
        state: args.state.as_deref(),
    };
    let result = cluster(&job, &bars, &cancel);
    bars.finish();
    let summary = result?;
    if !args.quiet {
        terminal::out(&table(&summary, args))?;
    }
    Ok(args.intake.end(&summary.intake))
}

fn options(args: &Args) -> anyhow::Result<StreamOptions> {
    let mut options = StreamOptions::new()?;
    options.profile = profile_named(&args.profile, None)?;
    options.threshold = args.threshold;
    options.radius = args.hamming;
    options.scope = args.canonical_scope;
    options.groups.policy.clone_from(&args.canonical);
    options.groups.window = args.group_window;
    options.groups.live = args.live;
    options.stories.threshold = args.forming.story_threshold.into();
    options.stories.merge = (args.forming.merge != Some(1.0)).then_some(args.forming.merge.into());
    options.stories.window = args.forming.window;
    options.stories.half_life = args.forming.half_life;
    options.stories.live = args.live;
    if let Some(bits) = args.equal_bits {
        options.stories.method = Method::EqualBits(bits);
    }
    Ok(options)
}

/// The row about the thresholds of stories.
fn threshold_row(thresholds: &StoryThresholds) -> (&'static str, String, String) {
    let merging = thresholds
        .merge
        .map_or("stories never merge".to_owned(), |cosine| {
            format!("stories merge at {cosine:.3}")
        });
    let origin = match thresholds.estimated_from {
        None => "given".to_owned(),
        Some(0) => "provisional: too few documents for an estimate".to_owned(),
        Some(n) => format!("estimated from {} documents", number::count(n)),
    };
    (
        "cosine",
        format!("{:.3}", thresholds.join),
        format!("  joins a story; {merging}; {origin}"),
    )
}

fn table(summary: &ClusterSummary, args: &Args) -> String {
    let count = number::count;
    let with_those_before = if summary.before > 0 {
        ", including live ones of earlier runs"
    } else {
        ""
    };
    let mut rows = vec![
        ("documents", count(summary.documents), String::new()),
        (
            "duplicates",
            count(summary.duplicates),
            format!("  verified at Jaccard {}", args.threshold),
        ),
        (
            "groups",
            count(summary.groups),
            format!("  of two documents or more{with_those_before}"),
        ),
        (
            "stories",
            count(summary.stories[1]),
            format!(
                "  of two documents or more, {} of one{with_those_before}",
                count(summary.stories[0] - summary.stories[1])
            ),
        ),
    ];
    rows.extend(summary.thresholds.as_ref().map(threshold_row));
    if summary.ended > 0 {
        rows.push((
            "ended",
            count(summary.ended),
            "  stories that no longer gain members".to_owned(),
        ));
    }
    let forming = &args.forming;
    let by_time = [args.group_window, forming.window, forming.half_life]
        .iter()
        .any(Option::is_some);
    if summary.untimed > 0 && (by_time || summary.untimed < summary.documents) {
        rows.push((
            "untimed",
            count(summary.untimed),
            format!(
                "  without a readable time in {:?}; each counts as no earlier than the documents before it",
                args.fields.time_key
            ),
        ));
    }
    if summary.future > 0 {
        rows.push((
            "future",
            count(summary.future),
            "  of these, with a time more than a day in the future".to_owned(),
        ));
    }
    if summary.intake.rejected > 0 {
        rows.push((
            "rejected",
            count(summary.intake.rejected),
            "  see rejects.jsonl".to_owned(),
        ));
    }
    if let Some(skipped) = crate::usage::skipped_records(&summary.intake) {
        let (n, why) = skipped.split_once(' ').unwrap_or((&skipped, ""));
        rows.push((
            "other",
            n.to_owned(),
            format!("  records that are not documents, {why}"),
        ));
    }
    let damaged = damaged_row(&summary.intake);
    rows.extend(damaged.map(|(files, row)| ("damaged", count(files), format!("  {row}"))));
    let skipped = crate::summary::skipped(&summary.skipped);
    rows.extend(skipped.map(|(n, what)| ("skipped", count(n), format!("  {what}"))));
    if summary.before > 0 {
        rows.push((
            "before",
            count(summary.before),
            "  documents of earlier runs".to_owned(),
        ));
    }
    if let (None, Some(field)) = (&summary.agreement, &args.labels) {
        rows.push((
            "labelled",
            "0".to_owned(),
            format!("  no document has a field {field:?} with a text or a number"),
        ));
    }
    let rows = rows
        .into_iter()
        .map(|(name, value, rest)| format!("{name:<12}{value:>12}{rest}\n"));
    let agreement = summary.agreement.iter().flat_map(|[groups, stories]| {
        [
            agreement_rows("groups", groups),
            agreement_rows("stories", stories),
        ]
    });
    let written = format!(
        "written to {}: assignments.jsonl, groups.jsonl, stories.jsonl and stories.html\n",
        args.output.display()
    );
    rows.chain([written]).chain(agreement).collect()
}

/// Formats the agreement of the clusters called `name` with the labels.
pub(crate) fn agreement_rows(name: &str, a: &AgreementReport) -> String {
    let [found, labels] = a.clusters;
    let head = format!(
        "\n{name} against labels: {} documents, {found} clusters, {labels} labels\n",
        a.items
    );
    let scores = [
        ("B-cubed", a.bcubed),
        ("without self", a.bcubed_without_self),
        ("pairs", a.pairwise),
    ];
    let rows = scores.map(|(name, [precision, recall, f1])| {
        format!("  {name:<14} precision {precision:.3}  recall {recall:.3}  F1 {f1:.3}\n")
    });
    let others = [
        ("adjusted Rand", a.adjusted_rand),
        ("V-measure", a.v_measure),
        ("information", a.mutual_information),
    ];
    let others = others.map(|(name, value)| format!("  {name:<14} {value:.3}\n"));
    head + &rows.concat() + &others.concat()
}
