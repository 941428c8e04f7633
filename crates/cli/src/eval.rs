//! `twinprint eval`

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueHint;
use twinprint::Auto;
use twinprint::eval::{EvalJob, EvalOptions, Evaluation, FurtherProfile, evaluate, page};
use twinprint::stream::LabelledDocuments;

use crate::cluster::agreement_rows;
use crate::input::InputArgs;
use crate::intake::{IntakeArgs, PrintedRejects};
use crate::measure::MeasureArgs;
use crate::number::{count, counted, parse_auto, seconds, towards_zero};
use crate::own_input::{refuse_own_documents, refuse_own_input};
use crate::profile::{profile_of, width_named};
use crate::progress::Bars;
use crate::usage::usage;
use crate::{interrupt, terminal};

const EXAMPLES: &str = "\
Examples:
  twinprint eval --docs news.jsonl --pairs pairs.jsonl
      precision, recall and F1 against labelled pairs; the exact Jaccard decides about other pairs
  twinprint eval --docs news.jsonl --pairs pairs.jsonl --complete 0.3 --html eval.html
      every pair from Jaccard 0.3 up is listed; with plots
  twinprint eval --docs news.jsonl --also tp1-chars4-tf --at 0.8 --json eval.json
      without a list, the exact Jaccard of every pair is the truth; one more profile; all figures as JSON
  twinprint eval --docs news.jsonl --labels topic --clusters stories/assignments.jsonl
      agreement of clusters with a field of the documents";

/// Measures precision, recall and F1 against labelled pairs, and compares the engine with MinHash and cosine
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, mut_arg("inputs", |arg| arg.required(false).hide(true)))]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,

    /// Files or folders of the documents, read by --text-key and the other input options
    #[arg(long, value_name = "INPUT", value_hint = ValueHint::AnyPath)]
    docs: Vec<String>,

    /// Labelled pairs: rows {"a": id, "b": id, "jaccard": J}, one per line
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pairs: Option<PathBuf>,

    /// Field of the rows of --pairs with the true Jaccard
    #[arg(long, default_value = "jaccard", value_name = "FIELD")]
    truth_field: String,

    /// Jaccard above which the list of --pairs is complete: pairs that are not listed are below it. Without this
    /// option, the Jaccard of pairs that are not listed is computed from their texts
    #[arg(long, value_name = "J", requires = "pairs")]
    complete: Option<f64>,

    /// Minimum Jaccard of a duplicate. Several values, separated by commas, are evaluated one by one
    #[arg(
        long,
        default_value = "0.5,0.7,0.8,0.9",
        value_delimiter = ',',
        value_name = "J"
    )]
    at: Vec<f64>,

    /// Another profile to evaluate, at the width in its id (16, 32, 64, 128), or at 64 and 128 bits if the id has none;
    /// may be repeated
    #[arg(long, value_name = "PROFILE")]
    also: Vec<String>,

    /// Radius at which twinprint itself is evaluated, or auto
    #[arg(short = 'k', long, default_value = "auto", value_parser = parse_auto, value_name = "K")]
    hamming: Auto,

    /// Evaluate clusters instead of pairs: field of the documents with the true cluster
    #[arg(
        long,
        value_name = "FIELD",
        requires = "clusters",
        conflicts_with = "html",
        help_heading = "Clusters"
    )]
    labels: Option<String>,

    /// Clusters to evaluate: rows {"id": …, "story_id": …}, one per line, as in assignments.jsonl; may be repeated
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "labels", help_heading = "Clusters")]
    clusters: Vec<PathBuf>,

    /// Field of the rows of --clusters with the cluster
    #[arg(
        long,
        default_value = "story_id",
        value_name = "FIELD",
        help_heading = "Clusters"
    )]
    by: String,

    #[command(flatten)]
    intake: IntakeArgs,

    #[command(flatten)]
    measure: MeasureArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let inputs = [args.docs.as_slice(), &args.input.inputs].concat();
    if inputs.is_empty() {
        return Err(usage("--docs: name the files of the documents"));
    }
    if inputs.iter().any(|input| input == "-") {
        return Err(usage(
            "--docs: name files of documents instead of stdin, because the documents are read more than once",
        ));
    }
    for output in args.measure.outputs() {
        refuse_own_documents(output, &inputs, &args.input.options())?;
        let lists = args.pairs.iter().chain(&args.clusters);
        refuse_own_input(output, lists.map(PathBuf::as_path))?;
    }
    if let Some(labels) = &args.labels {
        return judge(args, labels, &inputs);
    }
    let mut dedup = args.measure.options()?;
    dedup.hamming = args.hamming;
    let profiles = args.also.iter().map(|id| further(id));
    let options = EvalOptions {
        dedup,
        thresholds: args.at.clone(),
        pairs: args.pairs.clone(),
        truth_field: args.truth_field.clone(),
        complete: args.complete,
        profiles: profiles.collect::<anyhow::Result<_>>()?,
    };
    let bars = Bars::new(args.measure.quiet);
    let job = EvalJob {
        inputs: &inputs,
        source: &args.input.options(),
        options: &options,
    };
    let evaluation = evaluate(&job, &bars, &interrupt::flag()?);
    bars.finish();
    let evaluation = evaluation?;
    let json = || serde_json::to_string_pretty(&evaluation);
    args.measure.write(|| page(&evaluation), json)?;
    terminal::out(&text(&evaluation))?;
    Ok(args
        .intake
        .end_counting(&evaluation.intake, args.measure.quiet, PrintedRejects::None))
}

/// Reads the id of a further profile. The profile is evaluated at the width that the id names, or at the usual widths
/// if it names none.
fn further(id: &str) -> anyhow::Result<FurtherProfile> {
    let profile = profile_of("--also", id, None)?;
    let widths = width_named(id).map_or_else(|| FurtherProfile::WIDTHS.to_vec(), |bits| vec![bits]);
    Ok(FurtherProfile { profile, widths })
}

/// Compares the clusters of files with the true clusters in the field `labels` of the documents.
fn judge(args: &Args, labels: &str, inputs: &[String]) -> anyhow::Result<ExitCode> {
    let documents = LabelledDocuments::read(inputs, &args.input.options(), labels, &interrupt::flag()?)?;
    let mut judged = Vec::new();
    for path in &args.clusters {
        let report = documents.agreement(path, &args.by)?;
        terminal::out(&agreement_rows(&path.display().to_string(), &report.agreement))?;
        if report.without_cluster > 0 {
            terminal::note(&format!(
                "warning: {} has no cluster for {} with a label",
                path.display(),
                counted(report.without_cluster as u64, "document")
            ));
        }
        judged.push(serde_json::json!({
            "clusters": path,
            "by": args.by,
            "agreement": report.agreement,
            "without_cluster": report.without_cluster,
        }));
    }
    args.measure
        .write(String::new, || serde_json::to_string_pretty(&judged))?;
    Ok(args
        .intake
        .end_counting(&documents.intake, args.measure.quiet, PrintedRejects::None))
}

fn text(evaluation: &Evaluation) -> String {
    let mut text = String::new();
    // Writing to a `String` cannot fail.
    let _ = tables(&mut text, evaluation);
    text
}

fn tables(text: &mut String, evaluation: &Evaluation) -> std::fmt::Result {
    let documents = count(evaluation.documents as u64);
    writeln!(text, "{documents} documents; truth: {}", evaluation.truth)?;
    if let Some(agreement) = evaluation.agreement.filter(|agreement| agreement.off > 0) {
        writeln!(
            text,
            "note: {} of the listed pairs differ from what is measured on the texts, by {:.4} at most",
            count(agreement.off),
            agreement.largest
        )?;
    }
    let widest = evaluation
        .methods
        .iter()
        .map(|method| method.name.chars().count())
        .max()
        .unwrap_or(0);
    for (i, threshold) in evaluation.thresholds.iter().enumerate() {
        let pairs = counted(evaluation.true_pairs[i], "true pair");
        writeln!(text, "\nJaccard ≥ {threshold}: {pairs}")?;
        writeln!(
            text,
            "  {:widest$}  {:18}  precision  recall      F1  bytes: fingerprint, tables, texts   make, find, verify",
            "", "setting"
        )?;
        for method in &evaluation.methods {
            let result = &method.results[i];
            let (quality, bytes, took) = (&result.quality, &result.bytes, &result.seconds);
            writeln!(
                text,
                "  {:widest$}  {:18}     {}  {}  {}  {:>10.0} {:>10.1} {:>10.1}   {:>8} {:>8} {:>8}",
                method.name,
                result.setting.to_string(),
                towards_zero(quality.precision, 4),
                towards_zero(quality.recall, 4),
                towards_zero(quality.f1, 4),
                bytes.fingerprint,
                bytes.tables,
                bytes.verification,
                seconds(took.made),
                seconds(took.found),
                seconds(took.verified),
            )?;
        }
    }
    Ok(())
}
