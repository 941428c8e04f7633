//! Generates corpora from source documents: `corpus edits --docs D.jsonl --bytes 1GB -o F.jsonl` and others.

use std::path::PathBuf;

use anyhow::Context;
use bench::corpus::{
    DistinctOptions, MAX_UNITS, MIN_UNITS, Output, Variation, crowded, distinct, edits, equal,
    short_variants, titles,
};
use bench::documents::{self, Document};
use clap::{Args, Parser, Subcommand};

#[derive(Parser)]
#[command(about = "Generates corpora from source documents; equal seeds give equal files")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Args)]
struct Common {
    /// Source documents: JSONL with id, lang and text.
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    docs: Vec<PathBuf>,
    /// Seed of the random numbers.
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// The file to write.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

#[derive(Subcommand)]
enum Command {
    /// Copies of documents: exact copies, and copies with light and heavy edits.
    Edits {
        #[command(flatten)]
        common: Common,
        /// Size of the file, such as 1GB.
        #[arg(long, value_parser = bytes)]
        bytes: u64,
    },
    /// Distinct documents composed of parts of several others, and near-duplicates among them.
    Distinct {
        #[command(flatten)]
        common: Common,
        /// Number of documents.
        #[arg(long, default_value_t = 1_000_000)]
        count: u64,
        /// Share of them that are near-duplicates of an earlier one, at a Jaccard of 0.8 to 0.98.
        #[arg(long, default_value_t = 0.1)]
        near: f64,
        /// The file of near-duplicate pairs to write.
        #[arg(long, value_name = "FILE")]
        pairs: PathBuf,
    },
    /// Titles (or other short texts), no two of which are similar.
    Titles {
        #[command(flatten)]
        common: Common,
        /// Number of documents.
        #[arg(long, default_value_t = 1000)]
        count: usize,
    },
    /// Short texts with a character or two changed or a suffix added, and all pairs at a Jaccard of 0.5 or more.
    ShortVariants {
        #[command(flatten)]
        common: Common,
        /// Number of documents.
        #[arg(long, default_value_t = 2000)]
        count: u64,
        /// The file of pairs to write.
        #[arg(long, value_name = "FILE")]
        pairs: PathBuf,
    },
    /// One document, many times.
    Equal {
        #[command(flatten)]
        common: Common,
        /// Number of copies.
        #[arg(long, default_value_t = 1_000_000)]
        count: u64,
    },
    /// Different documents with one fingerprint under --profile tp1-words-tf.
    Crowded {
        #[command(flatten)]
        common: Common,
        /// Number of documents.
        #[arg(long, default_value_t = 1_000_000)]
        count: u64,
    },
}

impl Common {
    fn documents(&self) -> anyhow::Result<Vec<Document>> {
        let mut all = Vec::new();
        for path in &self.docs {
            all.extend(documents::read(path)?);
        }
        Ok(all)
    }

    /// Reads the documents as sources of others: all their sentences differ.
    fn sources(&self) -> anyhow::Result<Vec<Document>> {
        let mut documents = self.documents()?;
        documents::keep_new_sentences(&mut documents, MIN_UNITS, MAX_UNITS);
        Ok(documents)
    }

    fn output(&self) -> anyhow::Result<Output> {
        Output::create(&self.output)
    }
}

fn bytes(text: &str) -> anyhow::Result<u64> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match &text[digits.len()..] {
        "" | "B" => 1,
        "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        other => anyhow::bail!("{other:?} is none of B, kB, MB, GB"),
    };
    let number: u64 = digits.parse().context("not a number of bytes")?;
    number.checked_mul(unit).context("too large")
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Edits { common, bytes } => {
            let mut out = common.output()?;
            let count = edits(&common.documents()?, bytes, common.seed, &mut out)?;
            println!("{count} documents, {} bytes", out.bytes());
            out.finish()
        }
        Command::Distinct {
            common,
            count,
            near,
            pairs,
        } => {
            let sources = common.sources()?;
            let variation = Variation::new(&sources, common.seed)?;
            let (mut out, mut pairs) = (common.output()?, Output::create(&pairs)?);
            let found = distinct(
                &variation,
                DistinctOptions {
                    count,
                    near_share: near,
                },
                &mut out,
                &mut pairs,
            )?;
            println!("{count} documents, {} bytes, {found} pairs", out.bytes());
            pairs.finish()?;
            out.finish()
        }
        Command::Titles { common, count } => {
            let mut out = common.output()?;
            println!("{} documents", titles(&common.documents()?, count, &mut out)?);
            out.finish()
        }
        Command::ShortVariants { common, count, pairs } => {
            let (mut out, mut pairs) = (common.output()?, Output::create(&pairs)?);
            let found = short_variants(&common.documents()?, count, common.seed, &mut out, &mut pairs)?;
            println!("{count} documents, {found} pairs");
            pairs.finish()?;
            out.finish()
        }
        Command::Equal { common, count } => {
            let mut out = common.output()?;
            let documents = common.documents()?;
            let typical = documents
                .get(documents.len() / 2)
                .context("no document to repeat")?;
            equal(typical, count, &mut out)?;
            println!("{count} documents, {} bytes", out.bytes());
            out.finish()
        }
        Command::Crowded { common, count } => {
            let sources = common.sources()?;
            let variation = Variation::new(&sources, common.seed)?;
            let mut out = common.output()?;
            crowded(&variation, count, &mut out)?;
            println!("{count} documents, {} bytes", out.bytes());
            out.finish()
        }
    }
}
