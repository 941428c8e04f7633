//! `twinprint fingerprint`

use std::io::{BufWriter, Write};
use std::process::ExitCode;

use anyhow::Context;
use clap::ValueEnum;
use twinprint::{RecordRow, RowFingerprint, Subject};

use crate::fingerprint_output::OutputArgs;
use crate::input::InputArgs;
use crate::intake::{IntakeArgs, PrintedRejects};
use crate::listing::{ListingArgs, ListingInput, note_empty};
use crate::notation::Notation;
use crate::own_input::refuse_own_documents;
use crate::profile::DEFAULT_PROFILE;
use crate::progress::Bars;
use crate::subject::{Content, KeyArgs, PartArgs, subject};
use crate::usage::{name_content_option, reject_reason};
use crate::{interrupt, terminal};

const EXAMPLES: &str = "\
Examples:
  twinprint fingerprint news.jsonl
      one line of JSON a document: id, source, line, fingerprint, features
  twinprint fingerprint notes/ --profile tp1-chars4-tf-64 --format-out tsv
      overlapping windows of 4 characters instead of words
  twinprint fingerprint news.jsonl --profile tp1-words3-set-64+hash.rabin
      Rabin fingerprints of shingles of three words
  twinprint fingerprint vectors.jsonl --vector-key embedding
      fingerprints of vectors, by Gaussian hyperplanes
  twinprint fingerprint news.jsonl --profile 1e0ng
      the fingerprints that the Python package simhash makes
  twinprint fingerprint news.jsonl -o news.parquet
      a table that `twinprint index build news.parquet --positions -o seen` reads
  twinprint fingerprint features.jsonl --features-key features
      fingerprints of features with weights, such as {\"price\": 2.5, \"size\": 1}
  twinprint fingerprint news.jsonl --explain --limit 1
      the features of a document, their weights and hashes, and the votes for each bit
  twinprint fingerprint news.jsonl --idf zhen1 --top 5
      the five keywords of each document";

/// Writes the fingerprint of every document
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,

    /// Profile of the fingerprints: tp1-FEATURES-WEIGHT-BITS. FEATURES is words, wordsN or charsN (shingles of N words or
    /// characters) or wordpairs; WEIGHT is set, tf, lntf or levels; BITS is 16, 32, 64 or 128. At the end, +hash.rabin
    /// hashes features by Rabin fingerprints, and +key.ID under a secret key. Or the name of a library whose
    /// fingerprints are reproduced: cppjieba (gosimhash, jiebaR), haoyuhu-gosimhash, mfonda, allendang, safeie,
    /// rust-simhash, 1e0ng (PyPI simhash), seomoz or simhash-java. The first two accept a suffix -topN, the number of
    /// keywords
    #[arg(long, default_value = DEFAULT_PROFILE)]
    profile: String,

    #[command(flatten)]
    parts: PartArgs,

    #[command(flatten)]
    keys: KeyArgs,

    /// Field with a vector, of which the fingerprint is made instead of a text: [value, …], {"dimension": value, …} or
    /// [[dimension, value], …]. A dimension is a number from 0 or a name
    #[arg(long, value_name = "FIELD", conflicts_with_all = ["text_key", "html_key", "dictionary", "key", "stop_words", "idf"])]
    vector_key: Option<String>,

    /// Field with features, of which the fingerprint is made instead of a text: {"name": weight, …}, [["name", weight],
    /// …], or ["name", …] with the weight 1. Names are hashed as they are written. Weights are numbers from 0 up; they are
    /// rounded to multiples of 2^-16, and their sum is at most 2^37
    #[arg(long, value_name = "FIELD", conflicts_with_all = ["text_key", "html_key", "vector_key", "dictionary", "stop_words", "idf"])]
    features_key: Option<String>,

    /// The features are hashes: decimal numbers, or digits after 0x or 0b. The low bits of a hash vote
    #[arg(long, requires = "features_key", conflicts_with = "vector_key")]
    hashed: bool,

    #[command(flatten)]
    listing: ListingArgs,

    /// Notation of the fingerprints
    #[arg(long, value_enum, default_value_t = Notation::Hex, value_name = "FORM")]
    notation: Notation,

    /// Format of the output rows
    #[arg(long, value_enum, default_value_t = RowFormat::Jsonl, value_name = "FORM")]
    format_out: RowFormat,

    #[command(flatten)]
    output: OutputArgs,

    /// Show no progress
    #[arg(short, long)]
    quiet: bool,

    #[command(flatten)]
    intake: IntakeArgs,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum RowFormat {
    /// One object per line
    Jsonl,
    /// Fingerprint, tab, id; control characters of the id become blanks. Features are not counted, so character
    /// shingles weighed by frequency (chars4-tf) are several times as fast
    Tsv,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut source = args.input.options();
    let content = match (&args.vector_key, &args.features_key) {
        (Some(_), _) => Content::Vectors,
        (None, Some(_)) => Content::Features { hashed: args.hashed },
        (None, None) => Content::Texts,
    };
    let mut subject = subject(&args.profile, &args.parts, &args.keys, content)?;
    let listing = args.listing.listing(args.notation);
    if let Some(listing) = listing {
        listing.check(&subject, args.format_out == RowFormat::Tsv)?;
    }
    if let Subject::Text { counts_features, .. } = &mut subject {
        *counts_features = args.format_out == RowFormat::Jsonl && args.output.path().is_none();
    }
    if let Some(field) = args.vector_key.as_ref().or(args.features_key.as_ref()) {
        source.text_key.clone_from(field);
        name_content_option(if content == Content::Vectors {
            "--vector-key"
        } else {
            "--features-key"
        });
    }
    if let Some(output) = args.output.path() {
        refuse_own_documents(output, &args.input.inputs, &source)?;
    }
    let mut file = args.output.create(&subject)?;
    let bars = Bars::new(args.quiet);
    let cancel = interrupt::flag()?;
    let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    if let Some(listing) = listing {
        let input = ListingInput {
            inputs: &args.input.inputs,
            source: &source,
            subject: &subject,
            progress: &bars,
            cancel: &cancel,
            quiet: args.quiet,
        };
        let intake = listing.run(&input, &mut out)?;
        out.flush().context(terminal::STDOUT_ERROR)?;
        bars.finish();
        return Ok(args.intake.end_counting(&intake, args.quiet, PrintedRejects::All));
    }
    let mut empty = 0;
    let intake = twinprint::fingerprints(&args.input.inputs, &source, &subject, &bars, &cancel, |row| {
        match &row.result {
            Ok(made) => empty += u64::from(made.empty),
            Err(reason) => {
                if !args.quiet {
                    let reason = reject_reason(reason);
                    terminal::note(&format!("rejected {}:{}: {reason}", row.source, row.line));
                }
                return Ok(());
            }
        }
        match &mut file {
            Some(file) => file.write(&row),
            None => write(&mut out, &row, args.format_out, args.notation),
        }
    })?;
    out.flush().context(terminal::STDOUT_ERROR)?;
    bars.finish();
    drop(out);
    if let Some(file) = file {
        file.finish()?;
    }
    if !args.quiet {
        note_empty(empty);
    }
    Ok(args.intake.end_counting(&intake, args.quiet, PrintedRejects::All))
}

fn write(
    out: &mut impl Write,
    row: &RecordRow<RowFingerprint>,
    form: RowFormat,
    notation: Notation,
) -> anyhow::Result<()> {
    let Ok(RowFingerprint { hex, features, .. }) = &row.result else {
        return Ok(());
    };
    let fingerprint = notation.write(hex)?;
    match form {
        RowFormat::Jsonl => {
            let json = serde_json::json!({
                "id": row.id,
                "source": row.source,
                "line": row.line,
                "fingerprint": fingerprint,
                "features": features,
            });
            writeln!(out, "{json}")
        }
        RowFormat::Tsv => writeln!(out, "{fingerprint}\t{}", row.id.replace(char::is_control, " ")),
    }
    .context(terminal::STDOUT_ERROR)
}
