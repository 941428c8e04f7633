//! Generates corpora from source documents: `corpus edits --docs D.jsonl --bytes 1GB -o F.jsonl` and others.

use std::path::PathBuf;

use anyhow::Context;
use bench::corpus::{
    DistinctOptions, MAX_UNITS, MIN_UNITS, Output, TemplateOptions, Variation, crowded, distinct, edits,
    equal, short_variants, templates, titles,
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
    /// Source documents: JSONL files with the fields id, lang and text.
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
    /// Copies of documents: exact ones, and ones with light and heavy edits.
    Edits {
        #[command(flatten)]
        common: Common,
        /// Size of the file to write, such as 1GB.
        #[arg(long, value_parser = bytes)]
        bytes: u64,
    },
    /// Distinct documents, each made of stretches of several source documents, and near-duplicates of some of them.
    Distinct {
        #[command(flatten)]
        common: Common,
        /// Number of documents.
        #[arg(long, default_value_t = 1_000_000)]
        count: u64,
        /// Share of the documents that are near-duplicates of an earlier one, at a Jaccard of 0.8 to 0.98.
        #[arg(long, default_value_t = 0.1)]
        near: f64,
        /// Minimum and approximate maximum number of words of an English document. A Chinese document has twice as many
        /// characters.
        #[arg(long, num_args = 2, default_values_t = [160, 400], value_name = "COUNT")]
        words: Vec<usize>,
        /// File to write the near-duplicate pairs to.
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
    /// Variants of short texts, with one or two characters changed or a suffix added, and all pairs at a Jaccard of 0.5
    /// or more.
    ShortVariants {
        #[command(flatten)]
        common: Common,
        /// Number of documents.
        #[arg(long, default_value_t = 2000)]
        count: u64,
        /// File to write the pairs to.
        #[arg(long, value_name = "FILE")]
        pairs: PathBuf,
    },
    /// Crowds of pages of one template, beside pairs of near-duplicates at a Jaccard of 0.8 to 0.9.
    Templates {
        #[command(flatten)]
        common: Common,
        /// Number of pairs.
        #[arg(long, default_value_t = 300)]
        near: u64,
        /// Number of crowds.
        #[arg(long, default_value_t = 1)]
        crowds: u64,
        /// Number of pages in each crowd.
        #[arg(long, default_value_t = 3000)]
        pages: u64,
        /// The largest number of words in which a page differs from its template. The smallest number is one.
        #[arg(long, default_value_t = 30)]
        exchanged: usize,
        /// Number of words of each document.
        #[arg(long, default_value_t = 300)]
        words: usize,
        /// File to write the pairs to.
        #[arg(long, value_name = "FILE")]
        pairs: PathBuf,
    },
    /// Many copies of one document.
    Equal {
        #[command(flatten)]
        common: Common,
        /// Number of copies.
        #[arg(long, default_value_t = 1_000_000)]
        count: u64,
    },
    /// Different documents that have the same fingerprint under --profile tp1-words-tf.
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

    /// Reads the source documents, and removes repeated sentences: all remaining sentences are different.
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
            words,
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
                    words: (words[0], words[1]),
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
        Command::Templates {
            common,
            near,
            crowds,
            pages,
            exchanged,
            words,
            pairs,
        } => {
            let sources = common.sources()?;
            let variation = Variation::new(&sources, common.seed)?;
            let (mut out, mut pairs) = (common.output()?, Output::create(&pairs)?);
            let options = TemplateOptions {
                pairs: near,
                crowds,
                pages,
                exchanged: 1..=exchanged,
                words,
            };
            templates(&variation, &options, &mut out, &mut pairs)?;
            println!("{} documents, {} bytes", 2 * near + crowds * pages, out.bytes());
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
