//! Flags of the commands that measure fingerprints on documents: how these are made, and where the figures go.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::ValueHint;
use twinprint::{Auto, DedupOptions};

use crate::dedup::{parse_auto, profile_named, width_named};
use crate::idf::IdfArgs;

#[derive(clap::Args)]
pub(crate) struct MeasureArgs {
    /// How documents become fingerprints
    #[arg(long, default_value = "tp1-words-lntf")]
    profile: String,

    /// Width of twinprint's fingerprints: 64, 128, or auto
    #[arg(long, default_value = "auto", value_parser = parse_auto)]
    bits: Auto,

    /// File of words to leave out of the features, one a line
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    stop_words: Option<PathBuf>,

    #[command(flatten)]
    idf: IdfArgs,

    /// Write a page with plots and tables
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    html: Option<PathBuf>,

    /// Write all figures
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    json: Option<PathBuf>,

    /// Worker threads; 0 takes all cores
    #[arg(long, default_value_t = 0, value_name = "N")]
    threads: usize,

    /// No progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

impl MeasureArgs {
    /// The defaults of `dedup`, but for what these flags say.
    pub(crate) fn options(&self) -> anyhow::Result<DedupOptions> {
        let mut options = DedupOptions::new()?;
        options.profile = self
            .idf
            .profile(&self.profile, |id| profile_named(id, self.stop_words.as_deref()))?;
        options.stop_words_file.clone_from(&self.stop_words);
        options.idf_file = self.idf.given();
        options.bits = match (self.bits, width_named(&self.profile)) {
            (Auto::Auto, Some(bits)) => Auto::Fixed(bits),
            (bits, _) => bits,
        };
        options.threads = self.threads;
        Ok(options)
    }

    /// Writes the page and the figures as JSON where they are asked for.
    pub(crate) fn write(
        &self,
        page: impl FnOnce() -> String,
        json: impl FnOnce() -> serde_json::Result<String>,
    ) -> anyhow::Result<()> {
        if let Some(path) = &self.html {
            write(path, &page())?;
        }
        if let Some(path) = &self.json {
            write(path, &(json()? + "\n"))?;
        }
        Ok(())
    }
}

/// Writes a file that was asked for.
pub(crate) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| path.display().to_string())
}
