//! `twinprint fingerprint`

use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::ValueEnum;
use twinprint::compat::{Dictionaries, Recipe};
use twinprint::{DedupError, FingerprintRow, HashKey, Profile, Subject};

use crate::dedup::profile_under_any_key;
use crate::idf::IdfArgs;
use crate::input::InputArgs;
use crate::number::counted;
use crate::progress::Bars;
use crate::{interrupt, strictly, terminal};

const EXAMPLES: &str = "\
Examples:
  twinprint fingerprint news.jsonl
      one line of JSON a document: id, source, line, fingerprint, features
  twinprint fingerprint notes/ --profile tp1-chars4-tf-64 --format-out tsv
      overlapping windows of 4 characters instead of words
  twinprint fingerprint vectors.jsonl --vector-key embedding
      fingerprints of given vectors, by random hyperplanes
  twinprint fingerprint news.jsonl --profile 1e0ng
      as the Python package simhash makes them";

/// Writes the fingerprint of every document
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,

    /// How documents become fingerprints; the id ends in the width: 16, 32, 64 or 128. Or the library that made the fingerprints to
    /// compare with: cppjieba (gosimhash, jiebaR), haoyuhu-gosimhash, mfonda, allendang, safeie, rust-simhash, 1e0ng (PyPI simhash), seomoz or
    /// simhash-java; with -topN behind the first two, so many keywords
    #[arg(long, default_value = "tp1-words-lntf-64")]
    profile: String,

    /// Directory of cppjieba's dictionaries, for the profiles cppjieba and haoyuhu-gosimhash: jieba.dict.utf8, hmm_model.utf8, idf.utf8,
    /// stop_words.utf8
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    dictionary: Option<PathBuf>,

    /// File of a secret key, 32 hexadecimal digits, for a profile with +key.ID behind it; nobody without the key can make texts collide
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    key: Option<PathBuf>,

    /// File of words to leave out of the features, one a line
    #[arg(long, value_name = "FILE")]
    stop_words: Option<PathBuf>,

    #[command(flatten)]
    idf: IdfArgs,

    /// Field that holds a vector of numbers to fingerprint instead of a text
    #[arg(long, value_name = "FIELD", conflicts_with_all = ["html_key", "dictionary", "key", "stop_words", "idf"])]
    vector_key: Option<String>,

    /// Form of the rows
    #[arg(long, value_enum, default_value_t = Rows::Jsonl, value_name = "FORM")]
    format_out: Rows,

    /// No progress
    #[arg(short, long)]
    quiet: bool,

    /// Fail (exit 1) when records were rejected
    #[arg(long)]
    strict: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Rows {
    /// One object a line
    Jsonl,
    /// Fingerprint, tab, id; control characters of the id become blanks
    Tsv,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut source = args.input.options();
    let subject = subject(args)?;
    if let Some(field) = &args.vector_key {
        source.text_key.clone_from(field);
    }
    let bars = Bars::new(args.quiet);
    let cancel = interrupt::flag()?;
    let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    let mut rejected = 0u64;
    twinprint::fingerprints(&args.input.inputs, &source, &subject, &bars, &cancel, |row| {
        if let Err(reason) = &row.fingerprint {
            rejected += 1;
            terminal::note(&format!("rejected {}:{}: {reason}", row.source, row.line));
            return Ok(());
        }
        write(&mut out, &row, args.format_out)
    })?;
    out.flush()?;
    bars.finish();
    if rejected > 0 {
        terminal::note(&format!("{} rejected", counted(rejected, "record")));
    }
    Ok(strictly(args.strict, rejected))
}

/// What is fingerprinted, and how.
fn subject(args: &Args) -> anyhow::Result<Subject> {
    let refuse = |error: &str| DedupError::Option(format!("--profile {}: {error}", args.profile));
    if let Ok(recipe) = Recipe::parse(&args.profile) {
        if args.vector_key.is_some()
            || args.stop_words.is_some()
            || args.key.is_some()
            || args.idf.given().is_some()
        {
            Err(refuse(
                "takes none of --vector-key, --stop-words, --idf and --key, as the library does not",
            ))?;
        }
        let dictionaries = match &args.dictionary {
            Some(directory) => Some(Arc::new(Dictionaries::open(directory).context("--dictionary")?)),
            None if recipe.needs_dictionaries() => Err(refuse("needs --dictionary DIR, cppjieba's files"))?,
            None => None,
        };
        return Ok(Subject::Recipe(recipe, dictionaries));
    }
    let stop_words = args.stop_words.as_deref();
    let profile = args
        .idf
        .profile(&args.profile, |id| profile_under_any_key(id, stop_words))?;
    if args.dictionary.is_some() {
        Err(refuse("takes no --dictionary: its own is built in"))?;
    }
    if args.vector_key.is_some() {
        if profile.key_id() != Profile::PUBLIC_KEY {
            Err(refuse("has a key, which --vector-key does not use"))?;
        }
        return Ok(Subject::Vector(profile.bits()));
    }
    let key = match (&args.key, profile.key_id()) {
        (None, Profile::PUBLIC_KEY) => HashKey::PUBLIC,
        (Some(_), Profile::PUBLIC_KEY) => Err(refuse(
            "needs +key.ID behind it with --key, so that other keys' fingerprints are told apart",
        ))?,
        (None, id) => Err(refuse(&format!("needs --key FILE, the secret of {id}")))?,
        (Some(path), _) => read_key(path)?,
    };
    Ok(Subject::Text(profile, key))
}

/// The key in a file: 32 hexadecimal digits, blanks around them ignored.
fn read_key(path: &std::path::Path) -> anyhow::Result<HashKey> {
    let written = std::fs::read_to_string(path).with_context(|| format!("--key {}", path.display()))?;
    let digits = written.trim();
    let key = u128::from_str_radix(digits, 16).ok();
    // A sign is no digit.
    let key = key.filter(|_| digits.len() == 32 && !digits.starts_with('+'));
    // What stands there instead may be most of a secret, so it is not told.
    let key = key.with_context(|| format!("--key {}: expected 32 hexadecimal digits", path.display()))?;
    Ok(HashKey::new((key >> 64) as u64, key as u64))
}

fn write(out: &mut impl Write, row: &FingerprintRow, form: Rows) -> anyhow::Result<()> {
    let Ok((fingerprint, features)) = &row.fingerprint else {
        return Ok(());
    };
    match form {
        Rows::Jsonl => {
            let json = serde_json::json!({
                "id": row.id,
                "source": row.source,
                "line": row.line,
                "fingerprint": fingerprint,
                "features": features,
            });
            writeln!(out, "{json}")
        }
        Rows::Tsv => writeln!(out, "{fingerprint}\t{}", row.id.replace(char::is_control, " ")),
    }
    .context("writing to stdout")
}
