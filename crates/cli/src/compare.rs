//! `twinprint compare`

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use clap::ValueHint;
use twinprint::{Comparison, Explanation, compare};

use crate::compare_given::{self, GivenArgs, Sides, angle_line};
use crate::profile::{IdfArgs, profile_named};
use crate::terminal;

const EXAMPLES: &str = "\
Examples:
  twinprint compare old.txt new.txt
      Hamming distance, Jaccard, containment and the textbook distances
  twinprint compare old.txt new.txt --explain
      also the words and the bits that differ
  twinprint compare --text 'the cat sat on the mat' 'the cat sat on a mat' --json
      two texts instead of files; every figure as JSON
  twinprint compare --fingerprints 851459198 847263864 --notation decimal --bits 32
      the Hamming distance of two fingerprints, and the angle that it estimates
  twinprint compare --text --features '{\"price\": 2.5, \"size\": 1}' '{\"price\": 2}'
      features with weights; without --text, A and B are files
  twinprint compare --text --vectors '[0.1, -0.4, 0.7]' '[0.1, -0.4, 0.6]' --minkowski 3
      two vectors: cosine, Pearson, Euclidean and other distances";

/// The list of --explain has at most this number of features, and of bits.
const MAX_LISTED: usize = 30;

/// Reports the similarity of two documents
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The first text file; with other options a fingerprint, or a file of features or of a vector
    #[arg(value_hint = ValueHint::FilePath)]
    a: OsString,

    /// The second one
    #[arg(value_hint = ValueHint::FilePath)]
    b: OsString,

    /// Compare the arguments A and B themselves instead of the files of these names
    #[arg(long)]
    text: bool,

    /// Profile of the fingerprints
    #[arg(long, default_value = "tp1-words-lntf-64")]
    profile: String,

    #[command(flatten)]
    idf: IdfArgs,

    /// List the features and bits that differ
    #[arg(long)]
    explain: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    given: GivenArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let sides = Sides {
        arguments: [&args.a, &args.b],
        literal: args.text,
        profile: &args.profile,
        read: text,
    };
    if let Some(figures) = args.given.compare(&sides)? {
        let printed = if args.json {
            format!("{}\n", serde_json::to_string_pretty(&figures)?)
        } else {
            compare_given::table(&figures)
        };
        terminal::out(&printed)?;
        return Ok(ExitCode::SUCCESS);
    }
    let profile = args.idf.profile(&args.profile, |id| profile_named(id, None))?;
    let (a, b) = (
        text(Path::new(&args.a), args.text)?,
        text(Path::new(&args.b), args.text)?,
    );
    let comparison = compare(&a, &b, &profile, args.explain);
    if args.json {
        terminal::out(&format!("{}\n", serde_json::to_string_pretty(&comparison)?))?;
    } else {
        terminal::out(&table(&comparison))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn text(argument: &Path, itself: bool) -> anyhow::Result<String> {
    if itself {
        return argument
            .to_str()
            .map(str::to_owned)
            .with_context(|| format!("{} is not UTF-8", argument.display()));
    }
    let bytes = std::fs::read(argument).with_context(|| format!("{}", argument.display()))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to() + 1;
        anyhow::anyhow!(
            "{}: byte {at} is not UTF-8; convert the file (iconv -t UTF-8)",
            argument.display()
        )
    })
}

fn table(c: &Comparison) -> String {
    let mut text = String::new();
    // Writing to a `String` cannot fail.
    let _ = rows(&mut text, c);
    text
}

fn rows(text: &mut String, c: &Comparison) -> std::fmt::Result {
    let bits = c.fingerprints[0].len() * 4;
    writeln!(
        text,
        "Hamming distance  {:>10}  of {bits} bits ({})",
        c.hamming, c.profile
    )?;
    text.push_str(&angle_line(c.angle.degrees, c.angle.cosine));
    writeln!(text, "Jaccard           {:>10.4}  of {}", c.jaccard, c.shingles)?;
    writeln!(text, "containment       {:>10.4}", c.containment)?;
    writeln!(text, "cosine            {:>10.4}  of term counts", c.cosine)?;
    if let Some(cosine) = c.tfidf_cosine {
        writeln!(text, "TF-IDF cosine     {cosine:>10.4}")?;
    }
    writeln!(text, "term Jaccard      {:>10.4}", c.term_jaccard)?;
    writeln!(text, "term Dice         {:>10.4}", c.dice)?;
    writeln!(text, "term overlap      {:>10.4}", c.overlap_coefficient)?;
    match c.edit {
        Some(edit) => writeln!(text, "edit distance     {edit:>10}  characters")?,
        None => writeln!(text, "edit distance              -  (too long and too different)")?,
    }
    writeln!(text, "Euclidean         {:>10.3}", c.euclidean)?;
    writeln!(text, "Manhattan         {:>10}", c.manhattan)?;
    writeln!(text, "Chebyshev         {:>10}", c.chebyshev)?;
    writeln!(
        text,
        "features          {:>10}  and {}",
        c.features[0], c.features[1]
    )?;
    writeln!(
        text,
        "fingerprints      {}\n                  {}",
        c.fingerprints[0], c.fingerprints[1]
    )?;
    c.explanation
        .as_ref()
        .map_or(Ok(()), |explanation| explain(text, explanation))
}

fn explain(text: &mut String, e: &Explanation) -> std::fmt::Result {
    writeln!(text, "\nbits that differ, with the votes of A and B:")?;
    for votes in e.bits.iter().take(MAX_LISTED) {
        writeln!(
            text,
            "  bit {:>3}  {:>8}  {:>8}",
            votes.bit, votes.sums[0], votes.sums[1]
        )?;
    }
    writeln!(
        text,
        "\nfeatures that weigh differently in A and B (weight: {}):",
        e.weight_formula
    )?;
    for feature in e.features.iter().take(MAX_LISTED) {
        let weight = |w: u16| if w == 0 { "-".to_owned() } else { w.to_string() };
        let [a, b] = feature.weights.map(weight);
        writeln!(text, "  {a:>6}  {b:>6}  {}", feature.feature)?;
    }
    if e.features.len() > MAX_LISTED {
        writeln!(text, "  and {} more", e.features.len() - MAX_LISTED)?;
    }
    Ok(())
}
