//! Options that `calibrate` and `eval` share: the profile of the fingerprints, and the output files.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::ValueHint;
use twinprint::{Auto, DedupOptions};

use crate::number::parse_auto;
use crate::profile::{IdfArgs, profile_named, width_named};

#[derive(clap::Args)]
pub(crate) struct MeasureArgs {
    /// Profile of the fingerprints
    #[arg(long, default_value = "tp1-words-lntf")]
    profile: String,

    /// Width of twinprint's fingerprints: 64, 128, or auto
    #[arg(long, default_value = "auto", value_parser = parse_auto)]
    bits: Auto,

    /// File of stop words, which are ignored as features, one per line
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    stop_words: Option<PathBuf>,

    #[command(flatten)]
    idf: IdfArgs,

    /// Write an HTML page with plots and tables
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    html: Option<PathBuf>,

    /// Write all figures as JSON
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    json: Option<PathBuf>,

    /// Worker threads; 0 uses all cores
    #[arg(long, default_value_t = 0, value_name = "N")]
    threads: usize,

    /// Show no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

impl MeasureArgs {
    /// The default options of `dedup`, changed by these options.
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

    /// The files that are requested.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = &Path> {
        [&self.html, &self.json]
            .into_iter()
            .flatten()
            .map(PathBuf::as_path)
    }

    /// Writes the HTML page and the JSON file of the figures, if they were requested.
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

/// Writes `text` to the file `path`. An error names the file.
pub(crate) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| path.display().to_string())
}
