//! `twinprint calibrate`

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueHint;
use twinprint::calibrate::{Calibration, CalibrationJob, WidthCalibration, calibrate, page};

use crate::input::InputArgs;
use crate::intake::{IntakeArgs, PrintedRejects};
use crate::measure::{self, MeasureArgs};
use crate::number::{count, seconds, towards_zero};
use crate::own_input::refuse_own_documents;
use crate::progress::Bars;
use crate::{interrupt, terminal};

const EXAMPLES: &str = "\
Examples:
  twinprint calibrate news.jsonl
      the distances between the documents, and the recall and the cost of each radius
  twinprint calibrate news.jsonl --limit 20000 --n 50000000 --write choice.toml
      for a corpus of fifty million documents, from a sample; writes a file for dedup --config
  twinprint calibrate news.jsonl --html calibrate.html
      with plots, example pairs and all figures";

/// Length of the longest bar of the histogram, in columns.
const BAR_COLUMNS: f64 = 40.0;

/// Chooses the width and the radius for a corpus from a sample, and reports their recall and cost
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,

    /// Number of documents of the whole corpus, such as 50000000 or 5e7 [default: the number of documents read]
    #[arg(long, value_name = "N", value_parser = crate::number::parse_count::<u64>)]
    n: Option<u64>,

    /// Minimum Jaccard similarity of a duplicate
    #[arg(long, default_value_t = 0.8, value_name = "J")]
    threshold: f64,

    /// Write the chosen options to this file, which dedup --config reads
    #[arg(long, value_name = "FILE.toml", value_hint = ValueHint::FilePath)]
    write: Option<PathBuf>,

    #[command(flatten)]
    intake: IntakeArgs,

    #[command(flatten)]
    measure: MeasureArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut options = args.measure.options()?;
    options.threshold = args.threshold;
    for output in args.measure.outputs().chain(args.write.as_deref()) {
        refuse_own_documents(output, &args.input.inputs, &args.input.options())?;
    }
    let bars = Bars::new(args.measure.quiet);
    let job = CalibrationJob {
        inputs: &args.input.inputs,
        source: &args.input.options(),
        options: &options,
        corpus_documents: args.n,
    };
    let calibration = calibrate(&job, &bars, &interrupt::flag()?);
    bars.finish();
    let calibration = calibration?;
    let json = || serde_json::to_string_pretty(&calibration);
    args.measure.write(|| page(&calibration), json)?;
    if let Some(path) = &args.write {
        measure::write(path, &calibration.config())?;
    }
    let mut text = String::new();
    // Writing to a `String` cannot fail.
    let _ = write(&mut text, &calibration);
    terminal::out(&text)?;
    Ok(args
        .intake
        .end_counting(&calibration.intake, args.measure.quiet, PrintedRejects::None))
}

fn write(text: &mut String, calibration: &Calibration) -> std::fmt::Result {
    writeln!(
        text,
        "{} documents, {} different texts long enough for a fingerprint; figures are for {} documents, Jaccard ≥ {}",
        count(calibration.documents as u64),
        count(calibration.texts as u64),
        count(calibration.n),
        calibration.threshold
    )?;
    for width in &calibration.widths {
        histogram(text, width)?;
        radii(text, calibration, width)?;
    }
    writeln!(
        text,
        "\n{} bits, radius {}: {}",
        calibration.bits, calibration.k, calibration.reason
    )
}

/// Writes a histogram of the pairs by Hamming distance. A line is for four distances at 128 bits, and for two at 64.
/// The length of a bar is logarithmic.
fn histogram(text: &mut String, width: &WidthCalibration) -> std::fmt::Result {
    let (mean, deviation) = (width.background.mean, width.background.deviation);
    writeln!(
        text,
        "\n{} bits: unrelated documents are {mean:.1} ± {deviation:.1} bits apart (· fitted); pairs by distance",
        width.bits
    )?;
    let step = width.bits as usize / 32;
    let all = width.histogram.iter().sum::<u64>() as f64;
    let most = width
        .histogram
        .chunks(step)
        .map(|c| c.iter().sum::<u64>())
        .max()
        .unwrap_or(1)
        .max(1);
    let length = |pairs: f64| (BAR_COLUMNS * pairs.max(0.0).ln_1p() / (most as f64).ln_1p()).round() as usize;
    let last = width.histogram.iter().rposition(|&pairs| pairs > 0).unwrap_or(0);
    for (i, pairs) in width.histogram.chunks(step).enumerate().take(last / step + 1) {
        let unrelated: f64 = width
            .background
            .probability
            .iter()
            .skip(i * step)
            .take(step)
            .sum();
        let pairs: u64 = pairs.iter().sum();
        let mut bar: Vec<char> = "█".repeat(length(pairs as f64)).chars().collect();
        let fitted = length(unrelated * all);
        if fitted > 0 {
            bar.resize(bar.len().max(fitted), ' ');
            bar[fitted - 1] = '·';
        }
        // The histogram counts each pair twice, once for each of its texts, so the count is halved.
        let pairs = count(pairs / 2);
        writeln!(
            text,
            "  {:>3}  {:42} {pairs}",
            i * step,
            bar.into_iter().collect::<String>()
        )?;
    }
    Ok(())
}

fn radii(text: &mut String, calibration: &Calibration, width: &WidthCalibration) -> std::fmt::Result {
    writeln!(
        text,
        "    k   recall measured  at threshold   similar/doc   unrelated/doc   index bytes/doc   join on one core"
    )?;
    let chosen = |k: u32| (width.bits, k) == (calibration.bits, calibration.k);
    for radius in width
        .radii
        .iter()
        .filter(|radius| radius.k % 4 == 0 || radius.k == 3 || chosen(radius.k))
    {
        let recall = radius
            .recall
            .map_or_else(|| "–".to_owned(), |recall| towards_zero(recall, 4));
        writeln!(
            text,
            "{} {:>3}   {recall:>15}  {:>12}  {:>12.2}  {:>14.2}  {:>16.1}  {:>17}",
            if chosen(radius.k) { "→" } else { " " },
            radius.k,
            towards_zero(radius.recall_at_threshold, 4),
            radius.similar,
            radius.unrelated,
            radius.index_bytes,
            seconds(radius.join_seconds)
        )?;
    }
    Ok(())
}
